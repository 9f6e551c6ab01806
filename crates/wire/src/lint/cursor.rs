//! The rules of a log inbox's cursor.

use super::rules::Rule;
use super::scope::{Scope, kind_of};
use crate::json::{Object, integer, string};
use crate::stamp::Stamp;

/// Checks a `state.json`.
pub(super) fn check(scope: &mut Scope<'_, '_>, object: &Object<'_>) {
    let key = "lastProcessedLine";
    match object.get(key) {
        None => scope.whole(Rule::CursorLine, || format!("has no `{key}`")),
        Some(raw) => match integer(raw) {
            Some(line) if line < 0 => {
                scope.at(Rule::CursorLine, raw.get(), key, || format!("has `{key}` {line}, below 0"));
            }
            Some(_) if string(raw).is_some() => {
                scope.at(Rule::CursorSpelling, raw.get(), key, || format!("has `{key}` as a string"));
            }
            Some(_) => {}
            None => scope.at(Rule::CursorLine, raw.get(), key, || {
                format!("has a `{key}` that is {}, not a whole number", kind_of(raw))
            }),
        },
    }
    let key = "lastProcessedTimestamp";
    if let Some(raw) = object.get(key).filter(|raw| raw.get() != "null")
        && let Err(error) = Stamp::from_json(raw.get())
    {
        scope.at(Rule::CursorTime, raw.get(), key, || format!("has a `{key}` that is no time: {error}"));
    }
}
