//! Tests of the bridge's library: its engine, call by call, and the simulation of its protocol.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod authority;
mod broken;
mod engine;
mod house;
mod sim;
mod tasks;
