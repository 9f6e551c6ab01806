//! Conversations of Qwen Code: JSON Lines, an entry a line.
//!
//! A hook's text is a part of its own behind the prompt, in tags, or stands behind what a tool gave back. What a hook says
//! at a session's start goes into the instructions, and what it says at a stop into the request alone: neither is kept.

use atm_wire::json::Object;

use crate::shown::{Shape, Shown, below, is_ours, texts_with_tools, time_if, unescaped};

/// Around a hook's text.
const PROMPT_CONTEXT: &str = "<qwen:user-prompt-submit-context>";

/// What a line shows to the model, if it does.
pub(super) fn shown(line: &str, _: bool) -> Option<Shown> {
    let entry = Object::parse(line).ok()?;
    let texts = || Some(texts_with_tools(below(&entry, "message")?.get("parts")?));
    let shown = match entry.string("type")?.as_ref() {
        "user" => {
            let texts = texts()?;
            if texts.iter().any(|text| text.starts_with(PROMPT_CONTEXT) || is_ours(text)) {
                Shown::listed(texts.iter().map(|text| unescaped(text)).collect())?
            } else {
                Shown { shape: Shape::Framed, texts, ..Shown::default() }
            }
        }
        "tool_result" => Shown::listed(texts()?)?,
        _ => return None,
    };
    Some(shown.of(&entry, "uuid"))
}

/// When a line was written, if it is a part of the model's answer.
pub(super) fn answered(line: &str) -> Option<i64> {
    time_if(line, "assistant")
}
