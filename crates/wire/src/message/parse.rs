//! Reading a message from an array entry or a log line.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use super::identity::{derived_id, fingerprint};
use super::{Flaw, Message};
use crate::json::{self, Object};
use crate::payload::Parsed;
use crate::stamp::Stamp;

impl Message {
    /// Reads an entry of an array inbox. One without a time is no message there: clients delete it.
    pub fn from_entry(raw: &RawValue) -> Result<Self, Flaw> {
        Self::from_entry_object(&object(raw.get())?)
    }

    /// The same, with the place in the entry of the flag that says that it is unread, if there is one and no other.
    pub fn from_entry_with_flag(raw: &RawValue) -> Result<(Self, Option<Range<usize>>), Flaw> {
        let object = object(raw.get())?;
        let message = Self::from_entry_object(&object)?;
        let mut flags = object.iter().filter(|(key, _)| *key == "read").map(|(_, flag)| flag.get());
        let flag = match (flags.next(), flags.next()) {
            (Some(flag @ "false"), None) => Some(json::span(raw.get(), flag)),
            _ => None,
        };
        Ok((message, flag))
    }

    fn from_entry_object(object: &Object) -> Result<Self, Flaw> {
        let from = required_string(object, "from")?;
        let text = required_string(object, "text")?;
        let time = time(object)?;
        Ok(Self::build(object, from.into_owned(), text.into_owned(), time, &ENTRY_KEYS))
    }

    /// Reads a line of a log inbox; an array entry that strayed there is understood too. A line without a time is a
    /// message, whose `timestamp` is empty.
    pub fn from_line(line: &str) -> Result<Self, Flaw> {
        let object = object(line)?;
        let from = required_string(&object, "from")?.into_owned();
        let Some(content) = object.get("content") else {
            let text = required_string(&object, "text").map_err(|_| Flaw::Missing("content"))?;
            return Ok(Self::build(&object, from, text.into_owned(), time_of_line(&object)?, &ENTRY_KEYS));
        };
        let kind = required_string(&object, "type")?;
        let mut beside = Vec::new();
        let text = match (kind.as_ref(), json::string(content)) {
            (_, Some(text)) => text.into_owned(),
            ("message" | "team_broadcast", None) if plain_text(content).is_some() => {
                beside = beside_text(content);
                plain_text(content).unwrap_or_default().into_owned()
            }
            (kind, None) => {
                let request = object.string("requestId").or_else(|| object.string("request_id"));
                Parsed::from_log(kind, content, request.as_deref()).raw().to_owned()
            }
        };
        let mut message = Self::build(&object, from, text, time_of_line(&object)?, &LINE_KEYS);
        message.extra.extend(beside);
        Ok(message)
    }

    fn build(
        object: &Object,
        from: String,
        text: String,
        (timestamp, sent_at): (Cow<str>, Option<Stamp>),
        known: &[&str],
    ) -> Self {
        let timestamp = timestamp.into_owned();
        let given = given_id(object);
        let owned = |key| object.string(key).map(Cow::into_owned);
        Self {
            id_given: given.is_some(),
            id: given.map_or_else(|| derived_id(&from, &timestamp, &text), Cow::into_owned),
            to: owned("to"),
            summary: owned("summary"),
            color: owned("color"),
            read: is_read(object),
            outer_type: owned("type"),
            delivery_status: owned("delivery_status"),
            metadata: object.get("metadata").map(ToOwned::to_owned),
            extra: object
                .iter()
                .filter(|(key, _)| !known.contains(key))
                .map(|(key, raw)| (key.to_owned(), raw.to_owned()))
                .collect(),
            from,
            text,
            timestamp,
            sent_at,
        }
    }
}

