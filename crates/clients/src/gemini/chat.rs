//! Conversations of Gemini CLI: JSON Lines of messages, among them lines that change what was said before.
//!
//! A hook's text stands in a message of the user: `<hook_context>…</hook_context>` before a prompt or behind what a tool
//! gave back, and as it is where it kept the agent from stopping. The same text in a tool's own entry is a copy.

use atm_wire::json::Object;

use crate::shown::{Shape, Shown, is_ours, texts_with_tools, time_if, unescaped};

/// Around a hook's text.
const HOOK_CONTEXT: &str = "<hook_context>";

/// What a line shows to the model, if it does.
pub(super) fn shown(line: &str, _: bool) -> Option<Shown> {
    let entry = Object::parse(line).ok()?;
    if entry.string("type")? != "user" {
        return None;
    }
    let texts = texts_with_tools(entry.get("content")?);
    let of_hook = |text: &String| text.contains(HOOK_CONTEXT) || is_ours(text);
    let shown = if texts.iter().any(of_hook) {
        Shown::listed(texts.iter().map(|text| unescaped(text)).collect())?
    } else {
        Shown { shape: Shape::Framed, texts, ..Shown::default() }
    };
    Some(shown.of(&entry, "id"))
}

/// When a line was written, if it is a part of the model's answer.
pub(super) fn answered(line: &str) -> Option<i64> {
    time_if(line, "gemini")
}
