//! Peers: members and sessions of other clients in Claude Code's own list of agents.
//!
//! The list has one entry for each process, so each peer has one: a small program that listens for it, takes what is written
//! to it into the ledger, and takes its entry away at its end, which comes with the daemon's. `Keeper` starts and ends them;
//! [`serve`] is what they do.

mod children;
mod door;
mod keeper;
mod serve;

use std::ffi::OsString;
use std::path::PathBuf;

use atm_clients::claude::peer::Process;
use atm_office::sessions::peers::Peer;
use serde::{Deserialize, Serialize};

pub(crate) use keeper::Keeper;
pub use keeper::clear_left;
pub use serve::serve;

/// How a peer's process is started.
#[derive(Debug, Clone)]
pub struct PeerProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. What it is to be comes on its standard input.
    pub arguments: Vec<OsString>,
}

/// What a peer's process is told when it is started; the end of its standard input is its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Assignment {
    /// For whom it listens.
    pub peer: Peer,
    /// The daemon that started it.
    pub daemon: Process,
}