/// As much of an array entry as it takes to recognise it, without copying its text.
#[derive(Debug)]
pub struct Sketch<'a> {
    /// As [`Message::id`].
    pub id: Cow<'a, str>,
    /// As [`Message::id_given`].
    pub id_given: bool,
    /// As [`Message::from`].
    pub from: Cow<'a, str>,
    /// As [`Message::timestamp`].
    pub timestamp: Cow<'a, str>,
    /// As [`Message::text`].
    pub text: Cow<'a, str>,
    /// As [`Message::read`].
    pub read: bool,
}

impl<'a> Sketch<'a> {
    /// The sketch of an entry that is a message.
    pub fn of(entry: &Object<'a>) -> Option<Self> {
        let (from, text) = (required_string(entry, "from").ok()?, required_string(entry, "text").ok()?);
        let (timestamp, _) = time(entry).ok()?;
        let given = given_id(entry);
        let id_given = given.is_some();
        let id = given.unwrap_or_else(|| Cow::Owned(derived_id(&from, &timestamp, &text)));
        Some(Self { id, id_given, from, timestamp, text, read: is_read(entry) })
    }

    /// As [`Message::fingerprint`].
    pub fn fingerprint(&self) -> String {
        fingerprint(self.id_given.then_some(&*self.id), &self.from, &self.timestamp, &self.text)
    }
}

fn given_id<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    ["messageId", "msg_id"].iter().find_map(|key| object.string(key).filter(|id| !id.is_empty()))
}

fn is_read(object: &Object) -> bool {
    object.get("read").is_some_and(|raw| matches!(raw.get(), "true" | "1" | "\"true\""))
}

/// The keys of an entry of an array inbox that have a meaning.
pub(crate) const ENTRY_KEYS: [&str; 12] = [
    "from",
    "text",
    "summary",
    "timestamp",
    "color",
    "read",
    "messageId",
    "msg_id",
    "msgV",
    "type",
    "delivery_status",
    "metadata",
];

const LINE_KEYS: [&str; 15] = [
    "from",
    "to",
    "content",
    "requestId",
    "request_id",
    "summary",
    "timestamp",
    "color",
    "read",
    "messageId",
    "msg_id",
    "msgV",
    "type",
    "delivery_status",
    "metadata",
];

fn object(text: &str) -> Result<Object<'_>, Flaw> {
    if text.starts_with('{') {
        Object::parse(text).map_err(|error| Flaw::NotJson(error.to_string()))
    } else if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        Err(Flaw::NotJson(error.to_string()))
    } else {
        Err(Flaw::not_an_object(text))
    }
}

pub(super) fn required_string<'a>(object: &Object<'a>, field: &'static str) -> Result<Cow<'a, str>, Flaw> {
    let raw = object.get(field).ok_or(Flaw::Missing(field))?;
    json::string(raw).ok_or(Flaw::WrongType { field, wanted: "a string" })
}

/// What stands beside the words of a line: whom they were sent to, for one.
fn beside_text(content: &RawValue) -> Vec<(String, Box<RawValue>)> {
    let object = Object::parse(content.get()).unwrap_or_default();
    let others = object.iter().filter(|(key, _)| *key != "text");
    others.map(|(key, raw)| (key.to_owned(), raw.to_owned())).collect()
}

fn plain_text(content: &RawValue) -> Option<Cow<'_, str>> {
    Object::parse(content.get()).ok()?.string("text")
}

fn time<'a>(object: &Object<'a>) -> Result<(Cow<'a, str>, Option<Stamp>), Flaw> {
    let raw = object.get("timestamp").ok_or(Flaw::Missing("timestamp"))?;
    let stamp = Stamp::from_json(raw.get()).ok();
    match (json::string(raw), stamp) {
        (Some(text), stamp) => Ok((text, stamp)),
        (None, Some(stamp)) => Ok((Cow::Owned(stamp.to_string()), Some(stamp))),
        (None, None) => Err(Flaw::WrongType { field: "timestamp", wanted: "a time" }),
    }
}

