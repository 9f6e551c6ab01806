//! Checking what other programs wrote against the rules of its format.
//!
//! Every parser here is lenient; this is where one hears what it was lenient about. Nothing is changed, nothing is read
//! from disk. Inboxes are checked in pieces ([`ArrayLint`], [`LogLint`]) with one entry in memory at a time; other
//! documents are small, and are given whole to [`check_document`].

mod array;
mod cursor;
mod finding;
mod lines;
mod message;
mod payload;
mod rules;
mod scope;
mod task;
mod team;
mod time;

pub use array::ArrayLint;
pub use finding::{Counts, Finding, Findings, Place};
pub use lines::LogLint;
pub use payload::flaws as payload_flaws;
pub use rules::{Level, Rule};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::json::Object;
use scope::{Scope, kind_of};

/// The largest entry, line or document that is looked into.
pub const LARGEST: usize = 8 << 20;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `config.json`.
    Team,
    /// `inboxes/<name>.json`.
    Array,
    /// `members/<name>/inbox`.
    Log,
    /// `members/<name>/state.json`.
    Cursor,
    /// `tasks/<team>/<id>.json`.
    Task,
    /// `tasks/<team>/<name>/task-status.json`.
    Status,
    /// Our own settings.
    Settings,
}

/// Checks a whole document of one of the formats that are one object. `owner` is what the place in the tree says: the
/// team's folder, the task's number, the member.
pub fn check_document(format: Format, bytes: &[u8], owner: Option<&str>) -> Findings {
    let mut findings = Findings::default();
    let add = |findings: &mut Findings, rule: Rule, place: Option<Place>, message: String| {
        findings.add(rule, || Finding { place, ..Finding::of_file(rule, message) });
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        add(&mut findings, Rule::Empty, None, "is empty".to_owned());
        return findings;
    }
    if bytes.iter().all(|byte| *byte == 0) {
        add(&mut findings, Rule::ZeroBytes, None, "holds nothing but zero bytes".to_owned());
        return findings;
    }
    let mut bytes = bytes;
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        add(
            &mut findings,
            Rule::ByteOrderMark,
            Some(Place::default()),
            "starts with a byte order mark".to_owned(),
        );
        bytes = rest;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let place = Place::default().after(&bytes[..error.valid_up_to()]);
            add(
                &mut findings,
                Rule::NotUtf8,
                Some(place),
                format!("is not UTF-8 at byte {}", error.valid_up_to()),
            );
            return findings;
        }
    };
    let raw: &RawValue = match serde_json::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            let at = message::offset(text, error.line(), error.column());
            let place = Place::default().after(&text.as_bytes()[..at]);
            let rule = if text.contains('\0') { Rule::ZeroBytes } else { Rule::NotJson };
            add(&mut findings, rule, Some(place), format!("is not valid JSON: {}", message::bare(&error)));
            return findings;
        }
    };
    let start = Place::default().after(&text.as_bytes()[..crate::json::span(text, raw.get()).start]);
    let mut scope = Scope::new(raw.get(), start, None, String::new(), &mut findings);
    scope.check_text();
    if !raw.get().starts_with('{') {
        scope.whole(Rule::WrongShape, || format!("is {}, not an object", kind_of(raw)));
        return findings;
    }
    let object = match Object::parse(raw.get()) {
        Ok(object) => object,
        Err(error) => {
            scope.whole(Rule::NotJson, || format!("cannot be read: {}", message::bare(&error)));
            return findings;
        }
    };
    scope.check_keys(&object);
    match format {
        Format::Team => team::check(&mut scope, &object, owner),
        Format::Cursor => cursor::check(&mut scope, &object),
        Format::Task => task::check(&mut scope, &object, owner),
        Format::Status => task::check_status(&mut scope, &object, owner),
        // Inboxes are no single document, and settings are not JSON.
        Format::Array | Format::Log | Format::Settings => {}
    }
    findings
}

#[cfg(test)]
mod tests;
