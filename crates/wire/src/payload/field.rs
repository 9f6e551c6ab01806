//! Reading a field as whatever a program wrote there, and writing it the one way we write it.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::color::Color;
use crate::json::{self, Object};
use crate::message::Flaw;
use crate::stamp::Stamp;

/// The object that a whole document is.
pub(crate) fn document(text: &str) -> Result<Object<'_>, Flaw> {
    if let Ok(object) = Object::parse(text) {
        return Ok(object);
    }
    // Why not?
    let not_json = |error: serde_json::Error| Flaw::NotJson(error.to_string());
    let raw: &RawValue = serde_json::from_str(text).map_err(not_json)?;
    if raw.get().starts_with('{') {
        Object::parse(raw.get()).map_err(not_json)
    } else {
        Err(Flaw::not_an_object(raw.get()))
    }
}

/// The first of `keys` that holds something usable. A field of the wrong type counts as absent: one odd value
/// must not hide the rest.
pub(crate) fn read<F: Field>(object: &Object<'_>, keys: &[&str]) -> F {
    keys.iter().find_map(|key| F::read(object.get(key)?)).unwrap_or_default()
}

/// What stands in a view: an optional value, or a list that may be empty.
pub(crate) trait Field: Default {
    /// What `raw` means, if it means anything here.
    fn read(raw: &RawValue) -> Option<Self>;
}

impl<V: Value> Field for Option<V> {
    fn read(raw: &RawValue) -> Option<Self> {
        V::read(raw).map(Some)
    }
}

/// Ids and names: an array of them, or one alone.
impl Field for Vec<String> {
    fn read(raw: &RawValue) -> Option<Self> {
        match json::elements(raw.get()) {
            Ok(elements) => Some(elements.into_iter().filter_map(String::read).collect()),
            Err(_) => String::read(raw).map(|one| vec![one]),
        }
    }
}

/// One value.
pub(crate) trait Value: Sized {
    /// What `raw` means as this type, if anything.
    fn read(raw: &RawValue) -> Option<Self>;
}

/// Text; a number is taken by its spelling, since ids are written both ways.
impl Value for String {
    fn read(raw: &RawValue) -> Option<Self> {
        match raw.get().as_bytes().first()? {
            b'"' => json::string(raw).map(Into::into),
            b'-' | b'0'..=b'9' => Some(raw.get().to_owned()),
            _ => None,
        }
    }
}

/// A number or a word, like the urgency of a task: written as a number where it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level(pub String);

impl Value for Level {
    fn read(raw: &RawValue) -> Option<Self> {
        String::read(raw).map(Self)
    }
}

impl Serialize for Level {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<i64>() {
            Ok(number) => serializer.serialize_i64(number),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl Value for bool {
    fn read(raw: &RawValue) -> Option<Self> {
        match raw.get() {
            "true" | "\"true\"" => Some(true),
            "false" | "\"false\"" => Some(false),
            _ => None,
        }
    }
}

impl Value for u64 {
    fn read(raw: &RawValue) -> Option<Self> {
        json::integer(raw)?.try_into().ok()
    }
}

/// Hours and percentages: `7.5`, `"7.5"`, `"60%"`.
impl Value for f64 {
    fn read(raw: &RawValue) -> Option<Self> {
        let spelling = String::read(raw)?;
        let number: f64 = spelling.trim().trim_end_matches('%').parse().ok()?;
        number.is_finite().then_some(number)
    }
}

impl Value for Stamp {
    fn read(raw: &RawValue) -> Option<Self> {
        Stamp::from_json(raw.get()).ok()
    }
}

impl Value for Color {
    fn read(raw: &RawValue) -> Option<Self> {
        json::string(raw).map(|spelling| Color::parse(&spelling))
    }
}

/// Any JSON but null, as it stands.
impl Value for Box<RawValue> {
    fn read(raw: &RawValue) -> Option<Self> {
        (raw.get() != "null").then(|| raw.to_owned())
    }
}

/// A value as JSON, whole numbers without `.0` as everybody else writes them; nothing for what is absent.
pub(crate) fn spell(value: &impl Serialize) -> Option<String> {
    let json = serde_json::to_string(value).ok().filter(|json| json != "null")?;
    Some(match json.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => json,
    })
}

/// A JSON object in the making, compact and in the order of the calls.
pub(crate) struct Writer(String);

impl Writer {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// Adds a member, unless there is nothing to say.
    pub(crate) fn put(&mut self, key: &str, value: &impl Serialize) {
        if let (Some(key), Some(value)) = (spell(&key), spell(value)) {
            if self.0.len() > 1 {
                self.0.push(',');
            }
            self.0.extend([&key, ":", &value]);
        }
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn object(text: &str) -> Object<'_> {
        document(text).unwrap()
    }

