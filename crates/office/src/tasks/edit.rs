//! Changes of a task as one process tells them to another.

use atm_wire::task::{Change, Status};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One change of a task. Links are not among them: they are nobody's hold on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Another title.
    Subject(String),
    /// Another text.
    Description(String),
    /// Another text for while it is being done.
    ActiveForm(String),
    /// It is as far as this.
    Status(String),
    /// Another owner, or none.
    Owner(Option<String>),
    /// A key of `metadata`, and the JSON of its value.
    Set(String, String),
    /// A key of `metadata` that goes.
    Forget(String),
}

impl Edit {
    /// The same as a change; `None` for one that nobody asks for.
    pub(super) fn of(change: &Change) -> Option<Self> {
        Some(match change.clone() {
            Change::Subject(text) => Self::Subject(text),
            Change::Description(text) => Self::Description(text),
            Change::ActiveForm(text) => Self::ActiveForm(text),
            Change::Status(status) => Self::Status(status.to_string()),
            Change::Owner(owner) => Self::Owner(owner),
            Change::Metadata(key, Some(value)) => Self::Set(key, value.get().to_owned()),
            Change::Metadata(key, None) => Self::Forget(key),
            Change::Other(..)
            | Change::AddBlocks(_)
            | Change::DropBlocks(_)
            | Change::AddBlockedBy(_)
            | Change::DropBlockedBy(_) => return None,
        })
    }

    /// The change; `None` if the value is no JSON.
    pub fn change(&self) -> Option<Change> {
        Some(match self.clone() {
            Self::Subject(text) => Change::Subject(text),
            Self::Description(text) => Change::Description(text),
            Self::ActiveForm(text) => Change::ActiveForm(text),
            Self::Status(word) => Change::Status(Status::parse(&word)),
            Self::Owner(owner) => Change::Owner(owner),
            Self::Set(key, value) => Change::Metadata(key, Some(RawValue::from_string(value).ok()?)),
            Self::Forget(key) => Change::forget(&key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_told_is_the_change_that_was_meant() {
        let changes = [
            Change::Subject("a".into()),
            Change::Description("b".into()),
            Change::ActiveForm("c".into()),
            Change::Status(Status::Other("odd".into())),
            Change::Owner(Some("ann".into())),
            Change::Owner(None),
            Change::Metadata("null".into(), RawValue::from_string("null".into()).ok()),
            Change::number("number", 1.5),
            Change::forget("gone"),
        ];
        for change in changes {
            let edit = Edit::of(&change).unwrap();
            let text = serde_json::to_string(&edit).unwrap();
            let back: Edit = serde_json::from_str(&text).unwrap();
            assert_eq!(format!("{:?}", back.change().unwrap()), format!("{change:?}"), "{text}");
        }
        assert_eq!(Edit::of(&Change::AddBlocks("7".parse().unwrap())), None);
        assert!(Edit::Set("key".into(), "{".into()).change().is_none());
    }
}
