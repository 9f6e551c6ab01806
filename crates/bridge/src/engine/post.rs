//! What the engine gives to be published, and how much of it.

use crate::envelope::Envelope;
use crate::local::LocalError;
use crate::name::Machine;

/// Something to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// What.
    pub envelope: Envelope,
    /// What [`Engine::published`](super::Engine::published) is told about it.
    pub ticket: Ticket,
}

/// What has to be published now.
#[derive(Debug)]
#[must_use]
pub struct Polled {
    /// All of it counts as under way, also if something went wrong behind it.
    pub posts: Vec<Post>,
    /// Why the ledger could not say more.
    pub trouble: Option<LocalError>,
}

/// How much may be published now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Letters.
    pub letters: usize,
    /// Bytes of letters. One that is larger goes where nothing else has taken of them.
    pub bytes: usize,
}

/// Which post the server's answer is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ticket {
    /// A letter.
    Letter {
        /// Its number in the log.
        n: u64,
        /// Which attempt.
        attempt: u32,
        /// The attempt that an answer to this one has to name at least, to count.
        since: u32,
        /// Its bytes.
        size: usize,
    },
    /// A batch of receipts.
    Receipts {
        /// For which machine.
        to: Machine,
        /// Which batch.
        upto: String,
        /// Which attempt.
        attempt: u32,
    },
    /// An answer. If it is lost, what it answers comes again.
    Answer,
}

impl Ticket {
    /// The bytes of the letter, if it is one.
    pub fn size(&self) -> usize {
        match self {
            Self::Letter { size, .. } => *size,
            Self::Receipts { .. } | Self::Answer => 0,
        }
    }
}
