//! A value under examination: its text, where it begins, and where findings about it go.

use serde_json::value::RawValue;

use super::finding::{Finding, Findings, Place};
use super::rules::Rule;
use crate::json::{Object, span, string};
use crate::name::excerpt;

/// Deeper than this many parsers do not go.
const DEEPEST: usize = 128;

/// A text that is one JSON value, and what is known of its place.
pub(super) struct Scope<'a, 'f> {
    pub(super) text: &'a str,
    start: Place,
    entry: Option<u64>,
    path: String,
    /// How far places were counted last: values are mostly looked at in their order.
    counted: (usize, Place),
    pub(super) findings: &'f mut Findings,
}

impl<'a, 'f> Scope<'a, 'f> {
    /// A value that begins at `start`.
    pub(super) fn new(
        text: &'a str,
        start: Place,
        entry: Option<u64>,
        path: String,
        findings: &'f mut Findings,
    ) -> Self {
        Self { text, start, entry, path, counted: (0, start), findings }
    }

    /// A value inside this one.
    pub(super) fn inside<'s>(&'s mut self, part: &'a str, path: &str) -> Scope<'a, 's> {
        let start = self.place_of(part);
        let path = format!("{}{path}", self.path);
        Scope { text: part, start, entry: self.entry, path, counted: (0, start), findings: self.findings }
    }

    fn place_of(&mut self, part: &str) -> Place {
        let at = span(self.text, part).start;
        let (from, place) = if self.counted.0 <= at { self.counted } else { (0, self.start) };
        let place = place.after(&self.text.as_bytes()[from..at]);
        self.counted = (at, place);
        place
    }

    /// Something about the value as a whole.
    pub(super) fn whole(&mut self, rule: Rule, message: impl FnOnce() -> String) {
        let (place, entry) = (Some(self.start), self.entry);
        let path = Some(self.path.clone()).filter(|path| !path.is_empty());
        self.findings.add(rule, || Finding { rule, place, entry, path, message: message() });
    }

    /// Something about a part of it. An empty `key` means an index that is already in the path.
    pub(super) fn at(&mut self, rule: Rule, part: &str, key: &str, message: impl FnOnce() -> String) {
        let place = Some(self.place_of(part));
        let path = Some(format!("{}{}", self.path, member_path(key)));
        let entry = self.entry;
        self.findings.add(rule, || Finding { rule, place, entry, path, message: message() });
    }

    /// What holds for every JSON text: its depth, halves of characters.
    pub(super) fn check_text(&mut self) {
        let (depth, lone) = survey(self.text);
        if depth > DEEPEST {
            self.whole(Rule::Deep, || format!("is nested {depth} levels deep"));
        }
        if let Some(at) = lone {
            let part = &self.text[at..];
            let escape: String = part.chars().take(6).collect();
            self.at(Rule::LoneSurrogate, part, "", || format!("holds {escape}, half of a character"));
        }
    }

    /// Reports keys that stand twice.
    pub(super) fn check_keys(&mut self, object: &Object<'a>) {
        let mut seen = std::collections::HashSet::new();
        for (key, value) in object.iter() {
            if !seen.insert(key) {
                self.at(Rule::RepeatedKey, value.get(), key, || format!("has `{}` twice", excerpt(key)));
            }
        }
    }

    /// The string at `key`, or a finding if it is something else; nothing if it is not there.
    pub(super) fn text_at(
        &mut self,
        object: &Object<'a>,
        key: &str,
        rule: Rule,
    ) -> Option<std::borrow::Cow<'a, str>> {
        let raw = object.get(key)?;
        let text = string(raw);
        if text.is_none() {
            self.wrong_type(rule, raw, key, "a string");
        }
        text
    }

    /// A value that is not what it should be.
    pub(super) fn wrong_type(&mut self, rule: Rule, raw: &'a RawValue, key: &str, wanted: &str) {
        self.at(rule, raw.get(), key, || format!("has a `{key}` that is {}, not {wanted}", kind_of(raw)));
    }

    /// An object is wanted at `key`; anything else but nothing is a finding.
    pub(super) fn object_at(&mut self, object: &Object<'a>, key: &str, rule: Rule) {
        if let Some(raw) = object.get(key).filter(|raw| !raw.get().starts_with('{')) {
            self.wrong_type(rule, raw, key, "an object");
        }
    }
}

/// `.key`, or `["odd key"]`.
fn member_path(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() {
        String::new()
    } else if key.chars().all(plain) && !key.starts_with(|c: char| c.is_ascii_digit()) {
        format!(".{key}")
    } else {
        format!("[{}]", serde_json::Value::from(excerpt(key)))
    }
}

/// What kind of value it is.
pub(super) fn kind_of(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => "a number",
    }
}

/// The depth of a JSON text, and where a surrogate without its other half stands.
fn survey(text: &str) -> (usize, Option<usize>) {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut deepest, mut lone) = (0, 0usize, 0, None);
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => {
                let unit = unit_at(bytes, at);
                let is =
                    |unit: Option<u32>, kinds: std::ops::Range<u32>| unit.is_some_and(|u| kinds.contains(&u));
                if is(unit, 0xd800..0xdc00) && is(unit_at(bytes, at + 6), 0xdc00..0xe000) {
                    at += 12;
                    continue;
                }
                if is(unit, 0xd800..0xe000) {
                    lone = lone.or(Some(at));
                }
                at += 1;
            }
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    (deepest, lone)
}

/// The number of a `\uXXXX` that stands at `at`.
fn unit_at(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_halves_of_characters() {
        assert_eq!(survey(r#"{"a":[{"b":"[[[["}]}"#), (3, None));
        assert_eq!(survey(r#""\ud83d\ude00""#), (0, None));
        assert_eq!(survey(r#""ab\ud83d""#), (0, Some(3)));
        assert_eq!(survey(r#""\\ud83d""#), (0, None), "an escaped backslash");
        assert_eq!(survey(r#""\ude00""#), (0, Some(1)));
    }

    #[test]
    fn paths_are_such_as_jq_takes() {
        assert_eq!(member_path("model"), ".model");
        assert_eq!(member_path("odd key"), "[\"odd key\"]");
        assert_eq!(member_path(""), "");
    }
}
