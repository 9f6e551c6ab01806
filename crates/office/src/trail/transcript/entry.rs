//! One entry of a conversation: what the model was shown in it, and whether it begins a turn.

use atm_wire::Stamp;
use atm_wire::json::{Object, string};
use serde_json::value::RawValue;

/// What the model was shown in one entry of its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Shown {
    /// Where the entry's line begins.
    pub(crate) position: u64,
    /// The id that the client gave it, which stays the same when a resumed conversation is copied.
    pub(crate) uuid: Option<String>,
    /// When it was written, in milliseconds since the epoch, if it says so.
    pub(crate) at: Option<i64>,
    /// The texts of its parts.
    pub(crate) texts: Vec<String>,
    /// The id of the frame that it shows, which its client keeps for what came over its socket.
    pub(crate) frame: Option<String>,
}

impl Shown {
    /// What a line shows to the model, if it does. Beside a lead's own entries stand those of members that run inside it;
    /// where the whole file is such a member's, `is_inside` says so.
    pub(crate) fn parse(line: &str, position: u64, is_inside: bool) -> Option<Self> {
        let entry = Object::parse(line).ok()?;
        // A summary quotes what was said before.
        if is(&entry, "isCompactSummary") || (is(&entry, "isSidechain") && !is_inside) {
            return None;
        }
        let (texts, frame) = match entry.string("type")?.as_ref() {
            "user" => {
                let message = Object::parse(entry.get("message")?.get()).ok()?;
                (texts_of(message.get("content")?), frame_of(&entry))
            }
            "attachment" => {
                let attachment = Object::parse(entry.get("attachment")?.get()).ok()?;
                let is_queued = attachment.string("type").as_deref() == Some("queued_command");
                (texts_of(attachment.get("prompt").filter(|_| is_queued)?), frame_of(&attachment))
            }
            _ => return None,
        };
        let uuid = entry.string("uuid").map(std::borrow::Cow::into_owned);
        Some(Self { position, uuid, at: time_of(&entry), texts, frame })
    }
}

/// The frame that an entry says it shows: a key of the client's, which no text can write.
fn frame_of(entry: &Object) -> Option<String> {
    let origin = Object::parse(entry.get("origin")?.get()).ok()?;
    let is_peer = origin.string("kind").as_deref() == Some("peer");
    origin.string("msg_id").filter(|_| is_peer).map(std::borrow::Cow::into_owned)
}

/// When an entry was written, if it says so.
pub(super) fn time_of(entry: &Object) -> Option<i64> {
    let stamp = Stamp::from_json(entry.get("timestamp")?.get()).ok()?;
    Some(stamp.as_millis())
}

/// Whether an entry begins a turn of its conversation: the model is addressed, by anything but what a tool gave back.
pub(super) fn begins_turn(entry: &Object, is_inside: bool) -> bool {
    if entry.string("type").as_deref() != Some("user")
        || is(entry, "isMeta")
        || is(entry, "isCompactSummary")
        || (is(entry, "isSidechain") && !is_inside)
    {
        return false;
    }
    let message = entry.get("message").and_then(|message| Object::parse(message.get()).ok());
    let Some(content) = message.as_ref().and_then(|message| message.get("content")) else { return false };
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let is_result = |part: &&RawValue| {
        let part = Object::parse(part.get()).ok();
        part.is_some_and(|part| part.string("type").as_deref() == Some("tool_result"))
    };
    !parts.iter().any(is_result)
}

fn is(entry: &Object, key: &str) -> bool {
    entry.get(key).is_some_and(|value| value.get() == "true")
}

/// The texts of a content: a string, or parts of which some have a text. What a tool gave back has none.
fn texts_of(content: &RawValue) -> Vec<String> {
    if let Some(text) = string(content) {
        return vec![text.into_owned()];
    }
    let parts: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    let text = |part: &&RawValue| Some(Object::parse(part.get()).ok()?.string("text")?.into_owned());
    parts.iter().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(more: &str, content: &str) -> String {
        format!(r#"{{"type":"user"{more},"message":{{"role":"user","content":{content}}}}}"#)
    }

    /// Mail that was taken in the middle of a long turn was called lost, because the conversation went on.
    #[test]
    fn a_turn_begins_where_the_model_is_addressed_and_not_where_a_tool_answers() {
        let begins = |entry: &str, is_inside| begins_turn(&Object::parse(entry).unwrap(), is_inside);
        assert!(begins(&user("", r#""hello""#), false));
        assert!(begins(&user("", r#"[{"type":"text","text":"hello"}]"#), false));
        assert!(!begins(&user("", r#"[{"type":"tool_result","content":"x"}]"#), false));
        assert!(!begins(&user(r#","isMeta":true"#, r#""caveat""#), false));
        assert!(!begins(&user(r#","isCompactSummary":true"#, r#""so far""#), false));
        assert!(!begins(&user(r#","isSidechain":true"#, r#""of a member""#), false));
        assert!(begins(&user(r#","isSidechain":true"#, r#""of a member""#), true));
        assert!(!begins(r#"{"type":"assistant","message":{"content":"hello"}}"#, false));
    }

    #[test]
    fn only_what_the_model_was_shown_counts() {
        let texts = |line: &str| Shown::parse(line, 0, false).map(|shown| shown.texts);
        assert_eq!(texts(&user("", r#""hello""#)), Some(vec!["hello".to_owned()]));
        let parts = r#"[{"type":"text","text":"a"},{"type":"tool_result","content":"b"}]"#;
        assert_eq!(texts(&user("", parts)), Some(vec!["a".to_owned()]));
        assert_eq!(texts(&user(r#","isCompactSummary":true"#, r#""hello""#)), None);
        assert_eq!(texts(&user(r#","isSidechain":true"#, r#""hello""#)), None);
        assert_eq!(texts(r#"{"type":"assistant","message":{"content":"hello"}}"#), None);
        assert_eq!(texts(r#"{"type":"queue-operation","operation":"enqueue","content":"hello"}"#), None);
        let queued = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"hello"}}"#;
        assert_eq!(texts(queued), Some(vec!["hello".to_owned()]));
        let peer = r#","origin":{"kind":"peer","msg_id":"f1"}"#;
        let frame = |line: &str| Shown::parse(line, 0, false).and_then(|shown| shown.frame);
        assert_eq!(frame(&user(peer, r#""mail""#)).as_deref(), Some("f1"));
        assert_eq!(
            frame(&queued.replace(r#","prompt""#, &format!(r#"{peer},"prompt""#))).as_deref(),
            Some("f1")
        );
        assert_eq!(frame(&user("", r#""{\"origin\":{\"kind\":\"peer\",\"msg_id\":\"f1\"}}""#)), None);
        assert_eq!(frame(&user(&peer.replace("peer", "human"), r#""mail""#)), None);
        let stamped = user(r#","uuid":"u1","timestamp":"2026-11-15T18:54:18.702Z""#, r#""x""#);
        let shown = Shown::parse(&stamped, 7, false).unwrap();
        assert_eq!(
            (shown.position, shown.uuid.as_deref(), shown.at),
            (7, Some("u1"), Some(1_794_768_858_702))
        );
    }
}
