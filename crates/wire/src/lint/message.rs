//! The rules of messages, in either layout.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::value::RawValue;

use super::payload;
use super::rules::Rule;
use super::scope::{Scope, kind_of};
use crate::color::Color;
use crate::json::{Object, string};
use crate::message::{ENTRY_KEYS, Flaw, Message};
use crate::name::{MemberName, excerpt};
use crate::stamp::Stamp;

/// The ids that were seen, as hashes: a large inbox has many.
pub(super) type Seen = HashSet<u64>;

/// The entry cannot be parsed, so nothing behind it can be made sense of.
pub(super) struct Broken;

const LINE_KEYS: [&str; 14] = [
    "type",
    "from",
    "to",
    "timestamp",
    "content",
    "messageId",
    "msg_id",
    "msgV",
    "requestId",
    "request_id",
    "summary",
    "color",
    "delivery_status",
    "metadata",
];

/// Checks an entry of an array inbox.
pub(super) fn check_entry(scope: &mut Scope<'_, '_>, seen: &mut Seen) -> Result<(), Broken> {
    let Some(object) = object(scope, Rule::NotJson, Rule::EntryNotObject)? else { return Ok(()) };
    for key in ["from", "text", "timestamp"] {
        match object.get(key) {
            None => scope.whole(Rule::MessageLacks, || format!("has no `{key}`")),
            Some(raw) if string(raw).is_none() => {
                scope.wrong_type(Rule::MessageWrongType, raw, key, "a string");
            }
            Some(_) => {}
        }
    }
    match object.get("read") {
        None => scope.whole(Rule::ReadMissing, || "has no `read`".to_owned()),
        Some(raw) if matches!(raw.get(), "true" | "false") => {}
        Some(raw) => scope.wrong_type(Rule::ReadNotBoolean, raw, "read", "a boolean"),
    }
    check_common(scope, &object, seen, &ENTRY_KEYS);
    if let Some(text) = object.string("text") {
        payload::check(scope, &object, "text", &text);
    }
    Ok(())
}

/// Checks a line of the log inbox of `name`.
pub(super) fn check_line(scope: &mut Scope<'_, '_>, name: Option<&str>, seen: &mut Seen) {
    let Ok(Some(object)) = object(scope, Rule::LineNotJson, Rule::LineNotObject) else { return };
    let of_array = object.get("content").is_none() && object.string("text").is_some();
    if of_array {
        scope.whole(Rule::LineOfArray, || "is an entry of an array inbox".to_owned());
    }
    let wanted: &[&str] =
        if of_array { &["from", "timestamp"] } else { &["type", "from", "timestamp", "content"] };
    for key in wanted {
        match object.get(key) {
            None => scope.whole(Rule::LineLacks, || format!("has no `{key}`")),
            Some(raw) if *key == "timestamp" && Stamp::from_json(raw.get()).is_ok() => {}
            Some(raw) if *key != "content" && string(raw).is_none() => {
                scope.wrong_type(Rule::LineWrongType, raw, key, "a string");
            }
            Some(_) => {}
        }
    }
    match (object.string("to"), name) {
        (None, _) if of_array => {}
        (None, _) => scope.whole(Rule::LineNoRecipient, || "has no `to`".to_owned()),
        (Some(to), Some(name)) if to != name && to != "all" => {
            let raw = object.get("to").map_or("", |raw| raw.get());
            scope.at(Rule::LineElsewhere, raw, "to", || format!("is for \"{}\"", excerpt(&to)));
        }
        _ => {}
    }
    check_common(scope, &object, seen, if of_array { &ENTRY_KEYS } else { &LINE_KEYS });
    match object.get("content") {
        Some(raw) if !raw.get().starts_with('{') => {
            scope.at(Rule::LineContent, raw.get(), "content", || {
                format!("has a `content` that is {}", kind_of(raw))
            });
        }
        Some(raw) => {
            if let Ok(message) = Message::from_line(scope.text) {
                let kind = object.string("type").unwrap_or_default();
                payload::check_object(scope, raw, "content", &kind, &message);
            }
        }
        None => {}
    }
}

/// The object that an entry or line is.
fn object<'a>(
    scope: &mut Scope<'a, '_>,
    not_json: Rule,
    not_object: Rule,
) -> Result<Option<Object<'a>>, Broken> {
    if let Err(error) = serde_json::from_str::<&RawValue>(scope.text) {
        let rule =
            if scope.text.contains('\0') && not_json == Rule::NotJson { Rule::ZeroBytes } else { not_json };
        let at = offset(scope.text, error.line(), error.column());
        scope.at(rule, &scope.text[at..], "", || format!("is not valid JSON: {}", bare(&error)));
        return Err(Broken);
    }
    scope.check_text();
    if !scope.text.starts_with('{') {
        let flaw = Flaw::not_an_object(scope.text);
        scope.whole(not_object, || flaw.to_string());
        return Ok(None);
    }
    match Object::parse(scope.text) {
        Ok(object) => {
            scope.check_keys(&object);
            Ok(Some(object))
        }
        // A key that is no text: valid, and nobody can read it.
        Err(error) => {
            scope.whole(not_json, || format!("cannot be read: {}", bare(&error)));
            Ok(None)
        }
    }
}

