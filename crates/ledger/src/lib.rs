//! What became of every message: its stages with their evidence, its text for good, and a search over all of it.
//!
//! Two SQLite databases for all teams, in our own state folder, safe for many processes at once. `log.db` is the truth:
//! an append-only log of events, and what decisions rest on. `index.db` is made from it and may be deleted. The ledger is
//! a witness, not the mail: the files are the mail. A ledger that is missing is made anew; one that cannot be used is an
//! error here and a warning in the office.

mod arrivals;
mod database;
mod error;
mod handover;
mod index;
mod legacy;
mod log;
mod lookup;
mod machines;
mod moves;
mod observe;
mod open;
mod presence;
mod proofs;
mod push;
mod record;
mod removal;
mod restore;
mod row;
mod seam;
mod stage;
mod stats;
mod steps;
mod tasks;
mod teams;
mod transitions;

pub use arrivals::{Acceptance, Fate};
pub use error::LedgerError;
pub use handover::Handover;
pub use index::{Filter, MARK_END, MARK_START, NotAPlace, Place, Query};
pub use log::equals::Span;
pub use log::event::Kind;
pub use log::feed::{Change, Cursor, Event, Feed, NotACursor};
pub use lookup::{Recorded, StageRecord};
pub use machines::{News, Received, Undelivered};
pub use moves::{SentOn, Stay};
pub use observe::{Known, Observed};
pub use open::Ledger;
pub use presence::{HealthRow, Said, Traces};
pub use proofs::{Look, Proof, Reading, Recording, Source, TeamInbox};
pub use push::Frame;
pub use row::{InboxKey, NewMessage};
#[cfg(feature = "faults")]
pub use seam::faults;
pub use stage::{Evidence, Stage, Sure};
pub use stats::{Count, Part, Stats, Waits};
pub use steps::{StepKey, StepOwner, StepRow, StepState, Taken};
pub use tasks::{KnownTasks, TaskChange, TaskLook};
pub use teams::Bearer;
pub use transitions::{LastState, PastState, Transition};
