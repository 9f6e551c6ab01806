//! Edits as replacements in the original text.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use serde_json::value::RawValue;

use super::scan::{Object, span};
use super::style::{Style, indent_of, line_indent, newline_of, opening_gap};

/// A list of replacements in a text; every byte outside them stays.
#[derive(Debug, Default, Clone)]
pub struct Patch {
    splices: Vec<(Range<usize>, String)>,
}

impl Patch {
    /// Replaces `range` by `with`. Ranges must not overlap.
    pub fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.splices.push((range, with.into()));
    }

    /// Takes over the replacements of another patch of the same text.
    pub fn merge(&mut self, other: Patch) {
        self.splices.extend(other.splices);
    }

    /// How many replacements there are.
    pub fn len(&self) -> usize {
        self.splices.len()
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// The new text in pieces, so that a large text is written without being built in memory.
    pub fn pieces<'a>(&'a mut self, text: &'a str) -> Vec<&'a str> {
        self.splices.sort_by_key(|(range, _)| (range.start, range.end));
        let mut pieces = Vec::with_capacity(self.splices.len() * 2 + 1);
        let mut at = 0;
        for (range, with) in &self.splices {
            pieces.push(text.get(at..range.start).unwrap_or_default());
            pieces.push(with.as_str());
            at = range.end.max(at);
        }
        pieces.push(text.get(at..).unwrap_or_default());
        pieces
    }

    /// The new text.
    pub fn apply(mut self, text: &str) -> String {
        self.pieces(text).concat()
    }
}

/// Adds `new` behind the last element of `array`, a value that stands in `text`, in the array's own layout.
pub fn append<T: Serialize>(
    text: &str,
    array: &str,
    elements: &[&RawValue],
    new: &[T],
) -> Result<Patch, serde_json::Error> {
    let mut patch = Patch::default();
    if new.is_empty() {
        return Ok(patch);
    }
    let place = span(text, array);
    let Some(last) = elements.last() else {
        let parent = line_indent(text, place.start);
        let style = Style::two_spaces(&format!("{parent}  "));
        let rendered: Vec<_> = new.iter().map(|value| style.render(value)).collect::<Result<_, _>>()?;
        let body = rendered.join(&format!(",\n{parent}  "));
        patch.replace(place.start + 1..place.end - 1, format!("\n{parent}  {body}\n{parent}"));
        return Ok(patch);
    };
    let model = elements.iter().rev().find(|element| element.get().starts_with('{')).unwrap_or(last);
    let end = span(text, last.get()).end;
    patch.replace(end..end, addition(array, model.get(), new)?);
    Ok(patch)
}

/// What has to stand behind the last element of an array to add `new`: `array` begins with its bracket and may be
/// cut, `model` is the start of one of its elements.
pub fn addition<T: Serialize>(array: &str, model: &str, new: &[T]) -> Result<String, serde_json::Error> {
    let gap = opening_gap(array);
    let base = indent_of(gap);
    let style = Style::of_value(model, base.unwrap_or_default());
    let separator = match base {
        Some(base) => format!(",{}{base}", newline_of(gap)),
        None if style == Style::Compact => ",".to_owned(),
        None => ", ".to_owned(),
    };
    let mut added = String::new();
    for value in new {
        added.push_str(&separator);
        added.push_str(&style.render(value)?);
    }
    Ok(added)
}

/// Takes the elements at `indices` out of `array`, a value that stands in `text`.
pub fn remove(text: &str, array: &str, elements: &[&RawValue], indices: &BTreeSet<usize>) -> Patch {
    let mut patch = Patch::default();
    let place = span(text, array);
    let mut kept_before = false;
    if (0..elements.len()).all(|index| indices.contains(&index)) {
        patch.replace(place.start + 1..place.end - 1, "");
        return patch;
    }
    for (index, element) in elements.iter().enumerate() {
        let here = span(text, element.get());
        if !indices.contains(&index) {
            kept_before = true;
        } else if kept_before {
            patch.replace(span(text, elements[index - 1].get()).end..here.end, "");
        } else if let Some(next) = elements.get(index + 1) {
            patch.replace(here.start..span(text, next.get()).start, "");
        }
    }
    patch
}

