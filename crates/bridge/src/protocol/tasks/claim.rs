//! Whether a member gets a task.

use std::time::Duration;

use atm_office::tasks::claimed;
use atm_wire::Stamp;
use atm_wire::task::edit;

use super::home::is_same;
use super::{Owner, Seen, SharedTask};

/// Who wants a task.
#[derive(Debug, Clone)]
pub struct Claim<'a> {
    /// A member of this machine.
    pub who: &'a Owner,
    /// For how long.
    pub lease: Duration,
    /// Only if it has the task already.
    pub renews: bool,
    /// The time here: what the file says.
    pub at: Stamp,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is so, if this takes the entry's place.
    Grant(Box<SharedTask>),
    /// It is so already.
    Done,
    /// Who has the task, or how far it is, is not what this was decided on.
    Stale,
    /// Another one has it.
    Held(Owner, Option<Stamp>),
    /// It does not have the task.
    NotHeld,
    /// The task is done.
    Completed,
    /// The task is deleted.
    Gone,
    /// What was claimed before the bucket was lost may still hold.
    NotYet(Stamp),
    /// The text cannot be changed.
    Unreadable,
}

/// Decides it. `text` is the entry's text as it is spelled here.
pub fn claim(entry: &SharedTask, text: Option<&str>, claim: &Claim<'_>, seen: &Seen<'_>) -> Verdict {
    let Some(text) = text else { return Verdict::Gone };
    if entry.is_completed() {
        return if claim.renews { Verdict::NotHeld } else { Verdict::Completed };
    }
    let is_owner = is_same(entry.owner.as_ref(), Some(claim.who));
    if !is_owner {
        if claim.renews {
            return Verdict::NotHeld;
        }
        if let Some(holder) = entry.holder(seen.now) {
            return Verdict::Held(holder.clone(), entry.until);
        }
    }
    // Who has it keeps it; but a claim that is over, or is no claim, is granted anew.
    let keeps = is_owner && entry.until.is_some_and(|until| seen.now < until);
    if let Some(from) = entry.grants_from.filter(|from| !keeps && seen.now < *from) {
        return Verdict::NotYet(from);
    }
    let lease = claim.lease.min(seen.longest);
    let Ok(text) = edit(text, &claimed(&claim.who.name, claim.at, lease)) else { return Verdict::Unreadable };
    let again = if keeps { entry.again.clone() } else { None };
    // Never shorter than what was said before: the answer may be lost.
    let until = Some(seen.now.saturating_add(lease)).max(entry.until.filter(|_| keeps));
    let leads = seen.as_lead.to_vec();
    let grants_from = entry.grants_from.filter(|from| *from > seen.now);
    let since = if is_owner { entry.since } else { entry.version.saturating_add(1) };
    let (text, owner) = (Some(text), Some(claim.who.clone()));
    let value = SharedTask { text, owner, since, until, leads, grants_from, again, ..entry.clone() };
    Verdict::Grant(Box::new(value))
}
