//! Older spellings of the formats, rewritten in the one that we write.
//!
//! `schemaVersion` says which version of the format a configuration is in. One that is missing or older is set to ours.
//! The rest is dialect: right as it is, and rewritten only on request.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::{self, Object, Patch};
use crate::message::Message;
use crate::stamp::Stamp;
use crate::team::SCHEMA_VERSION;

/// Keys of a configuration that older programs spell differently.
const TEAM_KEYS: [(&str, &str); 4] = [
    ("created_at", "createdAt"),
    ("lead_agent_id", "leadAgentId"),
    ("lead_session_id", "leadSessionId"),
    ("schema_version", "schemaVersion"),
];
/// Keys of a member.
const MEMBER_KEYS: [(&str, &str); 9] = [
    ("agent_id", "agentId"),
    ("agent_type", "agentType"),
    ("tmux_pane_id", "tmuxPaneId"),
    ("backend_type", "backendType"),
    ("is_active", "isActive"),
    ("joined_at", "joinedAt"),
    ("spawned_at", "spawnedAt"),
    ("shutdown_at", "shutdownAt"),
    ("plan_mode_required", "planModeRequired"),
];
/// Keys of a cursor.
const CURSOR_KEYS: [(&str, &str); 2] =
    [("last_processed_line", "lastProcessedLine"), ("last_processed_timestamp", "lastProcessedTimestamp")];

/// A change of one place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Where.
    pub place: String,
    /// What stands there; nothing, if it is new.
    pub before: Option<String>,
    /// What is to stand there.
    pub after: String,
}

/// A document and what was changed in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Migrated {
    /// The new text.
    pub text: String,
    /// The changes.
    pub steps: Vec<Step>,
}

/// The version of a configuration, if its format is of a later generation than ours: it may be read, and not written.
pub fn newer(text: &str) -> Option<String> {
    let (_, version) = version_of(&Object::parse(text).ok()?)?;
    is_newer(&version).then_some(version)
}

fn is_newer(version: &str) -> bool {
    generation(version) > generation(SCHEMA_VERSION)
}

/// Whether a version is of our generation, or of an earlier one.
pub(crate) fn is_known(version: &str) -> bool {
    generation(version).is_some() && !is_newer(version)
}

/// The number that a version begins with; one that is too large to count is of a later generation than any.
fn generation(version: &str) -> Option<u64> {
    let version = version.strip_prefix(['v', 'V']).unwrap_or(version);
    let end = version.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(version.len());
    (end > 0).then(|| version[..end].parse().unwrap_or(u64::MAX))
}

