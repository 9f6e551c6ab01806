//! Every operation of a command fails once, in every way; then the answer is compared with the truth.
//!
//! The operations are those of the store's and the ledger's seams ([`atm_store::disk`]); the files are in memory.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod cases;
mod checks;
mod install;
mod plan;
mod power;
mod read;
mod recorder;
mod send;
mod tasks;
mod world;
