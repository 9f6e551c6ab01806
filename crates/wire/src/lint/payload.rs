//! The rules of payloads: what each type cannot do without.

use serde_json::value::RawValue;

use super::rules::Rule;
use super::scope::{Scope, kind_of};
use crate::json::{Object, string};
use crate::message::Message;
use crate::name::excerpt;
use crate::payload::Payload;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// An id, a name: text or a number.
    Word,
    Flag,
    Many,
}

/// A field in every spelling, and what it holds.
type Need = (&'static [&'static str], Wanted);

/// What each type needs.
const NEEDS: &[(&str, &[Need])] = &[
    ("task_assignment", &[(&["taskId", "task_id"], Wanted::Word)]),
    ("task_status_request", &[(&["taskId", "task_id"], Wanted::Word)]),
    ("task_status_response", &[(&["taskId", "task_id"], Wanted::Word), (&["status"], Wanted::Word)]),
    ("task_completion", &[(&["taskId", "task_id"], Wanted::Word)]),
    (
        "blocking_notification",
        &[(&["taskId", "task_id"], Wanted::Word), (&["blockedBy", "blocked_by"], Wanted::Many)],
    ),
    ("acknowledgment", &[(&["ackId", "ack_id", "messageId"], Wanted::Word)]),
    ("shutdown_request", &[(&["requestId", "request_id"], Wanted::Word)]),
    (
        "shutdown_response",
        &[(&["requestId", "request_id"], Wanted::Word), (&["approved", "approve"], Wanted::Flag)],
    ),
    ("shutdown_approved", &[(&["requestId", "request_id"], Wanted::Word)]),
    ("shutdown_rejected", &[(&["requestId", "request_id"], Wanted::Word)]),
    ("plan_approval_request", &[(&["requestId", "request_id"], Wanted::Word)]),
    (
        "plan_approval_response",
        &[(&["requestId", "request_id"], Wanted::Word), (&["approve", "approved"], Wanted::Flag)],
    ),
    ("health_check", &[(&["request_id", "requestId"], Wanted::Word)]),
    ("stall_alert", &[(&["stalled_agent", "stalledAgent"], Wanted::Word)]),
];

/// Checks the payload that a text is, if it is one.
pub(super) fn check(scope: &mut Scope<'_, '_>, message: &Object<'_>, key: &str, text: &str) {
    if !text.starts_with('{') {
        return;
    }
    let raw = message.get(key).map_or("", |raw| raw.get());
    let payload = match Object::parse(text) {
        Ok(payload) => payload,
        Err(error) => {
            // Words may begin with a brace; a type is what makes a payload.
            if text.contains("\"type\"") {
                scope.at(Rule::PayloadNotJson, raw, key, || {
                    format!("has a text that begins like a payload: {}", super::message::bare(&error))
                });
            }
            return;
        }
    };
    let inner = payload.string("type");
    let outer =
        message.string("type").filter(|kind| *kind != "message" && Payload::KINDS.contains(&kind.as_ref()));
    let Some(kind) = inner.or(outer) else { return };
    check_fields(scope, raw, key, &kind, &payload);
    if let (Some(from), Some(said)) = (message.string("from"), payload.string("from"))
        && from != said
    {
        scope.at(Rule::PayloadOtherSender, raw, key, || {
            format!("is from \"{}\" with a payload from \"{}\"", excerpt(&from), excerpt(&said))
        });
    }
}

/// Checks the content of a log line.
pub(super) fn check_object(
    scope: &mut Scope<'_, '_>,
    content: &RawValue,
    key: &str,
    kind: &str,
    message: &Message,
) {
    // The reader puts the request's id of the line into the payload: that is what counts.
    if let Ok(payload) = Object::parse(&message.text) {
        check_fields(scope, content.get(), key, kind, &payload);
    }
}

fn check_fields(scope: &mut Scope<'_, '_>, raw: &str, key: &str, kind: &str, payload: &Object<'_>) {
    if !Payload::KINDS.contains(&kind) {
        scope.at(Rule::PayloadUnknown, raw, key, || format!("has a payload of type \"{}\"", excerpt(kind)));
        return;
    }
    let needs = NEEDS.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, needs)| needs);
    for (spellings, wanted) in needs {
        let Some((spelling, value)) = spellings.iter().find_map(|key| Some((key, payload.get(key)?))) else {
            scope.at(Rule::PayloadLacks, raw, key, || format!("has a {kind} without `{}`", spellings[0]));
            continue;
        };
        let number = value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let (fits, said) = match wanted {
            Wanted::Word => (number || string(value).is_some(), "a string"),
            Wanted::Flag => (matches!(value.get(), "true" | "false" | "\"true\"" | "\"false\""), "a boolean"),
            Wanted::Many => (value.get().starts_with('[') || string(value).is_some(), "an array"),
        };
        if !fits {
            scope.at(Rule::PayloadWrongType, raw, key, || {
                format!("has a {kind} whose `{spelling}` is {}, not {said}", kind_of(value))
            });
        }
    }
}