/// Sets `key` of `object`, a value that stands in `text`, to `value`: in place, or behind the last member.
pub fn set_member<T: Serialize + ?Sized>(
    text: &str,
    object: &str,
    key: &str,
    value: &T,
) -> Result<Patch, serde_json::Error> {
    let mut patch = Patch::default();
    let place = span(text, object);
    let members = Object::parse(object)?;
    // Looking for the line's indentation is worth it only where the object has lines of its own: in a file that
    // is one long line it would scan all of it, once an edit.
    let base = if opening_gap(object).contains('\n') { line_indent(text, place.start) } else { "" };
    let inner = match Style::of_value(object, base) {
        Style::Pretty { base, unit, newline } => Style::Pretty { base: base + &unit, unit, newline },
        flat => flat,
    };
    let rendered = inner.render(value)?;
    let mut last = None;
    let mut found = false;
    for (name, old) in members.iter() {
        let old = span(text, old.get());
        last = Some(old.end);
        if name == key {
            found = true;
            patch.replace(old, rendered.clone());
        }
    }
    if found {
        return Ok(patch);
    }
    let key = serde_json::to_string(key)?;
    match (last, &inner) {
        (Some(end), Style::Pretty { base, newline, .. }) => {
            patch.replace(end..end, format!(",{newline}{base}{key}: {rendered}"));
        }
        (Some(end), Style::Spaced) => patch.replace(end..end, format!(", {key}: {rendered}")),
        (Some(end), Style::Compact) => patch.replace(end..end, format!(",{key}:{rendered}")),
        (None, _) => patch.replace(place.start + 1..place.end - 1, format!("{key}: {rendered}")),
    }
    Ok(patch)
}

/// Sets a value below `object`, which stands in `text`, by the way to it: `["metadata", "atm", "spawn"]`. What is missing
/// on the way is made; what stands there and is no object gives way.
pub fn set_below<T: Serialize + ?Sized>(
    text: &str,
    object: &str,
    path: &[&str],
    value: &T,
) -> Result<Patch, serde_json::Error> {
    let (Some(key), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
        return Ok(Patch::default());
    };
    if rest.is_empty() {
        return set_member(text, object, key, value);
    }
    if let Some(inner) = Object::parse(object)?.get(key).filter(|inner| inner.get().starts_with('{')) {
        return set_below(text, inner.get(), rest, value);
    }
    let wrap = |value, key: &&str| serde_json::json!({ *key: value });
    set_member(text, object, key, &rest.iter().rev().fold(serde_json::to_value(value)?, wrap))
}