/// Under which key a configuration says its version, and which it is.
fn version_of(object: &Object) -> Option<(&'static str, String)> {
    ["schemaVersion", "schema_version"].into_iter().find_map(|key| {
        let raw = object.get(key)?;
        let version = json::string(raw).map_or_else(|| raw.get().to_owned(), |text| text.trim().to_owned());
        Some((key, version))
    })
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

/// A configuration in our version of the format and, with `dialect`, in our spelling.
pub fn config(text: &str, dialect: bool) -> Result<Migrated, serde_json::Error> {
    let mut edit = Edit::new(text);
    if dialect {
        edit.rename("", None, &TEAM_KEYS)?;
        let count = edit.members()?;
        for index in 0..count {
            edit.rename(&format!("members[{index}]."), Some(index), &MEMBER_KEYS)?;
            for key in ["spawnedAt", "shutdownAt"] {
                edit.time(&format!("members[{index}].{key}"), Some(index), key)?;
            }
        }
        edit.time("createdAt", None, "createdAt")?;
    }
    let version = version_of(&Object::parse(&edit.done.text)?);
    let (key, is_old) = match &version {
        None => ("schemaVersion", true),
        // What is no version is not ours to judge.
        Some((key, version)) => {
            (*key, numbers(version).is_some_and(|version| Some(version) < numbers(SCHEMA_VERSION)))
        }
    };
    if is_old {
        edit.set(key, None, key, &SCHEMA_VERSION)?;
    }
    Ok(edit.done)
}

/// A log's cursor in our spelling.
pub fn cursor(text: &str) -> Result<Migrated, serde_json::Error> {
    let mut edit = Edit::new(text);
    edit.rename("", None, &CURSOR_KEYS)?;
    let object = Object::parse(&edit.done.text)?;
    let number =
        object.get("lastProcessedLine").filter(|raw| raw.get().starts_with('"')).and_then(json::integer);
    if let Some(number) = number {
        edit.set("lastProcessedLine", None, "lastProcessedLine", &number)?;
    }
    Ok(edit.done)
}

/// An entry of an array in our spelling; one that is no message stays as it is.
pub fn entry(raw: &RawValue) -> Result<Migrated, serde_json::Error> {
    let mut edit = Edit::new(raw.get());
    let Ok(message) = Message::from_entry(raw) else { return Ok(edit.done) };
    edit.message(&message)?;
    let object = Object::parse(raw.get())?;
    if !object.get("read").is_some_and(|raw| matches!(raw.get(), "true" | "false")) {
        edit.set("read", None, "read", &message.read)?;
    }
    Ok(edit.done)
}

/// A line of a log in our spelling; one that is no message stays as it is.
pub fn line(text: &str) -> Result<Migrated, serde_json::Error> {
    let mut edit = Edit::new(text);
    if let Ok(message) = Message::from_line(text) {
        edit.message(&message)?;
    }
    Ok(edit.done)
}

/// A document that is changed step by step: its own keys, or those of one of the `members` in it.
struct Edit {
    done: Migrated,
}

impl Edit {
    fn new(text: &str) -> Self {
        Self { done: Migrated { text: text.to_owned(), steps: Vec::new() } }
    }

    /// A message says its time as a text, and the id that it is known by.
    fn message(&mut self, message: &Message) -> Result<(), serde_json::Error> {
        if Object::parse(&self.done.text)?.string("timestamp").is_none() {
            self.set("timestamp", None, "timestamp", &message.timestamp)?;
        }
        if !message.id_given {
            self.set("messageId", None, "messageId", &message.id)?;
        }
        Ok(())
    }

    fn members(&self) -> Result<usize, serde_json::Error> {
        let object = Object::parse(&self.done.text)?;
        let members = object.get("members").filter(|raw| raw.get().starts_with('['));
        members.map_or(Ok(0), |raw| json::elements(raw.get()).map(|members| members.len()))
    }

    /// Runs an edit on the document, or on the member, if there is such an object.
    fn at(
        &mut self,
        member: Option<usize>,
        work: impl FnOnce(&str, &str) -> Result<Option<(Patch, Vec<Step>)>, serde_json::Error>,
    ) -> Result<(), serde_json::Error> {
        let text = &self.done.text;
        let document = Object::parse(text)?;
        let found = match member {
            None => Some(text.trim()),
            Some(index) => document
                .get("members")
                .and_then(|raw| json::elements(raw.get()).ok())
                .and_then(|members| members.get(index).map(|raw| raw.get()))
                .filter(|member| member.starts_with('{')),
        };
        let Some(object) = found else { return Ok(()) };
        if let Some((patch, steps)) = work(text, object)? {
            self.done.text = patch.apply(&self.done.text.clone());
            self.done.steps.extend(steps);
        }
        Ok(())
    }

    fn set<T: Serialize + ?Sized>(
        &mut self,
        place: &str,
        member: Option<usize>,
        key: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.at(member, |text, object| {
            let before = Object::parse(object)?.get(key).map(|raw| raw.get().to_owned());
            let after = serde_json::to_string(value)?;
            let step = Step { place: place.to_owned(), before, after };
            Ok(Some((json::set_member(text, object, key, value)?, vec![step])))
        })
    }

    /// A time as a number becomes one that people can read.
    fn time(&mut self, place: &str, member: Option<usize>, key: &str) -> Result<(), serde_json::Error> {
        let mut found = None;
        self.at(member, |_, object| {
            let raw = Object::parse(object)?.get(key);
            found = raw
                .filter(|raw| !raw.get().starts_with('"'))
                .and_then(|raw| Stamp::from_json(raw.get()).ok());
            Ok(None)
        })?;
        found.map_or(Ok(()), |stamp| self.set(place, member, key, &stamp))
    }

    /// Keys get their newer names, where they stand; one whose newer name is taken stays.
    fn rename(
        &mut self,
        prefix: &str,
        member: Option<usize>,
        keys: &[(&str, &str)],
    ) -> Result<(), serde_json::Error> {
        self.at(member, |text, object| {
            let members = Object::parse(object)?;
            let (mut patch, mut steps) = (Patch::default(), Vec::new());
            for (old, new) in keys.iter().filter(|(_, new)| members.get(new).is_none()) {
                for (_, value) in members.iter().filter(|(key, _)| key == old) {
                    let end = json::span(text, value.get()).start;
                    let before = text[..end].trim_end().trim_end_matches(':').trim_end();
                    let spelled = format!("\"{old}\"");
                    if before.ends_with(&spelled) {
                        let place = before.len() - spelled.len();
                        patch.replace(place..before.len(), format!("\"{new}\""));
                        let (before, after) = (Some(spelled), format!("\"{new}\""));
                        steps.push(Step { place: format!("{prefix}{old}"), before, after });
                    }
                }
            }
            Ok((!steps.is_empty()).then_some((patch, steps)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(migrated: &Migrated) -> Vec<String> {
        let step = |step: &Step| {
            format!("{}: {} -> {}", step.place, step.before.as_deref().unwrap_or("-"), step.after)
        };
        migrated.steps.iter().map(step).collect()
    }

    #[test]
    fn a_version_is_added_or_raised_and_never_lowered() {
        for (before, after) in [
            (r#"{"name":"dev"}"#, r#"{"name":"dev","schemaVersion":"1.0.0"}"#),
            (r#"{"schemaVersion":"0.9"}"#, r#"{"schemaVersion":"1.0.0"}"#),
            (r#"{"schemaVersion":0.9}"#, r#"{"schemaVersion":"1.0.0"}"#),
            (r#"{"schemaVersion":"1.0.0"}"#, r#"{"schemaVersion":"1.0.0"}"#),
            (r#"{"schemaVersion":"1.2"}"#, r#"{"schemaVersion":"1.2"}"#),
            (r#"{"schemaVersion":"2.0.0"}"#, r#"{"schemaVersion":"2.0.0"}"#),
            (r#"{"schemaVersion":"draft"}"#, r#"{"schemaVersion":"draft"}"#),
            (
                r#"{"metadata":{"schema_version":1}}"#,
                r#"{"metadata":{"schema_version":1},"schemaVersion":"1.0.0"}"#,
            ),
        ] {
            let migrated = config(before, false).unwrap();
            assert_eq!((migrated.text.as_str(), migrated.steps.is_empty()), (after, before == after));
        }
        assert_eq!(newer(r#"{"schemaVersion":"2.0.0"}"#).as_deref(), Some("2.0.0"));
        assert_eq!(newer(r#"{"schema_version":3}"#).as_deref(), Some("3"));
        for version in ["v2", "2-draft", "3.x", "99999999999999999999999"] {
            assert!(is_newer(version), "{version}");
        }
        for known in ["{}", r#"{"schemaVersion":"1.9"}"#, r#"{"schemaVersion":"draft"}"#, "["] {
            assert_eq!(newer(known), None, "{known}");
        }
    }

    #[test]
    fn older_spellings_are_rewritten_for_who_asks_and_the_rest_stays() {
        let text = r#"{ "created_at" : 1794768087987, "x": 1E2, "members": [ {"name":"bob", "is_active":true, "spawned_at":1794768087987, "joinedAt":1794768087988}, null ] }"#;
        assert_eq!(steps(&config(text, false).unwrap()), [r#"schemaVersion: - -> "1.0.0""#]);
        let migrated = config(text, true).unwrap();
        assert_eq!(
            migrated.text,
            r#"{ "createdAt" : "2026-11-15T18:41:27.987Z", "x": 1E2, "members": [ {"name":"bob", "isActive":true, "spawnedAt":"2026-11-15T18:41:27.987Z", "joinedAt":1794768087988}, null ],"schemaVersion":"1.0.0" }"#
        );
        assert_eq!(config(&migrated.text, true).unwrap().steps, [], "twice is once");
    }

    #[test]
    fn messages_get_a_flag_a_time_and_the_id_that_they_are_known_by() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let old = raw(r#"{"from":"a","text":"t","timestamp":1794768140463,"read":"true","odd":1E2}"#);
        let migrated = entry(&old).unwrap();
        let (then, now) =
            (Message::from_entry(&old).unwrap(), Message::from_entry(&raw(&migrated.text)).unwrap());
        assert_eq!((then.id, then.read, then.timestamp), (now.id, now.read, now.timestamp));
        assert!(
            now.id_given && migrated.text.contains("\"odd\":1E2") && migrated.text.contains("\"read\":true")
        );
        assert_eq!(entry(&raw(&migrated.text)).unwrap().steps, []);
        assert_eq!(entry(&raw("null")).unwrap().steps, []);
        let old = r#"{"type":"message","from":"a","to":"b","timestamp":1794768140463,"content":{"text":"t"},"odd":1E2}"#;
        let migrated = line(old).unwrap();
        let (then, now) = (Message::from_line(old).unwrap(), Message::from_line(&migrated.text).unwrap());
        assert_eq!((then.id, then.timestamp), (now.id, now.timestamp));
        assert!(now.id_given && migrated.text.contains(r#""content":{"text":"t"},"odd":1E2"#));
        assert_eq!(line(&migrated.text).unwrap().steps, []);
        assert_eq!(line("not json").unwrap().text, "not json");
        assert_eq!(
            cursor(r#"{"lastProcessedLine":"42","x":1}"#).unwrap().text,
            r#"{"lastProcessedLine":42,"x":1}"#
        );
    }
}
