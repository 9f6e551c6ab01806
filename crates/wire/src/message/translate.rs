//! A message from one layout into the other, and back.
//!
//! Keys stay where they are, unknown ones too; `text` and `content` change places, `to` comes and goes behind `from`,
//! and `read`, which a log's cursor has, stands last. Where the way back would not lead to the same entry, the entry
//! itself goes along, below `metadata.atm`: `entry` in a line, `line` in an entry. The way back takes that, if it is
//! still the same message.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::parse::required_string;
use super::{Flaw, Message, Priority};
use crate::json::{self, Object, compact};
use crate::payload::{Content, classify};

/// The type of a line that is just words.
const PLAIN: &str = "\"message\"";

/// A member: its key, and its value on one line.
type Member<'a> = (Cow<'a, str>, Cow<'a, str>);

/// An array's entry as a line of the log of `to`, without its newline.
pub fn to_line(entry: &str, to: &str) -> Result<String, Flaw> {
    let message = message_of_entry(entry)?;
    if let Some(line) = kept(&message, "line", Message::from_line) {
        return Ok(line);
    }
    let line = plain_line(entry, to)?;
    let back = plain_entry(&line, to, message.read)?;
    if back == compact(entry) && Message::from_line(&line)?.id == message.id {
        return Ok(line);
    }
    // A message without an id has one made of its text, which may be spelled in another way now.
    let line = if message.id_given { line } else { set(&line, &["messageId"], &message.id)? };
    set(&line, &["metadata", "atm", "entry"], &compact(entry))
}

/// A log's line, from the inbox of `to` and the queue of this priority, as an entry of an array, on one line.
pub fn to_entry(line: &str, to: &str, queue: Priority, read: bool) -> Result<String, Flaw> {
    let message = Message::from_line(line)?;
    if let Some(entry) = kept(&message, "entry", message_of_entry) {
        let is_read = message_of_entry(&entry)?.read;
        return if is_read == read { Ok(entry) } else { set(&entry, &["read"], &read) };
    }
    let entry = plain_entry(line, to, read)?;
    let is_of_queue = message.ours().priority == queue;
    let back = plain_line(&entry, to)?;
    if is_of_queue && back == compact(line) && message_of_entry(&entry)?.id == message.id {
        return Ok(entry);
    }
    let mut entry = set(&entry, &["metadata", "atm", "line"], &compact(line))?;
    if !is_of_queue {
        entry = set(&entry, &["metadata", "atm", "priority"], &queue)?;
    }
    if message_of_entry(&entry)?.id != message.id {
        entry = set(&entry, &["messageId"], &message.id)?;
    }
    Ok(entry)
}

fn message_of_entry(entry: &str) -> Result<Message, Flaw> {
    let raw: &RawValue = serde_json::from_str(entry).map_err(|error| Flaw::NotJson(error.to_string()))?;
    Message::from_entry(raw)
}

/// What went along, if it is still the same message.
fn kept(message: &Message, key: &str, read: impl Fn(&str) -> Result<Message, Flaw>) -> Option<String> {
    let metadata = Object::parse(message.metadata.as_ref()?.get()).ok()?;
    let kept = Object::parse(metadata.get("atm")?.get()).ok()?.string(key)?.into_owned();
    let then = read(&kept).ok()?;
    let is_same = (&then.id, &then.from, &then.timestamp) == (&message.id, &message.from, &message.timestamp);
    is_same.then_some(kept)
}

fn plain_line(entry: &str, to: &str) -> Result<String, Flaw> {
    let object = object(entry)?;
    let text = required_string(&object, "text")?;
    let outer = object.string("type");
    let (kind, content) = match classify(&text, outer.as_deref()) {
        Content::Protocol(parsed) => {
            (serde_json::Value::from(parsed.payload.kind()).to_string(), Some(compact(&text)))
        }
        Content::Text => (PLAIN.to_owned(), None),
    };
    let members: Vec<(&str, &RawValue)> = object.iter().collect();
    let has = |key: &str| members.iter().any(|(name, _)| *name == key);
    let mut line: Vec<Member> = Vec::new();
    if !has("type") {
        line.push(("type".into(), kind.clone().into()));
    }
    for (at, (key, value)) in members.iter().enumerate() {
        match *key {
            "read" if at + 1 == members.len() => {}
            // Somebody's own keys of these names come back with the entry.
            "content" => {}
            "requestId" | "request_id" if content.is_some() => {}
            "text" => {
                // Words of a kind: in an object they would be taken for a payload of that kind.
                let words = || match outer.as_deref() {
                    None | Some("message" | "team_broadcast") => format!("{{\"text\":{}}}", value.get()),
                    Some(_) => value.get().to_owned(),
                };
                line.push(("content".into(), content.clone().unwrap_or_else(words).into()));
            }
            "type" if content.is_some() || outer.is_none() => line.push(("type".into(), kind.clone().into())),
            key => line.push((key.into(), compact(value.get()).into())),
        }
        if *key == "from" && !has("to") {
            line.push(("to".into(), serde_json::Value::from(to).to_string().into()));
        }
    }
    Ok(render(&line))
}

