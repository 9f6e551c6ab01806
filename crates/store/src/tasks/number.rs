//! Numbers of tasks: each is given once, whatever became of its task.

use atm_wire::task::TaskId;

use super::TaskFolder;
use crate::commit::{Content, Look, Plan};
use crate::error::StoreError;

/// The file that holds the last number.
const MARK: &str = ".highwatermark";

impl TaskFolder {
    /// Takes the number after every one that was ever given, as far as the folder tells.
    pub(super) fn take_number(&self) -> Result<TaskId, StoreError> {
        let mark = self.path.join(MARK);
        self.under_creation_lock(mark.clone()).update(|look| {
            let Some(marked) = marked(look) else { return Ok(Plan::Unsure) };
            let last = self.highest_name()?.max(marked);
            let next = last.next().ok_or_else(|| {
                StoreError::bad(&mark, format!("there is no number after {last} that clients can count"))
            })?;
            Ok(Plan::Replace(next.to_string(), next))
        })
    }

    /// Sees to it that a number stays taken when its file goes.
    pub(super) fn keep_number(&self, id: TaskId) -> Result<(), StoreError> {
        self.under_creation_lock(self.path.join(MARK)).update(|look| {
            Ok(match marked(look) {
                None => Plan::Unsure,
                Some(marked) if marked >= id => Plan::Keep(()),
                Some(_) => Plan::Replace(id.to_string(), ()),
            })
        })
    }

    fn highest_name(&self) -> Result<TaskId, StoreError> {
        let names = self.file_names()?;
        Ok(names.iter().filter_map(|name| TaskId::counted(name)).max().unwrap_or(TaskId::NONE))
    }
}

/// The number in the mark's file, or `None` where somebody may be in the middle of writing it. What is no number
/// under the locks either says nothing.
fn marked(look: Look) -> Option<TaskId> {
    let number = match look.content {
        Content::Missing => return Some(TaskId::NONE),
        Content::Text(text) => TaskId::parse(text.trim()).ok(),
        Content::NotUtf8(_) => None,
    };
    number.or(look.sure.then_some(TaskId::NONE))
}
