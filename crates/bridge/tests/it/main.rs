//! Tests of the bridge's library: the simulation of its protocol.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod sim;
mod tasks;
