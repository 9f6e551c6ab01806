//! What a member reports of itself: `tasks/<team>/<name>/task-status.json`.

use std::fmt;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{self, Object, Patch};
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

    /// The text of a report after `news`; `text` is what it was before, if there was one. Every other byte stays.
    pub fn edit(text: Option<&str>, news: &News<'_>) -> Result<String, Flaw> {
        let blank = || Self { agent_id: Some(news.agent_id.to_owned()), ..Self::default() }.render();
        let mut text = match text {
            Some(text) => text.to_owned(),
            None => blank().map_err(|error| Flaw::NotJson(error.to_string()))?,
        };
        let old = TaskStatus::parse(&text)?;
        let stamp = |at: Stamp| serde_json::Value::from(at.to_string());
        let mut fields: Vec<(&[&str], Option<serde_json::Value>)> = Vec::new();
        if old.agent_id.is_none() {
            fields.push((&["agentId", "agent_id"], Some(news.agent_id.into())));
        }
        fields.push((&["status"], Some(news.state.as_str().into())));
        let begins = news.state == State::Running && old.status != Some(State::Running);
        if old.started_at.is_none() || begins {
            fields.push((&["startedAt", "started_at"], Some(stamp(news.at))));
        }
        fields.push((&["lastActiveAt", "last_active_at"], Some(stamp(news.at))));
        fields.push((
            &["completedAt", "completed_at"],
            match news.state {
                State::Complete => Some(stamp(news.at)),
                State::Running => None,
                _ => old.completed_at.map(stamp),
            },
        ));
        let error = news.detail.filter(|_| news.state == State::Error);
        fields.push((&["errorMessage", "error_message"], error.map(Into::into)));
        for (spellings, value) in fields {
            text = set(&text, text.trim(), spellings, value.as_ref())?.apply(&text);
        }
        let metrics = [
            (
                ["tokens_used", "tokensUsed"],
                news.tokens,
                old.metrics.as_ref().and_then(|old| old.tokens_used),
            ),
            (
                ["tasks_completed", "tasksCompleted"],
                news.tasks,
                old.metrics.as_ref().and_then(|old| old.tasks_completed),
            ),
        ];
        // Readers of the numbers expect all of them, where they are ours.
        let is_ours = old.metrics.is_none();
        if metrics.iter().any(|(_, more, _)| *more > 0) || news.response.is_some() {
            for (spellings, more, old) in metrics.into_iter().filter(|(_, more, _)| is_ours || *more > 0) {
                let number = old.unwrap_or(0).saturating_add(more);
                text = set_metric(&text, &spellings, &number.into())?;
            }
        }
        if let Some(seconds) = news.response.and_then(|seconds| spell(&seconds)) {
            let seconds = serde_json::from_str(&seconds).map_err(|error| Flaw::NotJson(error.to_string()))?;
            text = set_metric(&text, &["avg_response_time", "avgResponseTime"], &seconds)?;
        }
        Ok(text)
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

/// What there is to report of a member.
#[derive(Debug, Clone)]
pub struct News<'a> {
    /// `name@team`.
    pub agent_id: &'a str,
    /// What it is doing.
    pub state: State,
    /// Since when.
    pub at: Stamp,
    /// What went wrong, of an error.
    pub detail: Option<&'a str>,
    /// Tokens that it has spent since the last report.
    pub tokens: u64,
    /// Tasks that it has done since the last report.
    pub tasks: u64,
    /// Seconds from a question to its answer, on average, where that is known.
    pub response: Option<f64>,
}

/// Sets a field of `object`, which stands in `text`, under the keys that it has there, or takes it out.
fn set(
    text: &str,
    object: &str,
    spellings: &[&str],
    value: Option<&serde_json::Value>,
) -> Result<Patch, Flaw> {
    let not_json = |error: serde_json::Error| Flaw::NotJson(error.to_string());
    let members = Object::parse(object).map_err(not_json)?;
    let mut there: Vec<&str> = spellings.iter().copied().filter(|key| members.get(key).is_some()).collect();
    if there.is_empty() {
        there.extend(spellings.first());
    }
    let mut patch = Patch::default();
    for key in there {
        patch.merge(match value {
            Some(value) => json::set_member(text, object, key, value).map_err(not_json)?,
            None => json::remove_member(text, object, key).map_err(not_json)?,
        });
    }
    Ok(patch)
}

