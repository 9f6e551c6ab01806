//! The control socket: what is asked and answered, a line of JSON each way.
//!
//! Both sides say which protocol and build they are. A daemon and a client of different versions understand each other in
//! what they have in common; `status` and `stop` are in every version.

mod client;
mod server;
mod socket;

use atm_wire::TeamName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use client::Client;
pub(crate) use server::{Board, Order, serve};
pub(crate) use socket::bind;
pub use socket::inherited;

/// The number of this protocol.
pub const PROTOCOL: u32 = 1;
/// Longer questions are not read.
pub(crate) const LONGEST: u64 = 64 << 10;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The protocol of who asks.
    pub atm: u32,
    /// The build of who asks.
    #[serde(default)]
    pub build: String,
    /// What is asked.
    #[serde(flatten)]
    pub ask: Ask,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// How it does.
    Status,
    /// That it ends.
    Stop,
    /// What happens in all teams, an event a line, until one of the two hangs up. The first line is the answer, with the place
    /// at which it begins.
    Events {
        /// Behind this place of the log; from now on if none is given.
        #[serde(default)]
        since: Option<String>,
    },
    /// That it runs the chores of a team, or of all, now.
    Tend {
        /// The team; all if none is named.
        #[serde(default)]
        team: Option<TeamName>,
    },
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The protocol of the daemon.
    pub atm: u32,
    /// The build of the daemon.
    #[serde(default)]
    pub build: String,
    /// What it says.
    #[serde(default)]
    pub answer: Value,
    /// Why it does not.
    #[serde(default)]
    pub error: Option<String>,
}
