//! The same JSON in another layout: tokens stay as they are spelled.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::scan::{Object, elements};

/// JSON text without the spaces and line breaks between its tokens.
pub fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        if !inside && matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        if c == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// JSON text that takes on the layout of what it is put into; numbers and strings stay as they are spelled.
#[derive(Debug, Clone, Copy)]
pub struct Laid<'a>(pub &'a str);

impl Serialize for Laid<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.trim();
        if let Some(object) = text.starts_with('{').then(|| Object::parse(text).ok()).flatten() {
            let mut map = serializer.serialize_map(None)?;
            for (key, value) in object.iter() {
                map.serialize_entry(key, &Laid(value.get()))?;
            }
            return map.end();
        }
        if let Some(array) = text.starts_with('[').then(|| elements(text).ok()).flatten() {
            let mut seq = serializer.serialize_seq(Some(array.len()))?;
            for value in array {
                seq.serialize_element(&Laid(value.get()))?;
            }
            return seq.end();
        }
        let raw: &RawValue = serde_json::from_str(text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Style;
    use proptest::prelude::*;

    #[test]
    fn spaces_inside_strings_stay() {
        let text = "{ \"a b\" : [ 1E2 , \"x \\\" , \\\\\" ,\n\ttrue ] }";
        assert_eq!(compact(text), "{\"a b\":[1E2,\"x \\\" , \\\\\",true]}");
        let laid = Style::two_spaces("").render(&Laid(text)).unwrap();
        assert_eq!(laid, "{\n  \"a b\": [\n    1E2,\n    \"x \\\" , \\\\\",\n    true\n  ]\n}");
        assert_eq!(compact(&laid), compact(text));
    }

    proptest! {
        #[test]
        fn what_it_says_is_the_same(key in ".{0,9}", value in ".{0,20}", number in any::<i64>()) {
            let value = serde_json::json!({ key: [value, number, null, {}] });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(compact(&pretty), serde_json::to_string(&value).unwrap());
            prop_assert_eq!(Style::Compact.render(&Laid(&pretty)).unwrap(), compact(&pretty));
        }
    }
}