fn set_metric(text: &str, spellings: &[&str], number: &serde_json::Value) -> Result<String, Flaw> {
    let object = document(text)?;
    let patch = match object.get("metrics").filter(|metrics| metrics.get().starts_with('{')) {
        Some(metrics) => set(text, metrics.get(), spellings, Some(number))?,
        None => set(text, text.trim(), &["metrics"], Some(&serde_json::json!({ spellings[0]: number })))?,
    };
    Ok(patch.apply(text))
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

    fn news(state: State, seconds: i64) -> News<'static> {
        let at = Stamp::from_millis(1_777_881_600_000 + seconds * 1_000);
        News { agent_id: "ann@harbour", state, at, detail: None, tokens: 0, tasks: 0, response: None }
    }

    #[test]
    fn a_members_day() {
        let running = TaskStatus::edit(None, &news(State::Running, 0)).unwrap();
        assert_eq!(
            running,
            "{\n  \"agentId\": \"ann@harbour\",\n  \"status\": \"running\",\n  \"startedAt\": \"2026-05-04T08:00:00.000Z\",\n  \
             \"lastActiveAt\": \"2026-05-04T08:00:00.000Z\"\n}"
        );
        let still = TaskStatus::edit(Some(&running), &news(State::Running, 60)).unwrap();
        assert_eq!(
            TaskStatus::parse(&still).unwrap().started_at.unwrap().to_string(),
            "2026-05-04T08:00:00.000Z"
        );
        let done = News { tasks: 1, tokens: 20, ..news(State::Complete, 90) };
        let done = TaskStatus::edit(Some(&still), &done).unwrap();
        let done = TaskStatus::edit(Some(&done), &News { tasks: 1, ..news(State::Complete, 95) }).unwrap();
        let report = TaskStatus::parse(&done).unwrap();
        assert_eq!(report.completed_at, report.last_active_at);
        let metrics = Metrics { tokens_used: Some(20), tasks_completed: Some(2), avg_response_time: None };
        assert_eq!(report.metrics, Some(metrics));

        let failed = News { detail: Some("no disk"), ..news(State::Error, 100) };
        let failed = TaskStatus::edit(Some(&done), &failed).unwrap();
        assert_eq!(TaskStatus::parse(&failed).unwrap().error_message.as_deref(), Some("no disk"));
        let again =
            TaskStatus::parse(&TaskStatus::edit(Some(&failed), &news(State::Running, 110)).unwrap()).unwrap();
        assert_eq!((again.error_message, again.completed_at), (None, None));
        assert_eq!(again.started_at.unwrap().to_string(), "2026-05-04T08:01:50.000Z");
    }

    #[test]
    fn the_numbers_are_all_there_and_the_average_is_the_newest() {
        let done = News { tasks: 1, response: Some(90.0), ..news(State::Complete, 0) };
        let text = TaskStatus::edit(None, &done).unwrap();
        let numbers = |text: &str| TaskStatus::parse(text).unwrap().metrics.unwrap();
        let expected =
            Metrics { tokens_used: Some(0), tasks_completed: Some(1), avg_response_time: Some(90.0) };
        assert_eq!(numbers(&text), expected);
        assert!(text.contains("\"avg_response_time\": 90"), "{text}");
        let later = News { response: Some(61.5), ..news(State::Idle, 10) };
        let text = TaskStatus::edit(Some(&text), &later).unwrap();
        assert_eq!(numbers(&text), Metrics { avg_response_time: Some(61.5), ..expected });
    }

    #[test]
    fn what_others_wrote_into_a_report_stays() {
        let odd = r#"{"x": 1E2, "started_at": "2026-05-04", "status": "idle", "metrics": {"mine": 1.50, "tasksCompleted": 3}}"#;
        let edited = TaskStatus::edit(Some(odd), &News { tasks: 1, ..news(State::Complete, 0) }).unwrap();
        assert_eq!(
            edited,
            r#"{"x": 1E2, "started_at": "2026-05-04", "status": "complete", "metrics": {"mine": 1.50, "tasksCompleted": 4}, "agentId": "ann@harbour", "lastActiveAt": "2026-05-04T08:00:00.000Z", "completedAt": "2026-05-04T08:00:00.000Z"}"#
        );
        assert!(TaskStatus::edit(Some("[]"), &news(State::Idle, 0)).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = TaskStatus::parse(&text);
            let _ = TaskStatus::edit(Some(&text), &news(State::Idle, 0));
        }
    }
}