fn plain_entry(line: &str, to: &str, read: bool) -> Result<String, Flaw> {
    let object = object(line)?;
    let message = Message::from_line(line)?;
    let members: Vec<(&str, &RawValue)> = object.iter().collect();
    let is_protocol = message.content().is_protocol();
    let mut entry: Vec<Member> = Vec::new();
    for (at, (key, value)) in members.iter().enumerate() {
        let string = json::string(value);
        let text = || serde_json::Value::from(message.text.as_str()).to_string();
        match *key {
            "read" => {}
            "text" if object.get("content").is_some() => {}
            "type" if at == 0 && (is_protocol || value.get() == PLAIN) => {}
            "type" if is_protocol => entry.push(("type".into(), PLAIN.into())),
            "to" if at > 0 && members[at - 1].0 == "from" && string.as_deref() == Some(to) => {}
            "content" => {
                let words = Object::parse(value.get()).ok().and_then(|content| {
                    let mut members = content.iter();
                    let only =
                        members.next().filter(|(key, words)| *key == "text" && words.get().starts_with('"'));
                    only.filter(|_| members.next().is_none()).map(|(_, words)| words.get().to_owned())
                });
                let words = words.or_else(|| string.map(|_| value.get().to_owned()));
                let text = if is_protocol { text() } else { words.unwrap_or_else(text) };
                entry.push(("text".into(), text.into()));
            }
            "timestamp" if string.is_none() => {
                let time = serde_json::Value::from(message.timestamp.as_str()).to_string();
                entry.push(("timestamp".into(), time.into()));
            }
            key => entry.push((key.into(), compact(value.get()).into())),
        }
    }
    entry.push(("read".into(), read.to_string().into()));
    Ok(render(&entry))
}

fn object(text: &str) -> Result<Object<'_>, Flaw> {
    Object::parse(text).map_err(|error| Flaw::NotJson(error.to_string()))
}

fn render(members: &[Member]) -> String {
    let member = |(key, value): &Member| format!("{}:{value}", serde_json::Value::from(key.as_ref()));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
}

