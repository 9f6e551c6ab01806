//! When to publish, when to publish again, what to take in and in which order: state and time are arguments.
//!
//! | module | decides |
//! |---|---|
//! | [`delivery`] | whether one envelope has to be published (again) |
//! | [`outbox`] | which letters to publish now, and which letter each one follows |
//! | [`intake`] | whether an arriving letter is next, early, known or replayed |
//! | [`feed`] | which receipts to send to one machine |
//! | [`homes`] | which machine is the home of a member |
//! | [`tasks`] | who gets a task, and what becomes of changes on two machines |

pub mod delivery;
pub mod feed;
pub mod homes;
pub mod intake;
pub mod outbox;
pub mod tasks;

use std::time::Duration;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

/// A place in the stream. A stream that was made anew is another one, although it has the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Which stream: when the server made it.
    pub stream: String,
    /// Which message of it.
    pub seq: u64,
}

/// What the server said of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamView {
    /// Which stream: when the server made it.
    pub stream: String,
    /// The oldest message that it holds.
    pub first: u64,
    /// The newest.
    pub last: u64,
    /// How many bytes it may have: then it drops the oldest ones.
    pub most_bytes: Option<u64>,
    /// How long it keeps a message.
    pub most_age: Option<Duration>,
    /// When the server was asked.
    pub at: Stamp,
}

/// What is known of another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerView {
    /// The last message of the stream that it has processed.
    pub passed: Option<Position>,
    /// When its last new heartbeat came.
    pub seen_at: Stamp,
}
