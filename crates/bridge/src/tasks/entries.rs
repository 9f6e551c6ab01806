//! The bucket of tasks, as the mirror sees it.

use atm_wire::Stamp;
use atm_wire::task::TaskId;

use crate::name::Machine;
use crate::nats::Set;
use crate::protocol::tasks::SharedTask;

/// The bucket cannot be reached, or did not answer. Whether something was done is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Away(pub String);

/// An entry of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which version of it.
    pub revision: u64,
    /// The machine that signed it.
    pub from: Machine,
    /// What it says; none if it is not signed by a machine that is trusted here, or cannot be read.
    pub value: Option<SharedTask>,
    /// If it says nothing here: from when on, by the server's clock, a machine that remembers the task puts it again in this place.
    pub vacant_from: Option<Stamp>,
}

impl Entry {
    /// One that is read.
    pub fn of(revision: u64, from: Machine, value: SharedTask) -> Self {
        Self { revision, from, value: Some(value), vacant_from: None }
    }

    /// One that says nothing.
    pub fn unread(revision: u64, from: Machine, vacant_from: Stamp) -> Self {
        Self { revision, from, value: None, vacant_from: Some(vacant_from) }
    }
}

/// The last number that was given in a team, and the version of the entry that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastNumber {
    /// The number.
    pub last: TaskId,
    /// The entry's version; 0 if there is none.
    pub revision: u64,
    /// This machine gave it.
    pub is_own: bool,
}

/// The bucket.
pub trait Entries {
    /// Tells this bucket from a later one of its name.
    fn identity(&mut self) -> Result<String, Away>;

    /// The server's clock: never ahead of it, and behind it by less than a second.
    fn now(&mut self) -> Result<Stamp, Away>;

    /// All entries of a team, as this machine last heard of them; what was put since may be missing.
    fn list(&mut self, team: &str) -> Result<Vec<(TaskId, Entry)>, Away>;

    /// One entry, as it is now.
    fn get(&mut self, team: &str, id: TaskId) -> Result<Option<Entry>, Away>;

    /// Puts an entry in the place of that version; 0 if there is none.
    fn set(&mut self, value: &SharedTask, revision: u64) -> Result<Set, Away>;

    /// The last number that was given.
    fn last_number(&mut self, team: &str) -> Result<LastNumber, Away>;

    /// Gives numbers up to `last`, if `known` is still so.
    fn set_last_number(&mut self, team: &str, known: LastNumber, last: TaskId) -> Result<Set, Away>;
}
