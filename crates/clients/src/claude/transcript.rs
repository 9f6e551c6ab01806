//! Conversations of Claude Code: JSON Lines, an entry a line.
//!
//! | entry | what it shows |
//! |---|---|
//! | `user` with `origin.kind: "peer"`; the same as a `queued_command` in a turn | a peer's message, under the id that its sender gave it |
//! | `user`, `queued_command` | mail that the client took from the inbox, in frames |
//! | `hook_additional_context`; `user` with `Stop hook feedback:` | what our hook said |
//! | `queue-operation`, `hook_success`, `system`, and what else repeats a text | nothing: it stays when the client dies with the text in memory |

use atm_wire::json::Object;
use serde_json::value::RawValue;

use crate::shown::{Shape, Shown, below, elements, is_ours, texts_of};

pub use crate::shown::time_of;

/// Words before the reason for which a hook keeps it from stopping.
const STOP_FEEDBACK: &str = "Stop hook feedback:\n";

/// In place of a model's name, where the client answers by itself.
const SYNTHETIC: &str = "<synthetic>";

/// What a line shows to the model, if it does. Beside a lead's own entries stand those of members that run inside it;
/// where the whole file is such a member's, `is_inside` says so.
pub fn shown(line: &str, is_inside: bool) -> Option<Shown> {
    let entry = Object::parse(line).ok()?;
    // A summary quotes what was said before.
    if is(&entry, "isCompactSummary") || (is(&entry, "isSidechain") && !is_inside) {
        return None;
    }
    let shown = match entry.string("type")?.as_ref() {
        "user" => {
            let texts = texts_of(below(&entry, "message")?.get("content")?);
            match peer(&entry) {
                Some(shape) => Shown { shape, texts, ..Shown::default() },
                None => prompted(texts),
            }
        }
        "attachment" => {
            let attachment = below(&entry, "attachment")?;
            match attachment.string("type")?.as_ref() {
                "queued_command" => {
                    let texts = texts_of(attachment.get("prompt")?);
                    Shown { shape: peer(&attachment).unwrap_or_default(), texts, ..Shown::default() }
                }
                "hook_additional_context" => {
                    let text =
                        |text: &RawValue| atm_wire::json::string(text).map(std::borrow::Cow::into_owned);
                    Shown::listed(
                        elements(attachment.get("content")?).into_iter().filter_map(text).collect(),
                    )?
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(shown.of(&entry, "uuid"))
}

/// What stands in a prompt: what a hook said at a stop, or mail in frames.
fn prompted(texts: Vec<String>) -> Shown {
    let of_hook = |text: &String| text.strip_prefix(STOP_FEEDBACK).is_some_and(is_ours);
    let shape = if texts.iter().any(of_hook) { Shape::Listed } else { Shape::Framed };
    Shown { shape, texts, ..Shown::default() }
}

/// The id of a peer's message, if it is one.
fn peer(entry: &Object) -> Option<Shape> {
    let origin = below(entry, "origin").filter(|origin| origin.string("kind").as_deref() == Some("peer"))?;
    Some(Shape::Peer(origin.string("msg_id")?.into_owned()))
}

/// Whether an entry begins a turn of its conversation: the model is addressed, by anything but what a tool gave back.
pub fn begins_turn(entry: &Object, is_inside: bool) -> bool {
    if entry.string("type").as_deref() != Some("user")
        || is(entry, "isMeta")
        || is(entry, "isCompactSummary")
        || (is(entry, "isSidechain") && !is_inside)
    {
        return false;
    }
    let message = below(entry, "message");
    let Some(content) = message.as_ref().and_then(|message| message.get("content")) else { return false };
    let is_result = |part: &RawValue| {
        let part = Object::parse(part.get()).ok();
        part.is_some_and(|part| part.string("type").as_deref() == Some("tool_result"))
    };
    !elements(content).into_iter().any(is_result)
}

/// When a line was written, if it is a part of the model's answer, and not what the client says in its place.
pub(super) fn answered(line: &str) -> Option<i64> {
    let entry = Object::parse(line).ok()?;
    let model = below(&entry, "message").and_then(|message| Some(message.string("model")?.into_owned()));
    let is_answer = entry.string("type").as_deref() == Some("assistant")
        && !is(&entry, "isSidechain")
        && !is(&entry, "isApiErrorMessage")
        && model.as_deref() != Some(SYNTHETIC);
    time_of(&entry).filter(|_| is_answer)
}

/// An entry's part in the talk with the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// It is for the model: a prompt, or what a tool gave back. When it was written.
    Words(Option<i64>),
    /// It is a part of the model's answer with this id.
    Answer(String),
}

/// An entry's part in the talk with the model, if it has one.
pub fn part_of(entry: &Object, is_inside: bool) -> Option<Part> {
    if is(entry, "isSidechain") && !is_inside {
        return None;
    }
    match entry.string("type")?.as_ref() {
        "user" => Some(Part::Words(time_of(entry))),
        "assistant" => Some(Part::Answer(below(entry, "message")?.string("id")?.into_owned())),
        _ => None,
    }
}

fn is(entry: &Object, key: &str) -> bool {
    entry.get(key).is_some_and(|value| value.get() == "true")
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
        let texts = |line: &str| shown(line, false).map(|shown| shown.texts);
        assert_eq!(texts(&user("", r#""hello""#)), Some(vec!["hello".to_owned()]));
        let parts = r#"[{"type":"text","text":"a"},{"type":"tool_result","content":"b"}]"#;
        assert_eq!(texts(&user("", parts)), Some(vec!["a".to_owned()]));
        assert_eq!(texts(&user(r#","isCompactSummary":true"#, r#""hello""#)), None);
        assert_eq!(texts(&user(r#","isSidechain":true"#, r#""hello""#)), None);
        assert_eq!(texts(r#"{"type":"assistant","message":{"content":"hello"}}"#), None);
        assert_eq!(texts(r#"{"type":"queue-operation","operation":"enqueue","content":"hello"}"#), None);
        let queued = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"hello"}}"#;
        assert_eq!(texts(queued), Some(vec!["hello".to_owned()]));
        let stamped = user(r#","uuid":"u1","timestamp":"2026-11-15T18:54:18.702Z""#, r#""x""#);
        let shown = shown(&stamped, false).unwrap();
        assert_eq!((shown.entry.as_deref(), shown.at), (Some("u1"), Some(1_794_768_858_702)));
    }

    #[test]
    fn an_answer_is_the_models_own_and_in_its_own_conversation() {
        let line = |more: &str, model: &str| {
            let time = r#""timestamp":"2026-11-15T18:54:18.702Z""#;
            format!(r#"{{"type":"assistant",{time}{more},"message":{{"model":"{model}","content":[]}}}}"#)
        };
        assert_eq!(answered(&line("", "claude")), Some(1_794_768_858_702));
        for other in [
            line("", SYNTHETIC),
            line(r#","isSidechain":true"#, "claude"),
            line(r#","isApiErrorMessage":true"#, "claude"),
            user(r#","timestamp":"2026-11-15T18:54:18.702Z""#, r#""hello""#),
        ] {
            assert_eq!(answered(&other), None, "{other}");
        }
    }

    /// A peer's words are its own: what they quote is no mail, and the id alone tells which message it is.
    #[test]
    fn a_peers_message_is_known_by_its_id_idle_and_in_a_turn() {
        let origin = r#""origin":{"kind":"peer","msg_id":"m1","from":"uds:/x","selfSent":true}"#;
        let idle = user(&format!(",{origin}"), r#""Another Claude session sent a message:\nhello""#);
        let in_turn = format!(
            r#"{{"type":"attachment","attachment":{{"type":"queued_command","prompt":"hello",{origin}}}}}"#
        );
        for line in [&idle, &in_turn] {
            assert_eq!(
                shown(line, false).map(|shown| shown.shape),
                Some(Shape::Peer("m1".to_owned())),
                "{line}"
            );
        }
        // Without an id, or of somebody else, it is a prompt like another.
        for other in [r#""origin":{"kind":"peer"}"#, r#""origin":{"kind":"human","msg_id":"m1"}"#] {
            let line = user(&format!(",{other}"), r#""hello""#);
            assert_eq!(shown(&line, false).map(|shown| shown.shape), Some(Shape::Framed), "{line}");
        }
    }
}
