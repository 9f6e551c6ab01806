//! What a member reports of itself: `tasks/<team>/<name>/task-status.json`.

use std::fmt;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::Object;
use crate::message::Flaw;
use crate::payload::field::{document, read, spell};
use crate::stamp::Stamp;

/// What a member is doing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// It works.
    Running,
    /// It waits.
    Idle,
    /// It is done.
    Complete,
    /// It failed.
    Error,
    /// A word that we do not know, as it was.
    Other(String),
}

impl State {
    /// Understands a state; a word that is not known is kept.
    pub fn parse(word: &str) -> State {
        match word {
            "running" => Self::Running,
            "idle" => Self::Idle,
            "complete" => Self::Complete,
            "error" => Self::Error,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The spelling in files.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A member's own report. The fields stand in the order in which they are written.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// `name@team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<State>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    /// When it last did something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_active_at: Option<Stamp>,
    /// When it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Stamp>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Its numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    #[serde(skip)]
    raw: String,
}

/// A member's numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Tokens spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Tasks done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_completed: Option<u64>,
    /// Seconds from a question to its answer.
    #[serde(serialize_with = "plain", skip_serializing_if = "Option::is_none")]
    pub avg_response_time: Option<f64>,
}

/// Writes 90 as `90`, where serde would write `90.0`.
fn plain<S: Serializer>(number: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    let spelling = spell(number).unwrap_or_else(|| "null".to_owned());
    RawValue::from_string(spelling).map_err(S::Error::custom)?.serialize(serializer)
}

impl Metrics {
    fn read(object: &Object<'_>) -> Self {
        Self {
            tokens_used: read(object, &["tokens_used", "tokensUsed"]),
            tasks_completed: read(object, &["tasks_completed", "tasksCompleted"]),
            avg_response_time: read(object, &["avg_response_time", "avgResponseTime"]),
        }
    }
}

impl TaskStatus {
    /// Reads a report. Nothing must be there; what is odd is absent.
    pub fn parse(text: &str) -> Result<TaskStatus, Flaw> {
        let object = document(text)?;
        let status: Option<String> = read(&object, &["status"]);
        let metrics = object.get("metrics").and_then(|raw| Object::parse(raw.get()).ok());
        Ok(TaskStatus {
            agent_id: read(&object, &["agentId", "agent_id"]),
            status: status.as_deref().map(State::parse),
            started_at: read(&object, &["startedAt", "started_at"]),
            last_active_at: read(&object, &["lastActiveAt", "last_active_at"]),
            completed_at: read(&object, &["completedAt", "completed_at"]),
            error_message: read(&object, &["errorMessage", "error_message"]),
            metrics: metrics.as_ref().map(Metrics::read),
            raw: text.to_owned(),
        })
    }

    /// The text that it was read from, byte for byte; empty for a new report.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The file for a new report. An existing file is edited in place instead, so that what this view does not know
    /// stays.
    pub fn render(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMPLETE: &str = r#"{
  "agentId": "ann@harbour",
  "status": "complete",
  "startedAt": "2026-05-04T08:00:00.000Z",
  "lastActiveAt": "2026-05-04T09:15:00.000Z",
  "completedAt": "2026-05-04T09:15:00.000Z",
  "metrics": {
    "tokens_used": 8400,
    "tasks_completed": 2,
    "avg_response_time": 90
  }
}"#;

    #[test]
    fn what_is_read_is_written_the_same() {
        let report = TaskStatus::parse(COMPLETE).unwrap();
        assert_eq!(report.status, Some(State::Complete));
        assert_eq!(report.metrics.as_ref().unwrap().tokens_used, Some(8_400));
        assert_eq!(report.raw(), COMPLETE);
        assert_eq!(report.render().unwrap(), COMPLETE);
    }

    #[test]
    fn what_is_odd_is_absent() {
        let report = TaskStatus::parse(r#"{"status":"napping","startedAt":[],"metrics":"many"}"#).unwrap();
        assert_eq!(report.status, Some(State::Other("napping".into())));
        assert_eq!((report.started_at, report.metrics), (None, None));
        assert!(TaskStatus::parse("null").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = TaskStatus::parse(&text);
        }
    }
}
