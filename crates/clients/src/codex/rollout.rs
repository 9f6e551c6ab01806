//! Conversations of Codex: rollouts, a line each for what was sent to the model and for what was only shown to the user.
//!
//! | `response_item` with a message | what it shows |
//! |---|---|
//! | `developer`; `user` in `<hook_prompt …>` | what our hook said, in a turn and at a stop |
//! | `user` | what was typed or queued |
//!
//! An `event_msg` repeats what is elsewhere.

use atm_wire::json::Object;

use crate::shown::{Shape, Shown, below, is_ours, texts_of, time_of};

/// Around the reason for which a hook keeps it from stopping.
const HOOK_PROMPT: &str = "<hook_prompt ";

/// What a line shows to the model, if it does.
pub(super) fn shown(line: &str, _: bool) -> Option<Shown> {
    let entry = Object::parse(line).ok()?;
    if entry.string("type")? != "response_item" {
        return None;
    }
    let payload =
        below(&entry, "payload").filter(|payload| payload.string("type").as_deref() == Some("message"))?;
    let texts = texts_of(payload.get("content")?);
    let shown = match payload.string("role")?.as_ref() {
        "developer" => Shown::listed(texts)?,
        "user" if texts.iter().any(|text| text.starts_with(HOOK_PROMPT) || is_ours(text)) => {
            Shown::listed(texts)?
        }
        "user" => Shown { shape: Shape::Framed, texts, ..Shown::default() },
        _ => return None,
    };
    let id = payload.string("id").map(std::borrow::Cow::into_owned);
    Some(Shown { entry: id, ..shown.of(&entry, "id") })
}

/// When a line was written, if it is a part of the model's answer.
pub(super) fn answered(line: &str) -> Option<i64> {
    let entry = Object::parse(line).ok()?;
    let payload =
        below(&entry, "payload").filter(|_| entry.string("type").as_deref() == Some("response_item"))?;
    time_of(&entry).filter(|_| payload.string("role").as_deref() == Some("assistant"))
}
