//! A task of the shared list: `tasks/<team>/<id>.json`.

mod change;
mod difference;
mod effort;
mod id;
mod lease;
mod mark;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::message::Flaw;
use crate::payload::field::{document, read};

pub use change::{Change, edit};
pub use difference::{Field, differences};
pub use effort::Effort;
pub use id::{TaskId, TaskIdError};
pub use lease::{CLAIM_EXPIRY, CLAIMED_AT, DEFAULT_LEASE, Lease};
pub use mark::{MADE_ON, SHARED_ID, relink, renumber};

/// How far a task is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Nobody works on it.
    #[default]
    Pending,
    /// Somebody does.
    InProgress,
    /// Done.
    Completed,
    /// A word that we do not know, as it was.
    Other(String),
}

impl Status {
    /// Understands a status; a word that is not known is kept.
    pub fn parse(word: &str) -> Status {
        match word {
            "pending" => Self::Pending,
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The spelling in files.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A task. The fields stand in the order in which clients write them.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// A number, as text.
    pub id: String,
    /// The title.
    pub subject: String,
    /// All that is to be done.
    pub description: String,
    /// What to show while it is being done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// How far it is.
    pub status: Status,
    /// The tasks that wait for it.
    pub blocks: Vec<String>,
    /// The tasks that it waits for.
    pub blocked_by: Vec<String>,
    /// Who does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What programs add; clients drop any other key that they do not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    #[serde(skip)]
    raw: String,
}

impl Task {
    /// A task that is not in a file yet.
    pub fn new(id: impl Into<String>, subject: impl Into<String>, description: impl Into<String>) -> Task {
        Task { id: id.into(), subject: subject.into(), description: description.into(), ..Task::default() }
    }

    /// Reads a task's file. Only the id must be there.
    pub fn parse(text: &str) -> Result<Task, Flaw> {
        let object = document(text)?;
        let text_of = |keys| read::<Option<String>>(&object, keys).unwrap_or_default();
        let id: Option<String> = read(&object, &["id"]);
        let status: Option<String> = read(&object, &["status"]);
        // Some programs write an empty owner where others leave the key out.
        let owner: Option<String> = read(&object, &["owner"]);
        Ok(Task {
            id: id.filter(|id| !id.is_empty()).ok_or(Flaw::Missing("id"))?,
            subject: text_of(&["subject"]),
            description: text_of(&["description"]),
            active_form: read(&object, &["activeForm", "active_form"]),
            owner: owner.filter(|owner| !owner.is_empty()),
            status: status.as_deref().map(Status::parse).unwrap_or_default(),
            blocks: read(&object, &["blocks"]),
            blocked_by: read(&object, &["blockedBy", "blocked_by"]),
            metadata: read(&object, &["metadata"]),
            raw: text.to_owned(),
        })
    }

    /// The text that it was read from, byte for byte; empty for a new task.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The file for a new task, laid out as clients do. An existing file is edited in place instead, so that what
    /// this view does not know stays.
    pub fn render(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}
