//! What an array inbox holds, or why it does not parse.

use std::collections::HashSet;

use atm_wire::Draft;
use atm_wire::json::{self, Object};
use memchr::memmem;
use serde_json::value::RawValue;

use crate::commit::Content;

/// Above this many drafts it is cheaper to read all ids once than to search the text for each.
pub(super) const SEARCH_AT_MOST: usize = 8;

/// The entries of an inbox where they stand in its text.
#[derive(Debug, Default)]
pub(super) struct Entries<'a> {
    pub(super) raw: Vec<&'a RawValue>,
}

/// Why a file is no array.
#[derive(Debug)]
pub(super) struct Broken<'a> {
    pub(super) bytes: &'a [u8],
    /// For people, with the place.
    pub(super) text: String,
    /// For a file name.
    pub(super) slug: &'static str,
}

pub(super) enum Reading<'a> {
    Missing,
    Entries(&'a str, Entries<'a>),
    Broken(Broken<'a>),
}

pub(super) fn read(content: Content<'_>) -> Reading<'_> {
    match content {
        Content::Missing => Reading::Missing,
        Content::Text(text) => match Entries::parse(text) {
            Ok(entries) => Reading::Entries(text, entries),
            Err(broken) => Reading::Broken(broken),
        },
        Content::NotUtf8(bytes) => {
            let place = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            Reading::Broken(Broken { bytes, text: format!("is not UTF-8 at byte {place}"), slug: "not-utf8" })
        }
    }
}

impl<'a> Entries<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Broken<'a>> {
        json::elements(text).map(|raw| Self { raw }).map_err(|error| broken(text, &error))
    }

    /// Which drafts' ids stand in the inbox already.
    pub(super) fn ids_among(&self, text: &str, drafts: &[Draft]) -> Vec<String> {
        let may_be_there = |draft: &&Draft| {
            drafts.len() > SEARCH_AT_MOST || memmem::find(text.as_bytes(), draft.id.as_bytes()).is_some()
        };
        let candidates: HashSet<&str> =
            drafts.iter().filter(may_be_there).map(|draft| draft.id.as_str()).collect();
        if candidates.is_empty() {
            return Vec::new();
        }
        let mut known: Vec<String> = self
            .raw
            .iter()
            .filter_map(|raw| Object::parse(raw.get()).ok())
            .filter_map(|entry| entry.string("messageId").or_else(|| entry.string("msg_id")))
            .filter(|id| candidates.contains(id.as_ref()))
            .map(std::borrow::Cow::into_owned)
            .collect();
        known.dedup();
        known
    }
}

fn broken<'a>(text: &'a str, error: &serde_json::Error) -> Broken<'a> {
    let start = text.trim_start();
    let (slug, what) = if start.is_empty() {
        ("empty", "is empty, not even `[]`".to_owned())
    } else if start.starts_with('\u{feff}') {
        ("byte-order-mark", "starts with a byte order mark".to_owned())
    } else if is_json_lines(start) {
        ("json-lines", "is JSON Lines, not one array".to_owned())
    } else if start.starts_with('{') {
        ("not-an-array", "is an object, not an array".to_owned())
    } else if error.is_eof() {
        ("truncated", format!("ends too early (line {}, column {})", error.line(), error.column()))
    } else if error.is_data() {
        ("not-an-array", "is not an array".to_owned())
    } else {
        ("bad-json", format!("does not parse: {error}"))
    };
    Broken { bytes: text.as_bytes(), text: what, slug }
}

/// Whether a second object follows the first.
fn is_json_lines(text: &str) -> bool {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let first = values.next().and_then(Result::ok).is_some_and(|value| value.get().starts_with('{'));
    first && text[values.byte_offset()..].trim_start().starts_with('{')
}
