//! Tasks as texts: for who keeps the files of a team the same on several machines.

use std::collections::BTreeMap;

use atm_wire::task::{Task, TaskId};

use super::TaskFolder;
use crate::commit::{Content, Look, Plan};
use crate::error::StoreError;

impl TaskFolder {
    /// The text of every task's file, `None` for one that cannot be read; `None` if there is no folder at all.
    pub fn texts(&self) -> Result<Option<BTreeMap<TaskId, Option<String>>>, StoreError> {
        if !self.path.is_dir() {
            return Ok(None);
        }
        let listing = self.list()?;
        let read = listing.tasks.into_iter().map(|(id, task)| (id, Some(task.raw().to_owned())));
        Ok(Some(read.chain(listing.skipped.into_iter().map(|skipped| (skipped.id, None))).collect()))
    }

    /// Puts a text in the place of the one that was seen, or makes the file, or removes it (`None`), if the file is still
    /// what was seen. Says whether it did.
    pub fn replace(&self, id: TaskId, seen: Option<&str>, with: Option<&str>) -> Result<bool, StoreError> {
        match (seen, with) {
            (None, None) => Ok(true),
            (None, Some(text)) => self.adopt(id, text),
            (Some(seen), Some(text)) => {
                if !self.file(id).exists() {
                    return Ok(false);
                }
                self.shared(id).update(|look| match is_still(look, seen) {
                    None => Ok(Plan::Unsure),
                    Some(true) => Ok(Plan::Replace(text.to_owned(), true)),
                    Some(false) => Ok(Plan::Keep(false)),
                })
            }
            (Some(seen), None) => {
                let deleted =
                    self.delete(id, |task: &Task| if task.raw() == seen { Ok(()) } else { Err(()) })?;
                Ok(deleted.is_some_and(|deleted| deleted.is_ok()))
            }
        }
    }
}

/// Whether the file is what was seen; `None` where somebody may be in the middle of writing it.
fn is_still(look: Look<'_>, seen: &str) -> Option<bool> {
    match look.content {
        Content::Text(text) if text == seen => Some(true),
        Content::Missing => Some(false),
        _ if !look.sure => None,
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockTimes;
    use crate::paths::{Root, State};

    #[test]
    fn a_file_is_replaced_only_if_it_is_what_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
        let team = "demo".parse().unwrap();
        let tasks = TaskFolder::new(&root, &team, &state, LockTimes::default());
        let seven: TaskId = "7".parse().unwrap();
        assert_eq!(tasks.texts().unwrap(), None);
        let (one, two) = (r#"{"id":"7","subject":"one"}"#, r#"{"id":"7","subject":"two"}"#);
        assert!(tasks.replace(seven, None, Some(one)).unwrap());
        assert!(!tasks.replace(seven, None, Some(two)).unwrap());
        assert!(!tasks.replace(seven, Some(two), Some(two)).unwrap());
        assert!(tasks.replace(seven, Some(one), Some(two)).unwrap());
        assert_eq!(tasks.texts().unwrap().unwrap(), BTreeMap::from([(seven, Some(two.to_owned()))]));
        assert!(!tasks.replace(seven, Some(one), None).unwrap());
        assert!(tasks.replace(seven, Some(two), None).unwrap());
        assert_eq!(tasks.texts().unwrap().unwrap(), BTreeMap::new());
        assert!(!tasks.replace(seven, Some(two), Some(one)).unwrap());
        assert_eq!(tasks.create(|id| Task::new(id.to_string(), "s", "")).unwrap().0.to_string(), "8");
    }
}
