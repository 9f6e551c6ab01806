//! What a planner sees of a file, and what it wants done.

use atm_wire::json::{Object, Patch};

use super::SharedFile;
use crate::error::StoreError;
use crate::files::Snapshot;

/// What a planner sees of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) content: Content<'a>,
    /// Read under the locks: what looks torn now is torn.
    pub(crate) sure: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Missing,
    Text(&'a str),
    NotUtf8(&'a [u8]),
}

impl<'a> Content<'a> {
    pub(crate) fn of(seen: &'a Snapshot) -> Self {
        match seen.bytes().map(|bytes| (bytes, std::str::from_utf8(bytes))) {
            None => Self::Missing,
            Some((_, Ok(text))) => Self::Text(text),
            Some((bytes, Err(_))) => Self::NotUtf8(bytes),
        }
    }
}

/// What a planner wants done.
pub(crate) enum Plan<T> {
    /// Nothing to write.
    Keep(T),
    /// Change the text that was looked at.
    Patch(Patch, T),
    /// Put a new text in its place.
    Replace(String, T),
    /// Put these bytes in its place, text or not.
    Restore(Vec<u8>, T),
    /// This may be somebody's half-written file: look again under the locks.
    Unsure,
}

impl<T> Plan<T> {
    /// The same plan with another value.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Plan<U> {
        match self {
            Self::Keep(value) => Plan::Keep(change(value)),
            Self::Patch(patch, value) => Plan::Patch(patch, change(value)),
            Self::Replace(text, value) => Plan::Replace(text, change(value)),
            Self::Restore(bytes, value) => Plan::Restore(bytes, change(value)),
            Self::Unsure => Plan::Unsure,
        }
    }
}

impl SharedFile {
    /// The text of an object's file, or `None` where somebody may be in the middle of writing it.
    pub(crate) fn whole<'a>(&self, look: Look<'a>) -> Result<Option<&'a str>, StoreError> {
        let text = match look.content {
            Content::Text(text) => Ok(text),
            Content::Missing => Err(StoreError::bad(&self.path, "does not exist")),
            Content::NotUtf8(_) => Err(StoreError::bad(&self.path, "is not UTF-8")),
        };
        match text {
            text if look.sure => text.map(Some),
            Ok(text) if Object::parse(text).is_ok() => Ok(Some(text)),
            _ => Ok(None),
        }
    }
}
