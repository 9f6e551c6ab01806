//! Changes of a task's file that leave every other byte as it is.

use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

use super::{Status, TaskId};
use crate::json::{self, Object, Patch};
use crate::message::Flaw;
use crate::payload::field::document;

/// One change of a task.
#[derive(Debug, Clone)]
pub enum Change {
    /// Another title.
    Subject(String),
    /// Another text.
    Description(String),
    /// Another text for while it is being done.
    ActiveForm(String),
    /// It is as far as this.
    Status(Status),
    /// Another owner, or none.
    Owner(Option<String>),
    /// A key of `metadata` with another value, or without any.
    Metadata(String, Option<Box<RawValue>>),
    /// A key of the task itself that this view does not know, with another value, or without any.
    Other(String, Option<Box<RawValue>>),
    /// That task waits for this one.
    AddBlocks(TaskId),
    /// That task does not wait for this one any more.
    DropBlocks(TaskId),
    /// This task waits for that one.
    AddBlockedBy(TaskId),
    /// This task does not wait for that one any more.
    DropBlockedBy(TaskId),
}

impl Change {
    /// A key of `metadata` with a text.
    pub fn note(key: &str, text: &str) -> Self {
        Self::Metadata(key.to_owned(), serde_json::value::to_raw_value(text).ok())
    }

    /// A key of `metadata` with a number; one that JSON cannot say is left out.
    pub fn number(key: &str, number: f64) -> Self {
        let spelling = crate::payload::field::spell(&number);
        Self::Metadata(key.to_owned(), spelling.and_then(|spelling| RawValue::from_string(spelling).ok()))
    }

    /// Without a key of `metadata`.
    pub fn forget(key: &str) -> Self {
        Self::Metadata(key.to_owned(), None)
    }

    fn patch(&self, text: &str) -> Result<Patch, Flaw> {
        let task = Doc { text, object: document(text)? };
        match self {
            Self::Subject(subject) => task.set_text(&["subject"], subject),
            Self::Description(description) => task.set_text(&["description"], description),
            Self::ActiveForm(form) => task.set_text(&["activeForm", "active_form"], form),
            Self::Status(status) => task.set_text(&["status"], status.as_str()),
            Self::Owner(Some(owner)) => task.set_text(&["owner"], owner),
            Self::Owner(None) => json::remove_member(text, text.trim(), "owner").map_err(not_json),
            Self::Metadata(key, value) => task.set_metadata(key, value.as_deref()),
            Self::Other(key, Some(value)) => task.set(key, value),
            Self::Other(key, None) => json::remove_member(text, text.trim(), key).map_err(not_json),
            Self::AddBlocks(id) => task.add(&["blocks"], *id),
            Self::DropBlocks(id) => task.drop(&["blocks"], *id),
            Self::AddBlockedBy(id) => task.add(&["blockedBy", "blocked_by"], *id),
            Self::DropBlockedBy(id) => task.drop(&["blockedBy", "blocked_by"], *id),
        }
    }
}

/// The text of a task's file with these changes. What is so already is not written again, in whatever spelling.
pub fn edit(text: &str, changes: &[Change]) -> Result<String, Flaw> {
    changes.iter().try_fold(text.to_owned(), |text, change| Ok(change.patch(&text)?.apply(&text)))
}

struct Doc<'a> {
    text: &'a str,
    object: Object<'a>,
}

impl<'a> Doc<'a> {
    /// The keys of a field that stand in the file; else the one that we write.
    fn keys<'k>(&self, spellings: &'k [&'k str]) -> Vec<&'k str> {
        let there: Vec<_> = spellings.iter().copied().filter(|key| self.object.get(key).is_some()).collect();
        if there.is_empty() { spellings[..1].to_vec() } else { there }
    }

    fn set<T: Serialize + ?Sized>(&self, key: &str, value: &T) -> Result<Patch, Flaw> {
        json::set_member(self.text, self.text.trim(), key, value).map_err(not_json)
    }

    fn set_text(&self, spellings: &[&str], value: &str) -> Result<Patch, Flaw> {
        let mut patch = Patch::default();
        for key in self.keys(spellings) {
            if self.object.string(key).is_none_or(|old| old != value) {
                patch.merge(self.set(key, value)?);
            }
        }
        Ok(patch)
    }

    fn set_metadata(&self, key: &str, value: Option<&RawValue>) -> Result<Patch, Flaw> {
        let Some(old) = self.object.get("metadata").filter(|old| old.get() != "null") else {
            return match value {
                Some(value) => self.set("metadata", &BTreeMap::from([(key, value)])),
                None => Ok(Patch::default()),
            };
        };
        let wrong = |_| Flaw::WrongType { field: "metadata", wanted: "an object" };
        let members = Object::parse(old.get()).map_err(wrong)?;
        match value {
            Some(value) if members.get(key).is_some_and(|old| old.get() == value.get()) => {
                Ok(Patch::default())
            }
            Some(value) => json::set_member(self.text, old.get(), key, value).map_err(wrong),
            None => json::remove_member(self.text, old.get(), key).map_err(wrong),
        }
    }

    /// The ids that stand under `key`; `None` if that is not a list.
    fn list(&self, key: &str) -> Option<(&'a RawValue, Vec<&'a RawValue>)> {
        let array = self.object.get(key)?;
        Some((array, json::elements(array.get()).ok()?))
    }

    fn add(&self, spellings: &[&str], id: TaskId) -> Result<Patch, Flaw> {
        let mut patch = Patch::default();
        for key in self.keys(spellings) {
            patch.merge(match self.list(key) {
                Some((_, ids)) if ids.iter().any(|raw| is(raw, id)) => Patch::default(),
                Some((array, ids)) if !ids.is_empty() => {
                    json::append(self.text, array.get(), &ids, &[id]).map_err(not_json)?
                }
                _ => {
                    let alone = self.object.get(key).and_then(json::string);
                    let both = alone.iter().map(ToString::to_string).chain([id.to_string()]);
                    self.set(key, &both.collect::<Vec<_>>())?
                }
            });
        }
        Ok(patch)
    }

    fn drop(&self, spellings: &[&str], id: TaskId) -> Result<Patch, Flaw> {
        let mut patch = Patch::default();
        for key in self.keys(spellings) {
            patch.merge(match (self.list(key), self.object.get(key)) {
                (Some((array, ids)), _) => {
                    let gone: BTreeSet<_> = (0..ids.len()).filter(|index| is(ids[*index], id)).collect();
                    if gone.is_empty() {
                        Patch::default()
                    } else {
                        json::remove(self.text, array.get(), &ids, &gone)
                    }
                }
                (None, Some(alone)) if is(alone, id) => self.set(key, &[(); 0])?,
                _ => Patch::default(),
            });
        }
        Ok(patch)
    }
}

/// Whether a value is this id: text or number, both are written.
fn is(raw: &RawValue, id: TaskId) -> bool {
    match json::string(raw) {
        Some(text) => text == id.to_string(),
        None => raw.get() == id.to_string(),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn not_json(error: serde_json::Error) -> Flaw {
    Flaw::NotJson(error.to_string())
}
