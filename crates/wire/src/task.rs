//! A task of the shared list: `tasks/<team>/<id>.json`.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::message::Flaw;
use crate::payload::field::{document, read};

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn dialects() {
        let text = r#"{"id":7,"status":"blocked","blocked_by":[3,"4"],"owner":"","x":1E2}"#;
        let task = Task::parse(text).unwrap();
        assert_eq!((task.id.as_str(), task.subject.as_str(), task.owner.as_deref()), ("7", "", None));
        assert_eq!(task.status, Status::Other("blocked".into()));
        assert_eq!(task.blocked_by, ["3", "4"]);
        assert_eq!(task.raw(), text);
    }

    #[rstest]
    #[case("{}", "has no `id`")]
    #[case(r#"{"id":""}"#, "has no `id`")]
    #[case("[]", "is an array, not an object")]
    fn what_is_no_task(#[case] text: &str, #[case] error: &str) {
        assert_eq!(Task::parse(text).unwrap_err().to_string(), error);
    }

    #[test]
    fn a_new_task_looks_like_a_client_wrote_it() {
        let task = Task { owner: Some("bob".into()), ..Task::new("1", "Title", "Text") };
        assert_eq!(
            task.render().unwrap(),
            "{\n  \"id\": \"1\",\n  \"subject\": \"Title\",\n  \"description\": \"Text\",\n  \"status\": \"pending\",\n  \
             \"blocks\": [],\n  \"blockedBy\": [],\n  \"owner\": \"bob\"\n}"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(id in ".+", subject in ".*", word in ".*", blocks in prop::collection::vec(".*", 0..3)) {
            let task = Task { status: Status::parse(&word), blocks, ..Task::new(id, subject, "d") };
            let back = Task::parse(&task.render().unwrap()).unwrap();
            prop_assert_eq!((back.id, back.subject, back.status, back.blocks), (task.id, task.subject, task.status, task.blocks));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            if let Ok(task) = Task::parse(&text) {
                prop_assert_eq!(task.raw(), text);
            }
        }
    }
}