    #[test]
    fn the_first_usable_spelling_counts() {
        let object = object(r#"{"a":null,"b":{},"c":7,"d":"x"}"#);
        assert_eq!(read::<Option<String>>(&object, &["a", "b", "c", "d"]).as_deref(), Some("7"));
        assert_eq!(read::<Option<String>>(&object, &["a", "b"]), None);
    }

    #[test]
    fn odd_values_are_absent() {
        let object = object(r#"{"x":[true,{"y":1}]}"#);
        assert_eq!(read::<Option<bool>>(&object, &["x"]), None);
        assert_eq!(read::<Option<f64>>(&object, &["x"]), None);
        assert_eq!(read::<Option<u64>>(&object, &["x"]), None);
        assert_eq!(read::<Option<Stamp>>(&object, &["x"]), None);
        assert_eq!(read::<Option<Color>>(&object, &["x"]), None);
        assert_eq!(read::<Vec<String>>(&object, &["x"]), Vec::<String>::new());
    }

    #[test]
    fn lists_take_numbers_and_a_lone_value() {
        let object = object(r#"{"many":["5",6,null],"one":"5"}"#);
        assert_eq!(read::<Vec<String>>(&object, &["many"]), ["5", "6"]);
        assert_eq!(read::<Vec<String>>(&object, &["one"]), ["5"]);
    }

    #[rstest]
    #[case("60", Some(60.0), "60")]
    #[case("\"60%\"", Some(60.0), "60")]
    #[case("7.5", Some(7.5), "7.5")]
    #[case("1e999", None, "")]
    #[case("\"NaN\"", None, "")]
    fn numbers(#[case] raw: &str, #[case] value: Option<f64>, #[case] written: &str) {
        let read = <f64 as Value>::read(serde_json::from_str(raw).unwrap());
        assert_eq!(read, value);
        assert_eq!(spell(&read).unwrap_or_default(), written);
    }

    #[rstest]
    #[case("", "is not valid JSON: EOF while parsing a value at line 1 column 0")]
    #[case("{", "is not valid JSON: EOF while parsing an object at line 1 column 1")]
    #[case(" [] ", "is an array, not an object")]
    #[case("null", "is null, not an object")]
    fn documents_that_are_none(#[case] text: &str, #[case] error: &str) {
        assert_eq!(document(text).unwrap_err().to_string(), error);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(key in ".*", text in ".*", list in prop::collection::vec(".*", 0..3), number in any::<f64>()) {
            let number = Some(number).filter(|number| number.is_finite());
            let (text, key) = (Some(text), &format!("k{key}"));
            let mut writer = Writer::new();
            writer.put(key, &text);
            writer.put("list", &list);
            writer.put("number", &number);
            let written = writer.finish();
            let object = object(&written);
            prop_assert_eq!(read::<Option<String>>(&object, &[key]), text);
            prop_assert_eq!(read::<Vec<String>>(&object, &["list"]), list);
            prop_assert_eq!(read::<Option<f64>>(&object, &["number"]), number);
        }
    }
}