/// Sets a value below an object, on one line. What is missing on the way is made; what is no object there gives way.
fn set<T: serde::Serialize + ?Sized>(text: &str, path: &[&str], value: &T) -> Result<String, Flaw> {
    json::set_below(text, text.trim(), path, value)
        .map(|patch| compact(&patch.apply(text)))
        .map_err(|error| Flaw::NotJson(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const TIME: &str = "2026-11-15T18:42:20.463Z";

    /// There and back again; gives the line.
    fn there_and_back(entry: &str) -> String {
        let line = to_line(entry, "bob").unwrap();
        assert!(!line.contains('\n'), "{line}");
        let (then, now) = (message_of_entry(entry).unwrap(), Message::from_line(&line).unwrap());
        assert_eq!((&then.id, &then.from, &then.timestamp), (&now.id, &now.from, &now.timestamp));
        assert_eq!((then.kind(), compact(&then.text)), (now.kind(), compact(&now.text)));
        assert_eq!(to_entry(&line, "bob", then.ours().priority, then.read).unwrap(), compact(entry));
        let read = to_entry(&line, "bob", then.ours().priority, true).unwrap();
        assert!(message_of_entry(&read).unwrap().read);
        line
    }

    #[test]
    fn what_clients_write_needs_nothing_along() {
        let words = format!(
            "{{\n  \"from\": \"team-lead\",\n  \"text\": \"hi\\nthere\",\n  \"timestamp\": \"{TIME}\",\n  \"color\": \"blue\",\n  \"read\": false\n}}"
        );
        let expected = format!(
            r#"{{"type":"message","from":"team-lead","to":"bob","content":{{"text":"hi\nthere"}},"timestamp":"{TIME}","color":"blue"}}"#
        );
        assert_eq!(there_and_back(&words), expected);
        let payload = json!({ "from": "alice", "text": r#"{"type":"idle_notification","from":"alice"}"#, "timestamp": TIME });
        let payload = payload
            .to_string()
            .replace('}', "")
            .replace("idle_notification\\\",\\\"from\\\":\\\"alice\\\"", "idle_notification\\\"}");
        let line = there_and_back(&format!("{payload},\"type\":\"message\",\"read\":true}}"));
        assert!(line.contains(r#""content":{"type":"idle_notification"}"#), "{line}");
        assert!(!line.contains("metadata"), "{line}");
    }

    #[test]
    fn what_has_no_place_goes_along() {
        for entry in [
            format!(r#"{{"read":false,"from":"a","text":"t","timestamp":"{TIME}"}}"#),
            format!(r#"{{"from":"a","text":"t","timestamp":"{TIME}","read":"true"}}"#),
            format!(r#"{{"from":"a","text":"t","timestamp":"{TIME}"}}"#),
            r#"{"from":"a","to":"x","text":"t","text":"u","timestamp":1794768140463,"n":1E2,"read":false}"#
                .to_owned(),
            format!(
                r#"{{"from":"a","text":"\u0074","content":{{"text":"other"}},"timestamp":"{TIME}","read":false}}"#
            ),
            format!(
                r#"{{"from":"a","text":"{{ \"type\": \"x\" }}","timestamp":"{TIME}","metadata":7,"read":false}}"#
            ),
            format!(
                r#"{{"type":"message","from":"a","text":"t","timestamp":"{TIME}","metadata":{{"atm":{{"priority":"high"}}}},"read":true}}"#
            ),
        ] {
            there_and_back(&entry);
        }
    }

    #[test]
    fn a_line_comes_back_too() {
        for (line, queue) in [
            (format!(r#"{{"type":"message","from":"c","to":"bob","timestamp":"{TIME}","content":{{"text":"hi"}}}}"#), Priority::Normal),
            (format!(r#"{{"type":"message","from":"c","to":"bob","timestamp":"{TIME}","content":{{"text":"hi"}}}}"#), Priority::High),
            (format!(r#"{{"type":"task_assignment","from":"c","to":"bob","timestamp":"{TIME}","ackId":"m","requestId":"r","content":{{"taskId":"7"}}}}"#), Priority::Normal),
            (format!(r#"{{"type":"team_broadcast","from":"c","to":"all","timestamp":"{TIME}","content":{{"text":"hi","recipients":["x"]}}}}"#), Priority::Normal),
            (r#"{"type":"odd","from":"c","timestamp":1794768140463,"content":"words","read":true,"x":{"y":1E2}}"#.to_owned(), Priority::Low),
            (format!(r#"{{"from":"a","text":"strayed","timestamp":"{TIME}","read":true}}"#), Priority::Normal),
        ] {
            let entry = to_entry(&line, "bob", queue, true).unwrap();
            let (then, now) = (Message::from_line(&line).unwrap(), message_of_entry(&entry).unwrap());
            assert_eq!((&then.id, &then.from, &then.timestamp, &then.text), (&now.id, &now.from, &now.timestamp, &now.text));
            assert_eq!((now.ours().priority, now.read), (queue, true), "{entry}");
            assert_eq!(to_line(&entry, "bob").unwrap(), compact(&line));
        }
    }

    #[test]
    fn what_was_changed_meanwhile_counts() {
        let entry = format!(r#"{{"read":false,"from":"a","text":"t","timestamp":"{TIME}","messageId":"m"}}"#);
        let line = to_line(&entry, "bob").unwrap().replace("\"messageId\":\"m\"", "\"messageId\":\"n\"");
        let back = to_entry(&line, "bob", Priority::Normal, false).unwrap();
        assert_eq!(message_of_entry(&back).unwrap().id, "n");
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            ".{0,8}".prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
            ".{0,4}".prop_map(|text| json!({ "atm": { "thread": text }, "x": [1, null] })),
        ]
    }

    proptest! {
        #[test]
        fn every_message_comes_back_from_the_other_layout(
            text in prop_oneof![".{0,12}", Just(r#"{"type":"heartbeat","task_id":"1"}"#.to_owned()), Just(r#"{ "type": "x" }"#.to_owned())],
            others in prop::collection::vec((prop_oneof![
                Just("summary"), Just("metadata"), Just("messageId"), Just("type"), Just("to"), Just("content"),
                Just("requestId"), Just("read"), Just("odd key \""), Just("ackId"),
            ], value()), 0..5),
            turn in 0usize..8,
        ) {
            let mut members = vec![("from", json!("alice")), ("text", json!(text)), ("timestamp", json!(TIME))];
            members.extend(others);
            let turn = turn % members.len();
            members.rotate_left(turn);
            let members: Vec<Member> =
                members.iter().map(|(key, value)| ((*key).into(), value.to_string().into())).collect();
            let entry = render(&members);
            // Of the spellings of a flag, those that say nothing are not kept when they are asked for.
            if message_of_entry(&entry).is_ok() {
                there_and_back(&entry);
            }
        }
    }
}
