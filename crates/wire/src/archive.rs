//! A message in the archive: its entry as it stood in the inbox, on one line, and where it was.
//!
//! A line is the entry with one member more, `archived`, at its end. So every tool that reads the entry reads the
//! line, and taking that member off again gives the entry's own bytes.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::{Object, span};
use crate::message::{Flaw, Message};
use crate::stamp::Stamp;

/// What stands before the member that we add. A JSON parser takes the last of two members of one name, so an entry
/// that has one of its own is no trouble.
const MEMBER: &str = ",\"archived\":";

/// Where an archived message was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// When it was archived.
    pub at: Stamp,
    /// The shared tree.
    pub root: String,
    /// The team.
    pub team: String,
    /// Whose inbox it was in.
    pub to: String,
    /// Which of the two layouts the entry is in.
    pub layout: Form,
    /// Whether its reader had it.
    pub read: bool,
    /// The id that it went by, where it has none of its own and was not the first of equal ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The layouts by the form of their entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// An element of an array.
    Array,
    /// A line of a log.
    Log,
}

/// What it takes to get the entry's bytes back.
#[derive(Serialize, Deserialize)]
struct Coding {
    /// The tabs in the line were line breaks. JSON has neither inside its strings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    breaks: bool,
    /// The entry itself, where it cannot be told by the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
}

/// The member that is added.
#[derive(Serialize)]
struct Added<'a> {
    #[serde(flatten)]
    origin: &'a Origin,
    #[serde(flatten)]
    coding: Coding,
}

/// A line of the archive.
#[derive(Debug, Clone)]
pub struct Archived {
    /// The entry as it stood, byte for byte.
    pub entry: String,
    /// Where it was; a line that somebody else wrote does not say.
    pub origin: Option<Origin>,
    /// The message that it is.
    pub message: Message,
}

/// The line for an entry, with its newline.
pub fn line(entry: &str, origin: &Origin) -> Result<String, serde_json::Error> {
    let body = entry.trim_end().strip_suffix('}').unwrap_or(entry);
    let is_odd = entry.len() != body.len() + 1
        || entry.contains('\r')
        || (entry.contains('\n') && entry.contains('\t'));
    let added = Added {
        origin,
        coding: Coding { breaks: !is_odd && entry.contains('\n'), exact: is_odd.then(|| entry.to_owned()) },
    };
    let body = body.replace(['\n', '\r'], "\t");
    Ok(format!("{body}{MEMBER}{}}}\n", serde_json::to_string(&added)?))
}

/// When the message on a line was sent, without reading more of it than that.
pub fn time(line: &str) -> Option<Stamp> {
    Stamp::from_json(Object::parse(line).ok()?.get("timestamp")?.get()).ok()
}

/// Reads a line.
pub fn parse(line: &str) -> Result<Archived, Flaw> {
    let object = Object::parse(line).map_err(|error| Flaw::NotJson(error.to_string()))?;
    let added = object.iter().last().filter(|(key, _)| *key == "archived").and_then(|(_, value)| {
        let start = span(line, value.get()).start.checked_sub(MEMBER.len())?;
        let origin: Origin = serde_json::from_str(value.get()).ok()?;
        let coding: Coding = serde_json::from_str(value.get()).ok()?;
        line.get(start..)?.starts_with(MEMBER).then_some((start, origin, coding))
    });
    let Some((end, origin, coding)) = added else {
        let entry = line.to_owned();
        return Ok(Archived { message: Message::from_line(&entry)?, entry, origin: None });
    };
    let entry = coding.exact.unwrap_or_else(|| {
        let body = line.get(..end).unwrap_or_default();
        if coding.breaks { body.replace('\t', "\n") + "}" } else { format!("{body}}}") }
    });
    let mut message = match origin.layout {
        Form::Array => {
            let raw: &RawValue =
                serde_json::from_str(&entry).map_err(|error| Flaw::NotJson(error.to_string()))?;
            Message::from_entry(raw)?
        }
        Form::Log => Message::from_line(&entry)?,
    };
    message.read = origin.read;
    if let Some(id) = origin.id.as_ref().filter(|_| !message.id_given) {
        message.id.clone_from(id);
    }
    Ok(Archived { entry, origin: Some(origin), message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(layout: Form) -> Origin {
        let at = Stamp::from_millis(1_794_768_140_463);
        Origin { at, root: "/r".into(), team: "dev".into(), to: "bob".into(), layout, read: true, id: None }
    }

    const ENTRIES: [&str; 6] = [
        r#"{"from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","read":true}"#,
        "{\n    \"from\": \"a\",\n    \"text\": \"t\\n\\tx\",\n    \"timestamp\": \"x\",\n    \"odd\": 1E2\n  }",
        "{\n\t\"from\": \"a\",\n\t\"text\": \"t\",\n\t\"timestamp\": \"x\"\n}",
        "{\r\n  \"from\": \"a\", \"text\": \"t\",\r\n \"timestamp\": \"x\"}",
        "{\"from\":\"a\",\t\"text\":\"t\",\"timestamp\":\"x\"}",
        r#"{"from":"a","text":"t","timestamp":"x","archived":{"at":"mine"}}"#,
    ];

    #[test]
    fn the_entrys_bytes_come_back_whatever_its_line_breaks_are() {
        for entry in ENTRIES {
            let line = line(entry, &origin(Form::Array)).unwrap();
            assert_eq!(line.matches(['\n', '\r']).count(), 1, "one line: {line:?}");
            let back = parse(line.trim_end_matches('\n')).unwrap();
            assert_eq!((back.entry.as_str(), back.origin), (entry, Some(origin(Form::Array))));
        }
    }

    #[test]
    fn any_json_reader_can_read_the_entry_in_the_line() {
        let line = line(ENTRIES[1], &origin(Form::Array)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&value["from"], &value["text"]), (&"a".into(), &"t\n\tx".into()));
    }

    #[test]
    fn a_line_that_somebody_else_wrote_is_a_message_too() {
        let back = parse(ENTRIES[0]).unwrap();
        assert_eq!((back.message.text.as_str(), back.origin), ("t", None));
        assert!(parse("{\"from\":").is_err() && parse("7").is_err());
    }

    #[test]
    fn a_log_line_may_end_in_white_space() {
        let entry = r#"{"type":"message","from":"c","timestamp":"x","content":{"text":"hi"}}  "#;
        let line = line(entry, &origin(Form::Log)).unwrap();
        let back = parse(line.trim_end_matches('\n')).unwrap();
        assert_eq!((back.entry.as_str(), back.message.text.as_str()), (entry, "hi"));
        assert!(back.message.read);
    }

    proptest! {
        #[test]
        fn every_entry_survives(
            text in any::<String>(),
            space in prop::collection::vec(prop::sample::select(vec!["", " ", "\n", "\n  ", "\t", "\r\n"]), 5),
        ) {
            let text = serde_json::to_string(&text).unwrap();
            let [a, b, c, d, e] = space[..] else { unreachable!() };
            let entry = format!("{{{a}\"from\":\"x\",{b}\"text\":{text},{c}\"timestamp\":{d}\"y\"{e}}}");
            let line = line(&entry, &origin(Form::Array)).unwrap();
            prop_assert_eq!(parse(line.strip_suffix('\n').unwrap()).unwrap().entry, entry);
        }

        #[test]
        fn nothing_makes_the_reader_panic(text in ".{0,80}") {
            let _ = parse(&text);
        }
    }
}
