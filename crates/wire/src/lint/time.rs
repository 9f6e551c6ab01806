//! Times, in the spellings of all programs.

use super::rules::Rule;
use super::scope::Scope;
use crate::json::Object;
use crate::stamp::Stamp;

/// The time at `key`, if it is one.
pub(super) fn read(object: &Object<'_>, key: &str) -> Option<Stamp> {
    Stamp::from_json(object.get(key)?.get()).ok()
}

/// Checks the time at `key`, if there is one: `bad` where it is none, `number` where it is spelled as one.
pub(super) fn check(scope: &mut Scope<'_, '_>, object: &Object<'_>, key: &str, bad: Rule, number: Rule) {
    let Some(raw) = object.get(key) else { return };
    match Stamp::from_json(raw.get()) {
        Err(error) => scope.at(bad, raw.get(), key, || format!("has a `{key}` that is no time: {error}")),
        Ok(_) if !raw.get().starts_with('"') => {
            scope.at(number, raw.get(), key, || format!("has `{key}` as a number"));
        }
        Ok(_) => {}
    }
}
