//! What an operation of several steps had done when a later step failed.
//!
//! An error alone means that nothing was changed. Where something was, the error says what: the caller has to know
//! what is there now before it tries again.

use std::fmt;

use atm_wire::task::TaskId;
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;

/// A step that was done, and stays so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The team is there.
    TeamCreated(TeamName),
    /// The name is on the team's list.
    MemberAdded(MemberName),
    /// The member's entry has its new values.
    MemberChanged(MemberName),
    /// The member's program was ended, if it ran.
    MemberEnded(MemberName),
    /// The task is there.
    TaskCreated(TaskId),
    /// The task has its new values.
    TaskChanged(TaskId),
    /// The task is gone.
    TaskDeleted(TaskId),
    /// These tasks are nobody's.
    TasksReleased(Vec<TaskId>),
    /// This message or request was sent.
    Sent(String),
    /// Steps of a list were taken, in words; the others were not.
    Steps(Vec<String>),
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TeamCreated(team) => write!(f, "team {team} was created"),
            Self::MemberAdded(name) => write!(f, "{name} was added to the team"),
            Self::MemberChanged(name) => write!(f, "{name}'s entry was changed"),
            Self::MemberEnded(name) => write!(f, "{name} was ended"),
            Self::TaskCreated(id) => write!(f, "task {id} was created"),
            Self::TaskChanged(id) => write!(f, "task {id} was changed"),
            Self::TaskDeleted(id) => write!(f, "task {id} was deleted"),
            Self::TasksReleased(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(f, "released: task {}", ids.join(", "))
            }
            Self::Sent(what) => write!(f, "{what} was sent"),
            Self::Steps(steps) => f.write_str(&steps.join(", ")),
        }
    }
}

/// Says of a step that fails what was done before it.
pub trait After<T> {
    /// The same, with `done` known to be done if it is an error.
    fn after(self, done: impl FnOnce() -> Done) -> Result<T, OfficeError>;
}

impl<T, E: Into<OfficeError>> After<T> for Result<T, E> {
    fn after(self, done: impl FnOnce() -> Done) -> Result<T, OfficeError> {
        self.map_err(|error| {
            let (mut before, source) = match error.into() {
                OfficeError::Partly { done, source } => (done, source),
                error => (Vec::new(), Box::new(error)),
            };
            before.insert(0, done());
            OfficeError::Partly { done: before, source }
        })
    }
}
