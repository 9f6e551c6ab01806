//! Tasks of a team over several machines: the mark of those that only the machine has that made them, and another number.

use super::{Change, Task, TaskId, edit};
use crate::json::{self, Object};
use crate::message::Flaw;
use crate::payload::field::document;

/// The machine that made a task while it could not reserve a number among all machines; below `metadata`, until it has
/// one. No other machine has the task before.
pub const MADE_ON: &str = "made_on";

/// What tells a task that is on several machines from every other one, also under another number; below `metadata`.
pub const SHARED_ID: &str = "shared_id";

impl Task {
    /// What tells it from every other task of all machines, if it was ever shared.
    pub fn shared_id(&self) -> Option<String> {
        let metadata = Object::parse(self.metadata.as_ref()?.get()).ok()?;
        metadata.string(SHARED_ID).map(std::borrow::Cow::into_owned)
    }

    /// The machine that made it and has not shared it yet.
    pub fn made_on(&self) -> Option<String> {
        let metadata = Object::parse(self.metadata.as_ref()?.get()).ok()?;
        metadata.string(MADE_ON).map(std::borrow::Cow::into_owned)
    }
}

/// The text of a task's file under another number.
pub fn renumber(text: &str, to: TaskId) -> Result<String, Flaw> {
    document(text)?;
    let patch = json::set_member(text, text.trim(), "id", &to.to_string());
    Ok(patch.map_err(|error| Flaw::NotJson(error.to_string()))?.apply(text))
}

/// The text with the link to one task turned into a link to another, and whether there was one.
pub fn relink(text: &str, from: TaskId, to: TaskId) -> Result<Option<String>, Flaw> {
    let task = Task::parse(text)?;
    let has = |ids: &[String]| ids.iter().any(|id| *id == from.to_string());
    let mut changes = Vec::new();
    if has(&task.blocks) {
        changes.extend([Change::DropBlocks(from), Change::AddBlocks(to)]);
    }
    if has(&task.blocked_by) {
        changes.extend([Change::DropBlockedBy(from), Change::AddBlockedBy(to)]);
    }
    if changes.is_empty() { Ok(None) } else { edit(text, &changes).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_gets_another_number_and_keeps_the_rest() {
        let text = r#"{"x": 1E2, "id": "7", "blocks": ["8"], "metadata": {"made_on": "laptop"}}"#;
        assert_eq!(Task::parse(text).unwrap().made_on().as_deref(), Some("laptop"));
        let nine: TaskId = "9".parse().unwrap();
        let moved = renumber(text, nine).unwrap();
        assert_eq!(moved, text.replace("\"7\"", "\"9\""));
        let linked = relink(text, "8".parse().unwrap(), nine).unwrap().unwrap();
        assert_eq!(Task::parse(&linked).unwrap().blocks, ["9"]);
        assert_eq!(relink(text, "5".parse().unwrap(), nine).unwrap(), None);
        assert!(renumber("[]", nine).is_err());
    }
}
