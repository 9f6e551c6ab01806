//! Finding values in JSON text without copying or re-encoding them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The elements of the array that `text` is.
pub fn elements(text: &str) -> Result<Vec<&RawValue>, serde_json::Error> {
    serde_json::from_str(text)
}

/// Where `part`, a slice borrowed from `whole`, stands in it.
///
/// A slice from elsewhere gives an empty range at the end: never a panic, never a wrong place.
pub fn span(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
    match start.checked_add(part.len()) {
        Some(end) if end <= whole.len() => start..end,
        _ => whole.len()..whole.len(),
    }
}

/// A JSON string's value; `None` when `raw` is not a string.
///
/// JavaScript writes lone surrogates (half of an emoji that was cut) as `\ud83d`; they become U+FFFD here.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text = raw.get();
    if !text.starts_with('"') {
        return None;
    }
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let Utf8ish(bytes) = serde_json::from_str(text).ok()?;
    Some(Cow::Owned(match String::from_utf8(bytes) {
        Ok(decoded) => decoded,
        Err(lone) => String::from_utf8_lossy(lone.as_bytes()).into_owned(),
    }))
}

/// A JSON integer, also when it was spelled as a string of digits.
pub fn integer(raw: &RawValue) -> Option<i64> {
    match string(raw) {
        Some(text) => text.trim().parse().ok(),
        None => serde_json::from_str(raw.get()).ok(),
    }
}

/// Decoded string bytes, lone surrogates included.
struct Utf8ish(Vec<u8>);

impl<'de> Deserialize<'de> for Utf8ish {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Utf8ish;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Utf8ish, E> {
                Ok(Utf8ish(bytes.to_vec()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Utf8ish, E> {
                Ok(Utf8ish(text.as_bytes().to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// An object's members in the order they stand, duplicates included.
#[derive(Debug, Clone, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Object<'a> {
    /// Reads the object that `text` is.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The value of `key`; of several, the last, as every JSON parser in use here has it.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The string at `key`, if it is one.
    pub fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        string(self.get(key)?)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> + '_ {
        self.members.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }
            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Object { members })
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_slices_of_the_text() {
        let text = r#"[ {"a":1E2}, null ,"x" ]"#;
        let found = elements(text).unwrap();
        assert_eq!(found.iter().map(|raw| raw.get()).collect::<Vec<_>>(), [r#"{"a":1E2}"#, "null", "\"x\""]);
        assert_eq!(span(text, found[1].get()), 13..17);
    }

    #[test]
    fn a_foreign_slice_has_no_place() {
        let elsewhere = String::from("null");
        assert!(span("[null]", &elsewhere).is_empty());
    }

    #[test]
    fn the_last_of_duplicate_keys_counts() {
        let object = Object::parse(r#"{"read":false,"\u0072ead":true}"#).unwrap();
        assert_eq!(object.get("read").unwrap().get(), "true");
        assert_eq!(object.iter().count(), 2);
    }

    #[test]
    fn a_lone_surrogate_does_not_hide_the_text() {
        let object = Object::parse(r#"{"text":"cut \ud83d here"}"#).unwrap();
        let text = object.string("text").unwrap();
        assert!(text.starts_with("cut \u{fffd}") && text.ends_with(" here"), "{text:?}");
    }

    #[test]
    fn integers_may_be_spelled_as_strings() {
        let object = Object::parse(r#"{"a":42,"b":"42","c":"x","d":4.5}"#).unwrap();
        let value = |key| integer(object.get(key).unwrap());
        assert_eq!((value("a"), value("b"), value("c"), value("d")), (Some(42), Some(42), None, None));
    }
}
