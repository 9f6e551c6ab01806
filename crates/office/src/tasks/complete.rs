//! Completing a task.

use atm_wire::MemberName;
use atm_wire::payload::TaskCompletion;
use atm_wire::status::State;
use atm_wire::task::{Change, Status, Task, TaskId};

use super::claim::without_lease;
use super::{Graph, Outcome, TaskError, Tasks};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};

/// When a task was completed, how long it took, and what is worth knowing; below `metadata`.
pub(super) const COMPLETED_AT: &str = "completed_at";
const ACTUAL_HOURS: &str = "actual_hours";
const NOTES: &str = "notes";

/// How a task was completed.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    /// How long it took.
    pub hours: Option<f64>,
    /// What is worth knowing.
    pub notes: Option<String>,
    /// Whether the lead is told.
    pub tell: bool,
}

impl Tasks<'_> {
    /// Completes a task and says which ones can begin now. Only its owner or the lead may. In a team that is shared with other
    /// machines, where an answer may be lost on the way, who asks again gets the same answer.
    pub fn complete(&self, who: &MemberName, id: TaskId, how: &Completion) -> Result<Outcome, OfficeError> {
        let changed = self.change_hold(id, |task| {
            self.may_decide(who, id, task)?;
            if task.status == Status::Completed {
                if self.sharing(Some(task))?.is_some() {
                    return Ok(vec![Change::Status(Status::Completed)]);
                }
                return Err(TaskError::Completed { id }.into());
            }
            let mut changes = vec![Change::Status(Status::Completed)];
            changes.extend(without_lease());
            changes.push(Change::note(COMPLETED_AT, &self.now().to_string()));
            changes.extend(how.hours.map(|hours| Change::number(ACTUAL_HOURS, hours)));
            changes.extend(how.notes.as_deref().map(|notes| Change::note(NOTES, notes)));
            Ok(changes)
        })?;
        self.record(Some(who), id);
        let mut outcome = self.outcome(id).after(|| Done::TaskChanged(id))?;
        self.note_request(&changed, &mut outcome);
        self.follow_completion(who, &changed.task, how, &mut outcome)?;
        Ok(outcome)
    }

    /// What follows from a task's completion, however it was completed: which tasks can begin, the report of who did it,
    /// and word to the lead.
    pub(super) fn follow_completion(
        &self,
        who: &MemberName,
        task: &Task,
        how: &Completion,
        outcome: &mut Outcome,
    ) -> Result<(), OfficeError> {
        let id = outcome.task.id;
        let listing = self.folder.list().after(|| Done::TaskChanged(id))?;
        if !outcome.requested {
            outcome.unblocked = Graph::new(&listing).freed_by(id);
        }
        let doer = task.owner.as_deref().and_then(|owner| MemberName::parse(owner).ok());
        self.report(&doer.unwrap_or_else(|| who.clone()), State::Complete, outcome);
        let about = TaskCompletion {
            task_id: Some(id.to_string()),
            actual_hours: how.hours,
            notes: how.notes.clone(),
        };
        self.tell(who, self.lead_beside(who).filter(|_| how.tell), about, outcome);
        Ok(())
    }
}
