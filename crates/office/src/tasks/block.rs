//! Which task waits for which: adding links and taking them away.

use atm_wire::MemberName;
use atm_wire::payload::BlockingNotification;
use atm_wire::task::{Change, TaskId};

use super::{Graph, Outcome, TaskError, Tasks};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};

/// Why a task waits; below `metadata`.
const REASON: &str = "blocked_reason";

/// What a task does not wait for any more.
#[derive(Debug, Clone)]
pub enum Unblock {
    /// Anything.
    All,
    /// These tasks.
    From(Vec<TaskId>),
}

impl Tasks<'_> {
    /// Makes a task wait for others. If its owner says why, the lead is told.
    pub fn block(
        &self,
        who: &MemberName,
        id: TaskId,
        by: &[TaskId],
        reason: Option<&str>,
    ) -> Result<Outcome, OfficeError> {
        let _turn = self.folder.link_turn()?;
        let listing = self.folder.list()?;
        self.find(id, &listing)?;
        let graph = Graph::new(&listing);
        for before in by {
            self.find(*before, &listing)?;
            if let Some(way) = graph.path(*before, id) {
                let path = [id].iter().chain(&way).map(ToString::to_string).collect();
                return Err(TaskError::Cycle { path }.into());
            }
        }
        let task = self.update(id, |_| {
            let links = by.iter().copied().map(Change::AddBlockedBy);
            Ok(links.chain(reason.map(|reason| Change::note(REASON, reason))).collect())
        })?;
        self.record(Some(who), id);
        for before in by {
            self.update(*before, |_| Ok(vec![Change::AddBlocks(id)])).after(|| Done::TaskChanged(id))?;
        }
        let mut outcome = self.outcome(id).after(|| Done::TaskChanged(id))?;
        let is_owner = task.owner.as_deref() == Some(who.as_str());
        let about = BlockingNotification {
            task_id: Some(id.to_string()),
            blocked_by: by.iter().map(ToString::to_string).collect(),
            reason: reason.map(ToOwned::to_owned),
        };
        let lead = self.lead_beside(who).filter(|_| is_owner && reason.is_some());
        self.tell(who, lead, about, &mut outcome);
        Ok(outcome)
    }

    /// Makes a task wait for others no more. Only its owner or the lead may: others could take it then.
    pub fn unblock(&self, who: &MemberName, id: TaskId, from: &Unblock) -> Result<Outcome, OfficeError> {
        let _turn = self.folder.link_turn()?;
        let listing = self.folder.list()?;
        self.find(id, &listing)?;
        let waits_for = Graph::new(&listing).before(id);
        let gone: Vec<TaskId> = match from {
            Unblock::All => waits_for.clone(),
            Unblock::From(ids) => ids.clone(),
        };
        self.update(id, |task| {
            self.may_decide(who, id, task)?;
            let mut changes: Vec<_> = gone.iter().copied().map(Change::DropBlockedBy).collect();
            if waits_for.iter().all(|before| gone.contains(before)) {
                changes.push(Change::forget(REASON));
            }
            Ok(changes)
        })?;
        self.record(Some(who), id);
        for before in gone {
            // One that is gone, or cannot be read, tells of nothing.
            if listing.tasks.iter().any(|(other, _)| *other == before) {
                self.update(before, |_| Ok(vec![Change::DropBlocks(id)])).after(|| Done::TaskChanged(id))?;
            }
        }
        self.outcome(id).after(|| Done::TaskChanged(id))
    }
}