/// The same; nothing where there is none.
fn time_of_line<'a>(object: &Object<'a>) -> Result<(Cow<'a, str>, Option<Stamp>), Flaw> {
    match time(object) {
        Err(Flaw::Missing(_)) => Ok((Cow::Borrowed(""), None)),
        time => time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(text: &str) -> Result<Message, Flaw> {
        Message::from_entry(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn both_spellings_of_the_id_are_read() {
        let with =
            |id: &str| entry(&format!(r#"{{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z"{id}}}"#));
        assert_eq!(with(r#","messageId":"m1""#).unwrap().id, "m1");
        assert_eq!(with(r#","msg_id":"m2""#).unwrap().id, "m2");
        let derived = with("").unwrap();
        assert!(!derived.id_given);
        assert_eq!(derived.id, with(r#","read":true"#).unwrap().id, "reading must not change the id");
    }

    #[test]
    fn the_flag_of_an_unread_message_is_found_where_it_is_the_only_one() {
        let flag = |flags: &str| {
            let text = format!(r#"{{"from":"a","text":"\"read\":false","timestamp":"x"{flags}}}"#);
            let raw = RawValue::from_string(text.clone()).unwrap();
            let (_, place) = Message::from_entry_with_flag(&raw).unwrap();
            place.map(|place| {
                text[..place.start].len() == text.rfind("false").unwrap() && &text[place] == "false"
            })
        };
        assert_eq!(flag(r#", "read" : false "#), Some(true));
        for other in ["", r#","read":true"#, r#","read":0"#, r#","read":true,"read":false"#] {
            assert_eq!(flag(other), None, "{other}");
        }
    }

    #[test]
    fn flaws_name_the_field() {
        assert_eq!(entry("null").unwrap_err(), Flaw::NotAnObject("null"));
        assert_eq!(entry(r#"{"text":"t","timestamp":"x"}"#).unwrap_err(), Flaw::Missing("from"));
        assert_eq!(
            entry(r#"{"from":1,"text":"t","timestamp":"x"}"#).unwrap_err().to_string(),
            "has a `from` that is not a string"
        );
        assert_eq!(entry(r#"{"from":"a","text":"t"}"#).unwrap_err(), Flaw::Missing("timestamp"));
    }

    #[test]
    fn epoch_times_are_understood() {
        let message = entry(r#"{"from":"a","text":"t","timestamp":1794768140463}"#).unwrap();
        assert_eq!(message.timestamp, "2026-11-15T18:42:20.463Z");
    }

    #[test]
    fn log_lines_give_text_and_payloads() {
        let plain = r#"{"type":"message","from":"c","to":"bob","timestamp":"2026-02-15T11:15:00Z","content":{"text":"hi"}}"#;
        let message = Message::from_line(plain).unwrap();
        assert_eq!(
            (message.text.as_str(), message.to.as_deref(), message.kind().as_ref()),
            ("hi", Some("bob"), "message")
        );

        let assigned = r#"{"type":"task_assignment","from":"c","to":"bob","timestamp":"2026-02-15T11:15:00Z","ackId":"m-1","content":{"taskId":"7","subject":"s"}}"#;
        let message = Message::from_line(assigned).unwrap();
        assert_eq!(message.kind(), "task_assignment");
        assert_eq!(message.extra[0].0, "ackId");
    }

    #[test]
    fn a_line_without_a_time_is_a_message_and_an_entry_is_not() {
        let line = r#"{"type":"message","from":"c","to":"bob","content":{"text":"hi"}}"#;
        let message = Message::from_line(line).unwrap();
        assert_eq!((message.timestamp.as_str(), message.sent_at), ("", None));
        assert_eq!(message.id, Message::from_line(line).unwrap().id, "it is the same at every look");
        assert_eq!(entry(r#"{"from":"a","text":"t"}"#).unwrap_err(), Flaw::Missing("timestamp"));
    }

    proptest! {
        #[test]
        fn nothing_makes_the_readers_panic(text in ".{0,80}") {
            let _ = Message::from_line(&text);
            if let Ok(raw) = RawValue::from_string(text) {
                let _ = Message::from_entry(&raw);
            }
        }
    }
}
