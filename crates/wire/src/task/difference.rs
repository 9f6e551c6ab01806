//! What is different between two versions of a task, as changes that can be made to a third one.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{CLAIM_EXPIRY, CLAIMED_AT, Change, Task, TaskId};
use crate::json::Object;

const ACTIVE_FORM: &str = "activeForm";

/// Keys of `metadata` that tell of an owner's hold, beside the lease.
const HOLD: [&str; 7] = [
    CLAIMED_AT,
    "claimedAt",
    CLAIM_EXPIRY,
    "claimExpirySeconds",
    "released_at",
    "released_from",
    "completed_at",
];

/// Keys of a task that this view knows.
const KNOWN: [&str; 11] = [
    "id",
    "subject",
    "description",
    "activeForm",
    "active_form",
    "status",
    "blocks",
    "blockedBy",
    "blocked_by",
    "owner",
    "metadata",
];

/// A part of a task that changes as one: whoever changes some of it has changed all of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The title.
    Subject,
    /// The text.
    Description,
    /// What to show while it is being done.
    ActiveForm,
    /// Who does it, how far it is, and until when.
    Hold,
    /// A key of `metadata`.
    Metadata(String),
    /// A key that this view does not know.
    Other(String),
    /// A link to another task.
    Link(TaskId),
}

impl Change {
    /// The part of a task that it changes.
    pub fn field(&self) -> Field {
        match self {
            Self::Subject(_) => Field::Subject,
            Self::Description(_) => Field::Description,
            Self::ActiveForm(_) => Field::ActiveForm,
            Self::Status(_) | Self::Owner(_) => Field::Hold,
            Self::Metadata(key, _) if HOLD.contains(&key.as_str()) => Field::Hold,
            Self::Metadata(key, _) => Field::Metadata(key.clone()),
            Self::Other(key, _) if key == ACTIVE_FORM => Field::ActiveForm,
            Self::Other(key, _) => Field::Other(key.clone()),
            Self::AddBlocks(id) | Self::DropBlocks(id) | Self::AddBlockedBy(id) | Self::DropBlockedBy(id) => {
                Field::Link(*id)
            }
        }
    }
}

/// The changes that make `to` of `from`. Of keys that this view does not know, the whole value is one change.
pub fn differences(from: &Task, to: &Task) -> Vec<Change> {
    let mut changes = Vec::new();
    if from.subject != to.subject {
        changes.push(Change::Subject(to.subject.clone()));
    }
    if from.description != to.description {
        changes.push(Change::Description(to.description.clone()));
    }
    if from.active_form != to.active_form {
        let gone = || Change::Other(ACTIVE_FORM.to_owned(), None);
        changes.push(to.active_form.clone().map_or_else(gone, Change::ActiveForm));
    }
    if from.status != to.status {
        changes.push(Change::Status(to.status.clone()));
    }
    if from.owner != to.owner {
        changes.push(Change::Owner(to.owner.clone()));
    }
    links(&from.blocks, &to.blocks, Change::AddBlocks, Change::DropBlocks, &mut changes);
    links(&from.blocked_by, &to.blocked_by, Change::AddBlockedBy, Change::DropBlockedBy, &mut changes);
    keys(&metadata(from), &metadata(to), Change::Metadata, &mut changes);
    keys(&others(from), &others(to), Change::Other, &mut changes);
    changes
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn keys(
    was: &Members<'_>,
    is: &Members<'_>,
    change: fn(String, Option<Box<RawValue>>) -> Change,
    changes: &mut Vec<Change>,
) {
    for (key, value) in is {
        if was.get(key).is_none_or(|old| old.get() != value.get()) {
            changes.push(change(key.clone(), Some((*value).to_owned())));
        }
    }
    changes.extend(was.keys().filter(|key| !is.contains_key(*key)).map(|key| change(key.clone(), None)));
}

/// What stands in the file beside what this view knows. A task that is in no file has nothing of the kind.
fn others(task: &Task) -> Members<'_> {
    let mut all = members(task.raw().trim());
    all.retain(|key, _| !KNOWN.contains(&key.as_str()));
    all
}

fn metadata(task: &Task) -> Members<'_> {
    task.metadata.as_ref().map(|raw| members(raw.get())).unwrap_or_default()
}

fn links(
    from: &[String],
    to: &[String],
    add: fn(TaskId) -> Change,
    drop: fn(TaskId) -> Change,
    changes: &mut Vec<Change>,
) {
    let ids = |these: &[String], others: &[String]| -> Vec<TaskId> {
        these.iter().filter(|id| !others.contains(id)).filter_map(|id| TaskId::parse(id).ok()).collect()
    };
    changes.extend(ids(to, from).into_iter().map(add));
    changes.extend(ids(from, to).into_iter().map(drop));
}

fn members(object: &str) -> Members<'_> {
    let Ok(object) = Object::parse(object) else { return Members::new() };
    object.iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::edit;

    #[test]
    fn what_is_different_can_be_done_to_another_version() {
        let from = r#"{"id":"1","subject":"a","status":"pending","blocks":["2"],"metadata":{"x":1,"y":2}}"#;
        let to = r#"{"id":"1","subject":"b","status":"in_progress","owner":"ann","blocks":["3"],"metadata":{"y":2.0,"claimed_at":"t"}}"#;
        let other = r#"{"id":"1","subject":"a","description":"new","status":"pending","blocks":["2","4"],"metadata":{"x":1,"y":2,"z":3}}"#;
        let changes = differences(&Task::parse(from).unwrap(), &Task::parse(to).unwrap());
        assert_eq!(
            edit(other, &changes).unwrap(),
            r#"{"id":"1","subject":"b","description":"new","status":"in_progress","blocks":["4","3"],"metadata":{"y":2.0,"z":3,"claimed_at":"t"},"owner":"ann"}"#
        );
        let fields: Vec<Field> = changes.iter().map(Change::field).collect();
        assert_eq!(fields.iter().filter(|field| **field == Field::Hold).count(), 3, "{fields:?}");
        // Keys that nobody here knows, byte for byte, and one that goes.
        let with = r#"{"id":"1","due":{"day":1E2},"activeForm":"digging"}"#;
        let without = r#"{"id":"1","x":[]}"#;
        let (with, without) = (Task::parse(with).unwrap(), Task::parse(without).unwrap());
        let there = edit(without.raw(), &differences(&without, &with)).unwrap();
        assert_eq!(there, r#"{"id":"1","activeForm":"digging","due":{"day":1E2}}"#);
        let back = edit(&there, &differences(&with, &without)).unwrap();
        assert_eq!(back, r#"{"id":"1","x":[]}"#);
        let same = Task::parse(to).unwrap();
        assert!(differences(&same, &same).is_empty());
    }
}
