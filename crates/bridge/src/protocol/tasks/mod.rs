//! The tasks of shared teams: what the machines have in common of each, and what is decided about it.
//!
//! | module | decides |
//! |---|---|
//! | [`change`](mod@change) | whether a task is given away, given back, completed or deleted by who asks for it |
//! | [`claim`](mod@claim) | whether a member gets a task |
//! | [`home`] | whose a task is after its owner has moved |
//! | [`merge`](mod@merge) | what becomes of a change here and one elsewhere |

pub mod change;
pub mod claim;
pub mod home;
pub mod merge;
#[cfg(test)]
mod tests;

use std::time::Duration;

use atm_wire::Stamp;
use atm_wire::message::Flaw;
use atm_wire::task::{Change, Field, Lease, Status, Task, TaskId, differences, edit};
use serde::{Deserialize, Serialize};

use crate::name::Machine;
use home::is_same;

/// By how much the ends of claims are kept apart from what is granted next: clocks are known up to a part of this.
pub const MARGIN: Duration = Duration::from_secs(2);

/// Who does a task: a name, and the machine whose name that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The name at home.
    pub name: String,
    /// The home.
    pub machine: Machine,
    /// The epoch of the member's stay there, 0 for one that is not the member whose homes are registered; none if that was not
    /// known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<u64>,
}

/// What the machines of a realm have in common of a task: an entry of a bucket, replaced by compare-and-set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedTask {
    /// The team, by its shared name. With the number: an entry that stands elsewhere is none.
    pub team: String,
    /// The number.
    pub id: TaskId,
    /// What tells the task from every other one, also under another number.
    pub shared_id: String,
    /// Counts the versions of the task, over all buckets: of two, the higher one is the newer. What is put again keeps its
    /// number.
    #[serde(default)]
    pub version: u64,
    /// It got this number in place of another one that was taken: several machines may do that at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
    /// The task's file, as the machine has it that put this; none if the task is deleted.
    pub text: Option<String>,
    /// Whom the owner in the text means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The version since which that is so: of two holds of one time, the one that began before the other is right.
    #[serde(default)]
    pub since: u64,
    /// When the owner's claim ends, by the server's clock; an owner without it has the task until it is taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Stamp>,
    /// The machines whose leads may take it from its owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leads: Vec<Machine>,
    /// Nobody but its owner gets it before, by the server's clock: an earlier bucket was lost with what was claimed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants_from: Option<Stamp>,
    /// What this was in the bucket that was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Place>,
}

/// An entry of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Which bucket: another one of the same name is told from it.
    pub bucket: String,
    /// Which version of the entry.
    pub revision: u64,
}

/// What this machine remembers of a task: the entry that it saw last, and the file as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The entry's version; 0 if this bucket has none yet.
    pub revision: u64,
    /// The entry.
    pub value: SharedTask,
    /// The text of the file that is no request any more; none while there is no file.
    pub mirrored: Option<String>,
    /// What `mirrored` is just taking the place of: should the process die meanwhile, this is no request, either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// What it was in a bucket that was lost, until this machine has looked at the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Place>,
}

/// The file that is just being replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Its text; none if there is no file.
    pub text: Option<String>,
}

/// Who decides, and when.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// This machine.
    pub me: &'a Machine,
    /// The machines whose leads may lead here.
    pub as_lead: &'a [Machine],
    /// The server's clock.
    pub now: Stamp,
    /// The longest lease.
    pub longest: Duration,
}

impl SharedTask {
    /// The task in it; none if it is deleted, or cannot be read.
    pub fn task(&self) -> Option<Task> {
        Task::parse(self.text.as_deref()?).ok()
    }

    /// Whether the task is done.
    pub fn is_completed(&self) -> bool {
        self.task().is_some_and(|task| task.status == Status::Completed)
    }

    /// Who has it now. A claim that is over has nobody, but only when that is so by every clock.
    pub fn holder(&self, now: Stamp) -> Option<&Owner> {
        let is_over = self.until.is_some_and(|until| now >= until.saturating_add(MARGIN));
        self.owner.as_ref().filter(|_| !is_over)
    }

    /// The text with the owner as it is called here.
    pub fn text_here(&self, called: impl Fn(&Owner) -> String) -> Result<Option<String>, Flaw> {
        let Some(text) = &self.text else { return Ok(None) };
        let owner = self.owner.as_ref().map(called);
        if Task::parse(text)?.owner == owner {
            return Ok(Some(text.clone()));
        }
        edit(text, &[Change::Owner(owner)]).map(Some)
    }

    /// Whether who does it, how far it is, or until when is not as in another version.
    pub fn differs_in_hold(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.task(), other.task()) else {
            return self.text.is_some() != other.text.is_some();
        };
        let is_hold = |change: &Change| change.field() == Field::Hold && !matches!(change, Change::Owner(_));
        !is_same(self.owner.as_ref(), other.owner.as_ref()) || differences(&one, &two).iter().any(is_hold)
    }

    /// Who has it, if this machine may not take it from them: it is not their home, and may not lead there.
    fn holder_against(&self, seen: &Seen<'_>) -> Option<&Owner> {
        let owner = if self.is_completed() { self.owner.as_ref() } else { self.holder(seen.now) };
        owner.filter(|owner| owner.machine != *seen.me && !self.leads.contains(seen.me))
    }

    /// What is done needs no record of an earlier bucket: nobody is to get it.
    fn settled(mut self) -> Self {
        if self.is_completed() {
            self.again = None;
        }
        self
    }

    /// The next version of it.
    #[must_use]
    pub fn renewed(self) -> Self {
        Self { version: self.version.saturating_add(1), ..self }
    }

    /// The task as deleted.
    #[must_use]
    pub fn gone(&self) -> Self {
        Self { text: None, owner: None, until: None, leads: Vec::new(), again: None, ..self.clone() }
    }

    /// The same with another text, in which `owner` may have another hold on it.
    pub fn with_hold(&self, text: String, owner: Option<Owner>, seen: &Seen<'_>) -> Result<Self, Flaw> {
        let (was, lease) = (self.task().and_then(|task| task.lease()), Task::parse(&text)?.lease());
        let is_owner = is_same(owner.as_ref(), self.owner.as_ref());
        let is_same = is_owner && lease == was;
        // As long as its owner was told, however long that is.
        let end = |lease: Lease| seen.now.saturating_add(lease.length);
        let until = if is_same { self.until } else { lease.filter(|_| owner.is_some()).map(end) };
        let leads = match &owner {
            Some(owner) if owner.machine == *seen.me => seen.as_lead.to_vec(),
            _ if is_owner => self.leads.clone(),
            Some(_) => vec![seen.me.clone()],
            None => Vec::new(),
        };
        let grants_from = self.grants_from.filter(|from| *from > seen.now);
        let since = if is_owner { self.since } else { self.version.saturating_add(1) };
        Ok(Self { text: Some(text), owner, since, until, leads, grants_from, ..self.clone() })
    }
}
