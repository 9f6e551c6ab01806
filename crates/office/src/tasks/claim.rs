//! Claiming, keeping and giving back: one task, one owner, for a time.

use std::time::Duration;

use atm_wire::status::State;
use atm_wire::task::{CLAIM_EXPIRY, CLAIMED_AT, Change, DEFAULT_LEASE, Status, Task, TaskId};
use atm_wire::{MemberName, Stamp};

use super::shared::LONGEST_SHARED_LEASE;
use super::view::{TaskView, holder};
use super::{Graph, Outcome, TaskError, Tasks};
use crate::error::{ErrorKind, OfficeError};
use crate::mail::partly::{After, Done};

/// When somebody was relieved of a task, and who; below `metadata`, until it is claimed again.
const RELEASED_AT: &str = "released_at";
const RELEASED_FROM: &str = "released_from";

impl Tasks<'_> {
    /// Claims a task for `who`: of any number who try, one gets it. Who has it already gets it for longer.
    pub fn claim(&self, who: &MemberName, id: TaskId, lease: Duration) -> Result<Outcome, OfficeError> {
        self.team.known_mailbox(who)?;
        let listing = self.folder.list()?;
        self.find(id, &listing)?;
        let by = Graph::new(&listing).blockers(id);
        if !by.is_empty() {
            return Err(TaskError::Blocked { id, by }.into());
        }
        self.take(who, id, lease)
    }

    /// Claims the first task that can be had: one that is `who`'s already, else one that is nobody's.
    pub fn claim_next(&self, who: &MemberName, lease: Duration) -> Result<Outcome, OfficeError> {
        self.team.known_mailbox(who)?;
        let listing = self.folder.list()?;
        let (graph, now) = (Graph::new(&listing), self.now());
        let is_mine = |task: &Task| task.owner.as_deref() == Some(who.as_str());
        let can_be_had = |(id, task): &&(TaskId, Task)| {
            let free = task.status != Status::Completed && holder(task, now).is_none();
            graph.blockers(*id).is_empty() && (free || (is_mine(task) && task.status == Status::Pending))
        };
        let mut choices: Vec<_> = listing.tasks.iter().filter(can_be_had).collect();
        choices.sort_by_key(|(id, task)| (!is_mine(task), *id));
        let mut busy = None;
        for (id, _) in choices {
            match self.take(who, *id, lease) {
                Ok(outcome) => return Ok(outcome),
                Err(error @ OfficeError::Task(TaskError::NotYet { .. })) => busy = Some(error),
                Err(error) if error.kind() == ErrorKind::Busy || error.kind() == ErrorKind::Invalid => {
                    return Err(error);
                }
                // Somebody was faster.
                Err(OfficeError::Task(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(busy) = busy {
            return Err(busy);
        }
        Err(TaskError::NoneReady { team: self.team.name().clone() }.into())
    }

    fn take(&self, who: &MemberName, id: TaskId, lease: Duration) -> Result<Outcome, OfficeError> {
        let now = self.now();
        if self.sharing(self.folder.load(id)?.as_ref())?.is_some() {
            self.claim_shared(who, id, lease, false)?;
            return self.taken(who, id);
        }
        self.update(id, |task| {
            if task.status == Status::Completed {
                return Err(TaskError::Completed { id }.into());
            }
            // Asked under the file's lock: the team may be shared since.
            if self.sharing(None)?.is_some() && lease > LONGEST_SHARED_LEASE {
                return Err(TaskError::LongLease { most: LONGEST_SHARED_LEASE }.into());
            }
            if self.sharing(Some(task))?.is_some() {
                let why = "it is just being told to them".to_owned();
                return Err(TaskError::Away { team: self.team.name().clone(), why }.into());
            }
            match holder(task, now) {
                Some((owner, until)) if owner != who.as_str() => {
                    Err(TaskError::Held { id, owner: owner.to_owned(), until }.into())
                }
                _ => Ok(claimed(who.as_str(), now, lease)),
            }
        })?;
        self.taken(who, id)
    }

    /// What follows from a claim.
    fn taken(&self, who: &MemberName, id: TaskId) -> Result<Outcome, OfficeError> {
        self.record(Some(who), id);
        let mut outcome = self.outcome(id).after(|| Done::TaskChanged(id))?;
        self.report(who, State::Running, &mut outcome);
        Ok(outcome)
    }

    /// Keeps a claim for as long again, from `now` on. Refused if `owner` does not have the task any more.
    pub fn renew(&self, owner: &MemberName, id: TaskId, now: Stamp) -> Result<TaskView, OfficeError> {
        let task = self.folder.load(id)?;
        if self.sharing(task.as_ref())?.is_some() {
            let length = task.and_then(|task| task.lease()).map_or(DEFAULT_LEASE, |lease| lease.length);
            self.claim_shared(owner, id, length.min(LONGEST_SHARED_LEASE), true)?;
            return self.get(id).after(|| Done::TaskChanged(id));
        }
        self.update(id, |task| {
            if task.owner.as_deref() != Some(owner.as_str()) || task.status == Status::Completed {
                return Err(TaskError::NotHeld { id, who: owner.to_string() }.into());
            }
            Ok(vec![Change::note(CLAIMED_AT, &now.to_string())])
        })?;
        self.get(id).after(|| Done::TaskChanged(id))
    }

    /// Gives a task back. Only its owner or the lead may.
    pub fn release(&self, who: &MemberName, id: TaskId) -> Result<Outcome, OfficeError> {
        let now = self.now();
        let changed = self.change_hold(id, |task| {
            self.may_decide(who, id, task)?;
            if task.status == Status::Completed {
                return Err(TaskError::Completed { id }.into());
            }
            Ok(released(task, now))
        })?;
        self.record(Some(who), id);
        let mut outcome = self.outcome(id).after(|| Done::TaskChanged(id))?;
        self.note_request(&changed, &mut outcome);
        Ok(outcome)
    }

    /// Takes all that is not done away from somebody who is gone, and says what that was.
    pub fn release_all(&self, owner: &MemberName, now: Stamp) -> Result<Vec<TaskId>, OfficeError> {
        let has =
            |task: &Task| task.owner.as_deref() == Some(owner.as_str()) && task.status != Status::Completed;
        let mut gone = Vec::new();
        for (id, _) in self.folder.list()?.tasks.into_iter().filter(|(_, task)| has(task)) {
            let mut had = false;
            let updated = self.change_hold(id, |task| {
                had = has(task);
                Ok(if had { released(task, now) } else { Vec::new() })
            });
            match updated {
                Ok(_) if had => {
                    self.record(None, id);
                    gone.push(id);
                }
                // Somebody else has taken or removed it meanwhile.
                Ok(_) | Err(OfficeError::Task(TaskError::NoTask { .. })) => {}
                Err(error) if gone.is_empty() => return Err(error),
                Err(error) => return Err(error).after(|| Done::TasksReleased(gone)),
            }
        }
        Ok(gone)
    }

    /// The tasks whose lease is over: anybody may claim them.
    pub fn expired(&self, now: Stamp) -> Result<Vec<TaskView>, OfficeError> {
        let listing = self.folder.list()?;
        let graph = Graph::new(&listing);
        let all = listing.tasks.iter().map(|(id, task)| TaskView::new(*id, task, &graph, now));
        Ok(all.filter(|task| task.lease.as_ref().is_some_and(|lease| lease.expired)).collect())
    }
}

/// What a claim writes.
pub fn claimed(who: &str, now: Stamp, lease: Duration) -> Vec<Change> {
    vec![
        Change::Owner(Some(who.to_owned())),
        Change::Status(Status::InProgress),
        Change::note(CLAIMED_AT, &now.to_string()),
        Change::number(CLAIM_EXPIRY, lease.as_secs_f64()),
        Change::forget(RELEASED_AT),
        Change::forget(RELEASED_FROM),
    ]
}

fn released(task: &Task, now: Stamp) -> Vec<Change> {
    let mut changes = vec![Change::Owner(None)];
    let Some(owner) = &task.owner else { return changes };
    if task.status == Status::InProgress {
        changes.push(Change::Status(Status::Pending));
    }
    changes.extend(without_lease());
    changes.extend([Change::note(RELEASED_AT, &now.to_string()), Change::note(RELEASED_FROM, owner)]);
    changes
}

pub(super) fn without_lease() -> [Change; 2] {
    [Change::forget(CLAIMED_AT), Change::forget(CLAIM_EXPIRY)]
}
