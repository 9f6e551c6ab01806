//! What is known of the last daemon: that it began, and whether it ended as it should. One that ended without a word
//! crashed.

use atm_store::{Scratch, State};
use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::error::DaemonError;
use crate::panics::Panic;

/// The last daemon of a state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastRun {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Which build it was.
    pub build: String,
    /// When it began.
    pub started: Stamp,
    /// Its end; none if it runs, or crashed.
    #[serde(default)]
    pub stopped: Option<Stopped>,
    /// Panics of the last hour, its own and those of the daemons before it; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub panics: Vec<Panic>,
}

/// How a daemon ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// When.
    pub at: Stamp,
    /// Why, in words.
    pub why: String,
}

impl LastRun {
    /// As it was left.
    pub fn read(state: &State) -> Option<Self> {
        serde_json::from_slice(&Scratch::of_daemon(state).read()?).ok()
    }

    pub(crate) fn write(&self, state: &State) -> Result<(), DaemonError> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        Ok(Scratch::of_daemon(state).replace(&bytes)?)
    }
}