/// Takes `key` out of `object`, a value that stands in `text`, wherever it stands there.
pub fn remove_member(text: &str, object: &str, key: &str) -> Result<Patch, serde_json::Error> {
    let mut patch = Patch::default();
    let place = span(text, object);
    let members = Object::parse(object)?;
    let members: Vec<_> =
        members.iter().map(|(name, value)| (name == key, span(text, value.get()).end)).collect();
    if !members.is_empty() && members.iter().all(|(goes, _)| *goes) {
        patch.replace(place.start + 1..place.end - 1, "");
        return Ok(patch);
    }
    let mut before = place.start + 1 + opening_gap(object).len();
    let mut kept_before = false;
    for (goes, end) in members {
        if !goes {
            kept_before = true;
        } else if kept_before {
            patch.replace(before..end, "");
        } else {
            // The first ones go with the comma behind them.
            let rest = &text[end..];
            let next = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', ',']).len();
            patch.replace(before..end + next, "");
            before = end + next;
            continue;
        }
        before = end;
    }
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::super::elements;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn appended(text: &str) -> String {
        let found = elements(text).unwrap();
        append(text, text.trim(), &found, &[json!({"a": 1, "b": "x"})]).unwrap().apply(text)
    }

    #[test]
    fn an_empty_array_gets_the_clients_layout() {
        assert_eq!(appended("[]"), "[\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  }\n]");
        assert_eq!(appended("[ \n ]\n"), "[\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  }\n]\n");
    }

    #[test]
    fn the_files_own_layout_is_followed() {
        let pretty = "[\n  {\n    \"z\": 1E2\n  }\n]";
        assert_eq!(
            appended(pretty),
            "[\n  {\n    \"z\": 1E2\n  },\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  }\n]"
        );
        assert_eq!(appended(r#"[{"z":"y"}]"#), r#"[{"z":"y"},{"a":1,"b":"x"}]"#);
        assert_eq!(appended(r#"[{"z": "y"}, {"z": 2}]"#), r#"[{"z": "y"}, {"z": 2}, {"a": 1, "b": "x"}]"#);
        assert_eq!(appended("[\n{\"z\":\"y\"}\n]"), "[\n{\"z\":\"y\"},\n{\"a\":1,\"b\":\"x\"}\n]");
        assert_eq!(
            appended("[\r\n\t{\r\n\t\t\"z\": 1\r\n\t}\r\n]"),
            "[\r\n\t{\r\n\t\t\"z\": 1\r\n\t},\r\n\t{\r\n\t\t\"a\": 1,\r\n\t\t\"b\": \"x\"\r\n\t}\r\n]"
        );
        assert_eq!(appended("[null]"), "[null,{\"a\":1,\"b\":\"x\"}]");
    }

    #[test]
    fn a_member_is_set_in_place_or_added_last() {
        let set = |text: &str, key| set_member(text, text, key, &true).unwrap().apply(text);
        assert_eq!(set(r#"{"read":false,"n":1.0}"#, "read"), r#"{"read":true,"n":1.0}"#);
        assert_eq!(set(r#"{"read":false,"read":null}"#, "read"), r#"{"read":true,"read":true}"#);
        assert_eq!(set(r#"{"n":"1"}"#, "read"), r#"{"n":"1","read":true}"#);
        assert_eq!(set("{\n  \"n\": 1\n}", "read"), "{\n  \"n\": 1,\n  \"read\": true\n}");
        assert_eq!(set("{}", "read"), r#"{"read": true}"#);
    }

    #[test]
    fn a_member_is_taken_out_with_its_comma() {
        let without = |text: &str| remove_member(text, text.trim(), "k").unwrap().apply(text);
        assert_eq!(without(r#"{"k":1,"n":2}"#), r#"{"n":2}"#);
        assert_eq!(without(r#"{"n":2, "k":1}"#), r#"{"n":2}"#);
        assert_eq!(without(r#"{"k":0,"k":1,"n":2,"k":[3],"m":4}"#), r#"{"n":2,"m":4}"#);
        assert_eq!(without(" {\n  \"k\": 1\n} "), " {} ");
        assert_eq!(without("{\n  \"k\": 1 ,\n  \"n\": 2\n}"), "{\n  \"n\": 2\n}");
        assert_eq!(without("{\n  \"n\": 2,\n  \"k\": 1\n}"), "{\n  \"n\": 2\n}");
        assert_eq!(without(r#"{"n":1E2}"#), r#"{"n":1E2}"#);
        assert_eq!(without("{ }"), "{ }");
    }

    #[test]
    fn an_array_inside_an_object_grows_at_its_depth() {
        let text = "{\n  \"name\": \"x\",\n  \"members\": []\n}";
        let array = Object::parse(text).unwrap().get("members").unwrap().get();
        let grown = append(text, array, &[], &[json!({"a": 1})]).unwrap().apply(text);
        assert_eq!(grown, "{\n  \"name\": \"x\",\n  \"members\": [\n    {\n      \"a\": 1\n    }\n  ]\n}");
    }

    proptest! {
        #[test]
        fn removing_leaves_the_others_as_they_were(
            numbers in prop::collection::vec(any::<i32>(), 0..12),
            gone in prop::collection::btree_set(0usize..12, 0..12),
            pretty in any::<bool>(),
        ) {
            let text = if pretty { serde_json::to_string_pretty(&numbers) } else { serde_json::to_string(&numbers) }.unwrap();
            let found = elements(&text).unwrap();
            let left: Vec<i32> = serde_json::from_str(&remove(&text, &text, &found, &gone).apply(&text)).unwrap();
            let expected: Vec<i32> =
                numbers.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, n)| *n).collect();
            prop_assert_eq!(left, expected);
        }

        #[test]
        fn appending_keeps_every_byte_before(values in prop::collection::vec("[ -~]{0,8}", 0..6), spaced in any::<bool>()) {
            let values: Vec<_> = values.into_iter().map(|v| json!({"k": v})).collect();
            let text = if spaced { Style::Spaced.render(&values) } else { serde_json::to_string_pretty(&values) }.unwrap();
            let found = elements(&text).unwrap();
            let grown = append(&text, &text, &found, &[json!(1)]).unwrap().apply(&text);
            if let Some(last) = found.last() {
                let kept = span(&text, last.get()).end;
                prop_assert_eq!(&grown[..kept], &text[..kept]);
            }
            prop_assert_eq!(elements(&grown).unwrap().len(), values.len() + 1);
        }
    }
}