/// What entries and lines have in common.
fn check_common(scope: &mut Scope<'_, '_>, object: &Object<'_>, seen: &mut Seen, known: &[&str]) {
    let raw = |key: &str| object.get(key).map_or("", |raw| raw.get());
    if let Some(from) = object.string("from")
        && let Err(error) = MemberName::parse(&from)
    {
        scope.at(Rule::SenderUnusable, raw("from"), "from", || error.to_string());
    }
    if let Some(stamp) = object.get("timestamp")
        && let Some(spelling) = string(stamp)
    {
        match Stamp::parse(&spelling) {
            Err(error) => scope.at(Rule::TimeUnknown, stamp.get(), "timestamp", || error.to_string()),
            Ok(time) if time.to_string() != spelling => {
                scope.at(Rule::TimeSpelling, stamp.get(), "timestamp", || {
                    format!("has the time as \"{}\"", excerpt(&spelling))
                });
            }
            Ok(_) => {}
        }
    }
    for key in ["summary", "color", "type", "messageId", "msg_id", "ackId"] {
        let required = key == "type" && known.contains(&"content");
        let odd = |raw: &&RawValue| !required && string(raw).is_none() && raw.get() != "null";
        if let Some(raw) = object.get(key).filter(odd) {
            scope.at(Rule::OptionalWrongType, raw.get(), key, || {
                format!("has a `{key}` that is {}, not a string", kind_of(raw))
            });
        }
    }
    if let Some(metadata) = object.get("metadata").filter(|raw| !raw.get().starts_with('{')) {
        scope.at(Rule::OptionalWrongType, metadata.get(), "metadata", || {
            format!("has a `metadata` that is {}, not an object", kind_of(metadata))
        });
    }
    if let Some(Color::Other(spelling)) = object.string("color").map(|color| Color::parse(&color)) {
        scope.at(Rule::ColorUnknown, raw("color"), "color", || {
            format!("has the colour \"{}\"", excerpt(&spelling))
        });
    }
    match object.string("delivery_status").as_deref() {
        None | Some("delivered" | "queued") => {}
        Some(other) => scope.at(Rule::DeliveryUnknown, raw("delivery_status"), "delivery_status", || {
            format!("has the delivery status \"{}\"", excerpt(other))
        }),
    }
    check_ids(scope, object, seen);
    for key in ["text", "summary"] {
        let shown = object.string(key).unwrap_or_default();
        if let Some(bad) = shown.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            scope.at(Rule::ControlCharacters, raw(key), key, || {
                format!("has U+{:04X} in its `{key}`", u32::from(bad))
            });
        }
    }
    // Foreign clients ask for acknowledgments by that key, which we keep as it is.
    for (key, value) in object.iter().filter(|(key, _)| !known.contains(key) && *key != "ackId") {
        scope.at(Rule::MessageExtraKey, value.get(), key, || format!("has the key `{}`", excerpt(key)));
    }
}

fn check_ids(scope: &mut Scope<'_, '_>, object: &Object<'_>, seen: &mut Seen) {
    let id = |key: &str| object.string(key).filter(|id| !id.is_empty());
    let raw = |key: &str| object.get(key).map_or("", |raw| raw.get());
    let (ours, theirs) = (id("messageId"), id("msg_id"));
    let key = if ours.is_some() { "messageId" } else { "msg_id" };
    match (&ours, &theirs) {
        (None, None) => {
            scope.whole(Rule::NoId, || "has no id".to_owned());
            return;
        }
        (Some(ours), Some(theirs)) if ours != theirs => {
            scope.at(Rule::TwoIds, raw("msg_id"), "msg_id", || {
                format!("has the ids \"{}\" and \"{}\"", excerpt(ours), excerpt(theirs))
            });
        }
        _ => {}
    }
    let Some(id) = ours.or(theirs) else { return };
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    if !seen.insert(hasher.finish()) {
        scope.at(Rule::RepeatedId, raw(key), key, || {
            format!("has the id \"{}\" of another message", excerpt(&id))
        });
    }
}

/// Where in `text` a parser's line and column are. Its columns are bytes.
pub(super) fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What a parser says, without its own idea of the place.
pub(super) fn bare(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}
