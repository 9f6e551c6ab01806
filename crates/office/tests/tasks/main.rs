//! The rules of tasks: who may, who gets it, what waits for what, and who is told.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod claims;
mod links;
mod rules;
mod shared;
mod world;
