//! New tasks.

use atm_store::StoreError;
use atm_store::tasks::TaskListing;
use atm_wire::payload::TaskAssignment;
use atm_wire::task::{Change, Effort, MADE_ON, Task, TaskId};
use atm_wire::{MachineName, MemberName};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::change::check_keys;
use super::{Graph, Outcome, TaskError, Tasks};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};

/// A task to be made.
#[derive(Debug, Clone, Default)]
pub struct TaskPlan {
    /// The title.
    pub subject: String,
    /// All that is to be done.
    pub description: String,
    /// What to show while it is being done.
    pub active_form: Option<String>,
    /// Whose it is.
    pub owner: Option<MemberName>,
    /// What it waits for.
    pub blocked_by: Vec<TaskId>,
    /// What waits for it.
    pub blocks: Vec<TaskId>,
    /// How urgent it is and how long it should take.
    pub effort: Effort,
    /// What else is to be kept with it.
    pub metadata: Vec<(String, Box<RawValue>)>,
}

impl Tasks<'_> {
    /// Makes a task. An owner other than `who` is told.
    pub fn create(&self, who: &MemberName, plan: &TaskPlan) -> Result<Outcome, OfficeError> {
        if plan.subject.trim().is_empty() {
            return Err(TaskError::NoSubject.into());
        }
        check_keys(plan.metadata.iter().map(|(key, _)| key))?;
        if let Some(owner) = &plan.owner {
            self.team.known_mailbox(owner)?;
        }
        let _turn = self.folder.link_turn()?;
        let listing = self.folder.list()?;
        self.check_links(plan, &listing)?;
        let made_on = self.sharing(None)?;
        let make = |id: TaskId, marks: &[(String, Box<RawValue>)]| {
            let mut task = Task::new(id.to_string(), plan.subject.trim(), &plan.description);
            task.active_form.clone_from(&plan.active_form);
            task.owner = plan.owner.as_ref().map(ToString::to_string);
            task.blocks = plan.blocks.iter().map(ToString::to_string).collect();
            task.blocked_by = plan.blocked_by.iter().map(ToString::to_string).collect();
            task.metadata = metadata(&[&plan.effort.metadata(), &plan.metadata, marks].concat());
            task
        };
        let (id, task) = match made_on {
            None => self.folder.create(|id| make(id, &[]))?,
            Some(machine) => self.create_shared(&machine, make)?,
        };
        self.record(Some(who), id);
        let created = || Done::TaskCreated(id);
        for before in &plan.blocked_by {
            self.update(*before, |_| Ok(vec![Change::AddBlocks(id)])).after(created)?;
        }
        for after in &plan.blocks {
            self.update(*after, |_| Ok(vec![Change::AddBlockedBy(id)])).after(created)?;
        }
        let mut outcome = self.outcome(id).after(created)?;
        task.owner.iter().for_each(|owner| self.note_home(owner, &mut outcome));
        self.tell_owner(who, id, &task, &mut outcome);
        Ok(outcome)
    }

    /// Makes a task of a shared team: under a number that no other machine gives, or else with this machine's mark.
    fn create_shared(
        &self,
        machine: &MachineName,
        make: impl Fn(TaskId, &[(String, Box<RawValue>)]) -> Task,
    ) -> Result<(TaskId, Task), OfficeError> {
        while let Some(id) = self.shared_number() {
            let task = make(id, &[]);
            let bad = |error: serde_json::Error| StoreError::BadContent {
                path: self.folder.path().to_owned(),
                why: error.to_string(),
            };
            // Only a client that does not look at the last number can have made this file meanwhile.
            if self.folder.adopt(id, &task.render().map_err(bad)?)? {
                return Ok((id, task));
            }
        }
        let mark = to_raw_value(machine.as_str()).ok().map(|mark| (MADE_ON.to_owned(), mark));
        Ok(self.folder.create(|id| make(id, mark.as_slice()))?)
    }

    /// All that it is linked to is there, and nothing would wait for itself.
    fn check_links(&self, plan: &TaskPlan, listing: &TaskListing) -> Result<(), OfficeError> {
        for id in plan.blocked_by.iter().chain(&plan.blocks) {
            self.find(*id, listing)?;
        }
        let graph = Graph::new(listing);
        let both =
            plan.blocks.iter().flat_map(|after| plan.blocked_by.iter().map(move |before| (*after, *before)));
        for (after, before) in both {
            if let Some(path) = graph.path(before, after) {
                let way = path.iter().map(ToString::to_string);
                let path = [after.to_string(), "the new one".to_owned()].into_iter().chain(way).collect();
                return Err(TaskError::Cycle { path }.into());
            }
        }
        Ok(())
    }

    /// Sends the owner, if that is somebody else, the task.
    pub(super) fn tell_owner(&self, who: &MemberName, id: TaskId, task: &Task, outcome: &mut Outcome) {
        let owner = task.owner.as_deref().and_then(|owner| MemberName::parse(owner).ok());
        let effort = task.effort();
        let about = TaskAssignment {
            task_id: Some(id.to_string()),
            subject: Some(task.subject.clone()),
            description: Some(task.description.clone()),
            assigned_by: Some(who.to_string()),
            timestamp: Some(self.now()),
            priority: effort.priority,
            estimated_hours: effort.estimated_hours,
        };
        self.tell(who, owner.filter(|owner| owner != who), about, outcome);
    }
}

/// Laid out as clients do, one level deep in a task's file.
fn metadata(pairs: &[(String, Box<RawValue>)]) -> Option<Box<RawValue>> {
    let member =
        |(key, value): &(String, Box<RawValue>)| format!("    {}: {value}", Value::from(key.as_str()));
    let members: Vec<String> = pairs.iter().map(member).collect();
    if members.is_empty() {
        return None;
    }
    RawValue::from_string(format!("{{\n{}\n  }}", members.join(",\n"))).ok()
}
