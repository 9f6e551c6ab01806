//! The words of a message for people: its text, or the fields of its payload, and the files that it names. Foreign text: a
//! front shows it with [`atm_wire::visible`].

use atm_wire::payload::classify;
use serde_json::{Map, Value};

use super::{Kind, MessageView, NamedFile};
use crate::trail::history::Remembered;

impl MessageView {
    /// What to show of it: its words, or its payload's fields; and the files that it names.
    pub fn words(&self) -> String {
        let payload = self.payload.as_ref().filter(|_| self.kind == Kind::Protocol);
        let fields = payload.and_then(|payload| serde_json::from_str(payload.get()).ok());
        words(&self.text, fields.as_ref(), &self.files)
    }

    /// What it is about, in a few words.
    pub fn gist(&self) -> &str {
        gist(self.summary.as_deref(), &self.r#type, &self.text)
    }
}

impl Remembered {
    /// What to show of it: its words, or its payload's fields; and the files that it names.
    pub fn words(&self) -> String {
        // It has its payload as its text.
        let is_payload = classify(&self.text, Some(&self.r#type)).is_protocol();
        let fields = is_payload.then(|| serde_json::from_str(&self.text).ok()).flatten();
        words(&self.text, fields.as_ref(), &self.files)
    }

    /// What it is about, in a few words.
    pub fn gist(&self) -> &str {
        gist(self.summary.as_deref(), &self.r#type, &self.text)
    }
}

/// What a message is about, in a few words: its summary; else what kind of payload it is, or its text.
pub fn gist<'a>(summary: Option<&'a str>, kind: &'a str, text: &'a str) -> &'a str {
    let is_payload = kind != "message";
    summary.unwrap_or(if is_payload { kind } else { text.lines().next().unwrap_or_default() })
}

fn words(text: &str, fields: Option<&Map<String, Value>>, files: &[NamedFile]) -> String {
    let mut lines = match fields {
        Some(fields) => fields.iter().filter_map(|(key, value)| field(files, key, value)).collect(),
        None => vec![text.to_owned()],
    };
    // Those that stand in a field of their own are shown there.
    let is_field = |file: &NamedFile| {
        fields.is_some_and(|fields| fields.get(&file.key).and_then(Value::as_str) == Some(&file.path))
    };
    lines.extend(files.iter().filter(|file| !is_field(file)).map(NamedFile::words));
    lines.join("\n")
}

fn field(files: &[NamedFile], key: &str, value: &Value) -> Option<String> {
    if ["type", "from", "timestamp"].contains(&key) {
        return None;
    }
    let Value::String(text) = value else { return Some(format!("{key}: {value}")) };
    let named = files.iter().find(|file| file.key == key && file.path == *text);
    Some(named.map_or_else(|| format!("{key}: {text}"), NamedFile::words))
}
