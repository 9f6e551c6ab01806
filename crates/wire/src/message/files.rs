//! Files that messages name: keys like `filePath`, in a payload, beside the text, or in the metadata.

use serde_json::Value;

use super::Message;
use crate::payload::classify;

/// Keys within keys within keys: nobody writes them deeper.
const DEEPEST: usize = 8;

/// A path that a message names as a file's. It is the sender's word, and nothing has been looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The key, as it is spelled.
    pub key: String,
    /// The path, as it is spelled.
    pub path: String,
}

impl NamedPath {
    /// The paths that a message's text names as files, if it is a payload; `outer_type` is the type beside the text.
    pub fn in_text(text: &str, outer_type: Option<&str>) -> Vec<Self> {
        let mut found = Vec::new();
        if may_name_files(text)
            && classify(text, outer_type).is_protocol()
            && let Ok(payload) = serde_json::from_str(text)
        {
            gather(&payload, DEEPEST, &mut found);
        }
        found
    }
}

/// Whether a key names a file: `filePath`, `planFilePath`, `file_path`, `filePaths` and the like.
fn names_a_file(key: &str) -> bool {
    let plain: String =
        key.chars().filter(|char| *char != '_').map(|char| char.to_ascii_lowercase()).collect();
    plain.ends_with("filepath") || plain.ends_with("filepaths")
}

impl Message {
    /// The paths that it names as files: those in the payload first.
    pub fn named_files(&self) -> Vec<NamedPath> {
        let mut found = NamedPath::in_text(&self.text, self.outer_type.as_deref());
        let beside = self.extra.iter().map(|(key, value)| (key.as_str(), value));
        let metadata = self.metadata.iter().map(|value| ("metadata", value));
        for (key, value) in beside.chain(metadata) {
            if (names_a_file(key) || may_name_files(value.get()))
                && let Ok(value) = serde_json::from_str(value.get())
            {
                field(key, &value, DEEPEST, &mut found);
            }
        }
        found
    }
}

/// Whether it is worth parsing.
fn may_name_files(text: &str) -> bool {
    let is_object = text.trim_start().starts_with(['{', '[']);
    // A key can be spelled in escapes.
    is_object && ["ilePath", "ile_path", "ilepath", "\\u"].iter().any(|part| text.contains(part))
}

fn gather(value: &Value, deep: usize, found: &mut Vec<NamedPath>) {
    match value {
        Value::Object(fields) if deep > 0 => {
            fields.iter().for_each(|(key, value)| field(key, value, deep - 1, found));
        }
        Value::Array(items) if deep > 0 => items.iter().for_each(|item| gather(item, deep - 1, found)),
        _ => {}
    }
}

fn field(key: &str, value: &Value, deep: usize, found: &mut Vec<NamedPath>) {
    let mut add = |path: &str| found.push(NamedPath { key: key.to_owned(), path: path.to_owned() });
    match value {
        Value::String(path) if names_a_file(key) => add(path),
        Value::Array(paths) if names_a_file(key) && paths.iter().all(Value::is_string) => {
            paths.iter().filter_map(Value::as_str).for_each(add);
        }
        other => gather(other, deep, found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(entry: &str) -> Vec<(String, String)> {
        let message = Message::from_entry(serde_json::from_str(entry).unwrap()).unwrap();
        message.named_files().into_iter().map(|named| (named.key, named.path)).collect()
    }

    fn with_text(text: &str) -> String {
        let text = Value::from(text);
        format!(r#"{{"from":"a","text":{text},"timestamp":"2026-11-15T10:00:00Z","read":false}}"#)
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let text = r#"{"type":"plan_approval_request","planFilePath":"/a","more":[{"f\u0069le_path":"b"}],"filePaths":["c","d"]}"#;
        let all = ["/a", "b", "c", "d"];
        let mut found: Vec<String> = named(&with_text(text)).into_iter().map(|(_, path)| path).collect();
        found.sort();
        assert_eq!(found, all);
        let beside = r#"{"from":"a","text":"see it","filePath":"/x","metadata":{"outputFilePath":"/y"},"timestamp":"2026-11-15T10:00:00Z","read":false}"#;
        let beside = named(beside);
        assert_eq!(beside[0], ("filePath".to_owned(), "/x".to_owned()));
        assert_eq!(beside[1], ("outputFilePath".to_owned(), "/y".to_owned()));
    }

    #[test]
    fn words_name_no_files() {
        assert_eq!(named(&with_text(r#"{"filePath":"/a"} is what I got"#)), []);
        assert_eq!(named(&with_text(r#"{"type":"message_of_mine","path":"/a","profile":"b"}"#)), []);
    }

    #[test]
    fn what_is_nested_too_deep_is_left_alone() {
        let deep = (0..200).fold(r#"{"filePath":"/a"}"#.to_owned(), |inner, _| format!(r#"{{"a":{inner}}}"#));
        let text = format!(r#"{{"type":"t","in":{deep}}}"#);
        assert_eq!(named(&with_text(&text)), []);
    }
}
