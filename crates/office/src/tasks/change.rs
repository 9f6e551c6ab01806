//! Changing, assigning and deleting tasks.

use atm_wire::MemberName;
use atm_wire::task::{CLAIM_EXPIRY, CLAIMED_AT, Change, Effort, MADE_ON, SHARED_ID, Status, Task, TaskId};
use serde_json::value::RawValue;

use super::claim::without_lease;
use super::complete::{COMPLETED_AT, Completion};
use super::{Outcome, TaskError, Tasks};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};

/// What can be changed of a task. `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct TaskChange {
    /// Another title.
    pub subject: Option<String>,
    /// Another text.
    pub description: Option<String>,
    /// Another text for while it is being done.
    pub active_form: Option<String>,
    /// It is as far as this.
    pub status: Option<Status>,
    /// Another owner, or none.
    pub owner: Option<Option<MemberName>>,
    /// How urgent it is and how long it should take; what is not said stays.
    pub effort: Effort,
    /// Keys of `metadata` with another value, or without any.
    pub metadata: Vec<(String, Option<Box<RawValue>>)>,
}

impl Tasks<'_> {
    /// Changes a task. Who does it and how far it is may only be changed by its owner or the lead. A new owner is told, and
    /// so is the lead when the task is completed by this.
    pub fn change(&self, who: &MemberName, id: TaskId, change: &TaskChange) -> Result<Outcome, OfficeError> {
        if change.subject.as_ref().is_some_and(|subject| subject.trim().is_empty()) {
            return Err(TaskError::NoSubject.into());
        }
        check_keys(change.metadata.iter().map(|(key, _)| key))?;
        if let Some(Some(owner)) = &change.owner {
            self.team.known_mailbox(owner)?;
        }
        let (mut new_owner, mut completes) = (false, false);
        let changed = self.change_hold(id, |task| {
            if change.status.is_some() || change.owner.is_some() {
                self.may_decide(who, id, task)?;
            }
            let wanted = change.owner.as_ref().map(|owner| owner.as_ref().map(MemberName::as_str));
            new_owner = wanted.is_some_and(|wanted| wanted != task.owner.as_deref());
            completes = change.status == Some(Status::Completed) && task.status != Status::Completed;
            Ok(self.changes(change, task, new_owner))
        })?;
        self.record(Some(who), id);
        let mut outcome = self.outcome(id).after(|| Done::TaskChanged(id))?;
        self.note_request(&changed, &mut outcome);
        let task = &changed.task;
        if new_owner {
            // The other machine may have set it back by now.
            change.owner.iter().flatten().for_each(|owner| self.note_home(owner.as_str(), &mut outcome));
            self.tell_owner(who, id, task, &mut outcome);
        }
        if completes {
            let how = Completion { tell: true, ..Completion::default() };
            self.follow_completion(who, task, &how, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Gives a task to somebody, who is told.
    pub fn assign(&self, who: &MemberName, id: TaskId, owner: &MemberName) -> Result<Outcome, OfficeError> {
        self.change(who, id, &TaskChange { owner: Some(Some(owner.clone())), ..TaskChange::default() })
    }

    /// Removes a task, and what other tasks say of it. Only its owner or the lead may.
    pub fn delete(&self, who: &MemberName, id: TaskId) -> Result<(), OfficeError> {
        self.delete_everywhere(id, |task| self.may_decide(who, id, task))?;
        self.record(Some(who), id);
        let names = |ids: &[String]| ids.iter().any(|text| *text == id.to_string());
        let deleted = || Done::TaskDeleted(id);
        let _turn = self.folder.link_turn().after(deleted)?;
        for (other, task) in self.folder.list().after(deleted)?.tasks {
            if names(&task.blocks) || names(&task.blocked_by) {
                let dropped =
                    self.update(other, |_| Ok(vec![Change::DropBlocks(id), Change::DropBlockedBy(id)]));
                dropped.after(deleted)?;
            }
        }
        Ok(())
    }

    fn changes(&self, change: &TaskChange, task: &Task, new_owner: bool) -> Vec<Change> {
        let mut changes = Vec::new();
        changes.extend(change.subject.as_deref().map(|subject| Change::Subject(subject.trim().to_owned())));
        changes.extend(change.description.clone().map(Change::Description));
        changes.extend(change.active_form.clone().map(Change::ActiveForm));
        // Also if it is so already: other machines may know better.
        changes.extend(
            change.owner.as_ref().map(|owner| Change::Owner(owner.as_ref().map(ToString::to_string))),
        );
        if new_owner {
            changes.extend(without_lease());
            if task.status == Status::InProgress {
                // Its new owner has not begun.
                changes.push(Change::Status(Status::Pending));
            }
        }
        if let Some(status) = &change.status {
            changes.push(Change::Status(status.clone()));
            if *status != Status::InProgress {
                changes.extend(without_lease());
            }
            if *status != Status::Completed {
                changes.push(Change::forget(COMPLETED_AT));
            } else if task.status != Status::Completed {
                changes.push(Change::note(COMPLETED_AT, &self.now().to_string()));
            }
        }
        let effort = change.effort.metadata().into_iter();
        changes.extend(effort.map(|(key, value)| Change::Metadata(key, Some(value))));
        changes
            .extend(change.metadata.iter().map(|(key, value)| Change::Metadata(key.clone(), value.clone())));
        changes
    }
}

/// Claims are made by claiming, not by writing what a claim writes.
pub(super) fn check_keys<'k>(keys: impl Iterator<Item = &'k String>) -> Result<(), TaskError> {
    match keys.into_iter().find(|key| [CLAIMED_AT, CLAIM_EXPIRY, MADE_ON, SHARED_ID].contains(&key.as_str()))
    {
        Some(key) => Err(TaskError::Reserved { key: key.clone() }),
        None => Ok(()),
    }
}
