//! The bridge as processes, with a real server: machines are separate roots, each with its own ledger.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod commands;
mod crossing;
mod permissions;
mod refused;
mod server;
mod tasks;
mod troubles;
mod world;
