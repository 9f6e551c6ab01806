//! The rules of payloads: what each type cannot do without.

use serde_json::value::RawValue;

use super::rules::Rule;
use super::scope::{Scope, kind_of};
use crate::json::{Object, string};
use crate::message::Message;
use crate::name::excerpt;
use crate::payload::{Parsed, Payload};

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// An id, a name: text or a number.
    Word,
    Flag,
    Many,
}

impl Wanted {
    fn fits(self, value: &RawValue) -> bool {
        let number = value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        match self {
            Self::Word => number || string(value).is_some(),
            Self::Flag => matches!(value.get(), "true" | "false" | "\"true\"" | "\"false\""),
            Self::Many => value.get().starts_with('[') || string(value).is_some(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Word => "a string",
            Self::Flag => "a boolean",
            Self::Many => "an array",
        }
    }
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

/// What more a payload needs that is sent: readers know it, and what is written already is not called bad for it.
const NEEDS_TO_BE_SENT: &[(&str, &[Need])] = &[
    ("idle_notification", &[(&["idleReason", "reason", "idle_reason"], Wanted::Word)]),
    ("task_assignment", &[(&["subject"], Wanted::Word)]),
    ("message", &[(&["text", "content", "message"], Wanted::Word)]),
    ("team_broadcast", &[(&["text", "content", "message"], Wanted::Word)]),
    ("plan_approval_request", &[(&["plan", "planContent", "plan_content"], Wanted::Word)]),
];

/// What a payload of a known type lacks or has in another type than its readers expect, each in words.
pub fn flaws(payload: &Parsed) -> Vec<String> {
    let (kind, object) = (payload.payload.kind(), Object::parse(payload.raw()).unwrap_or_default());
    let needs = |table: &'static [(&str, &'static [Need])]| {
        table.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, needs)| needs)
    };
    let flaw =
        |(spellings, wanted): &Need| match spellings.iter().find_map(|key| Some((key, object.get(key)?))) {
            None => Some(format!("it has no `{}`", spellings[0])),
            Some((key, value)) if !wanted.fits(value) => {
                Some(format!("its `{key}` is {}, not {}", kind_of(value), wanted.words()))
            }
            Some(_) => None,
        };
    needs(NEEDS).iter().chain(needs(NEEDS_TO_BE_SENT)).filter_map(flaw).collect()
}

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
        if !wanted.fits(value) {
            scope.at(Rule::PayloadWrongType, raw, key, || {
                format!("has a {kind} whose `{spelling}` is {}, not {}", kind_of(value), wanted.words())
            });
        }
    }
}
