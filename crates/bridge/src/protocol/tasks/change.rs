//! Whether a task is given away, given back, completed or deleted by who asks for it.

use atm_wire::task::{Change, Field, Status, Task, edit};

use super::claim::Verdict;
use super::home::is_same;
use super::merge::Names;
use super::{Seen, SharedTask};

/// What somebody on this machine wants of a task. That it may, by the rules of its team, was decided by what `owner` and
/// `status` say.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Who had the task, as it is called here.
    pub owner: Option<&'a str>,
    /// How far it was.
    pub status: Status,
    /// What changes; `None` deletes the task.
    pub changes: Option<Vec<Change>>,
}

impl Wanted<'_> {
    /// Who has it then, and how far it is.
    fn hold(&self) -> (Option<&str>, &Status) {
        let mut hold = (self.owner, &self.status);
        for change in self.changes.iter().flatten() {
            match change {
                Change::Owner(owner) => hold.0 = owner.as_deref(),
                Change::Status(status) => hold.1 = status,
                _ => {}
            }
        }
        hold
    }
}

/// Decides it. `text` is the entry's text as it is spelled here.
pub fn change(
    entry: &SharedTask,
    text: Option<&str>,
    wanted: &Wanted<'_>,
    names: &impl Names,
    seen: &Seen<'_>,
) -> Verdict {
    let Some(text) = text else {
        return if wanted.changes.is_none() { Verdict::Done } else { Verdict::Gone };
    };
    let Ok(task) = Task::parse(text) else { return Verdict::Unreadable };
    let hold = (task.owner.as_deref(), &task.status);
    let is_as_seen = hold == (wanted.owner, &wanted.status);
    let Some(changes) = &wanted.changes else {
        let unknown = entry.grants_from.filter(|from| seen.now < *from);
        return match (entry.holder_against(seen), unknown) {
            _ if !is_as_seen => Verdict::Stale,
            _ if entry.is_completed() => Verdict::Grant(Box::new(entry.gone())),
            (Some(holder), _) => Verdict::Held(holder.clone(), entry.until),
            (None, Some(from)) => Verdict::NotYet(from),
            (None, None) => Verdict::Grant(Box::new(entry.gone())),
        };
    };
    // Who asks again because the answer was lost finds done what it wanted, and not what it saw.
    let is_so = hold == wanted.hold();
    if !is_so {
        if !is_as_seen {
            return Verdict::Stale;
        }
        if let Some(holder) = entry.holder_against(seen) {
            return Verdict::Held(holder.clone(), entry.until);
        }
    }
    let stays = |change: &&Change| !is_so || change.field() != Field::Hold;
    let changes: Vec<Change> = changes.iter().filter(stays).cloned().collect();
    let Ok(edited) = edit(text, &changes) else { return Verdict::Unreadable };
    if edited == text {
        return Verdict::Done;
    }
    let owner = match wanted.hold().0 {
        same if same == task.owner.as_deref() => entry.owner.clone(),
        other => other.map(|called| names.owner_of(called)),
    };
    let is_given = owner.is_some() && !is_same(owner.as_ref(), entry.owner.as_ref());
    // While a claim may hold that is not known, only a holder that is known says how far it is.
    let is_mine = entry.owner.as_ref().is_some_and(|owner| owner.machine == *seen.me);
    let needs_all = is_given || !is_mine && !is_so;
    if let Some(from) = entry.grants_from.filter(|from| needs_all && seen.now < *from) {
        return Verdict::NotYet(from);
    }
    match entry.with_hold(edited, owner, seen) {
        Ok(value) => Verdict::Grant(Box::new(value.settled())),
        Err(_) => Verdict::Unreadable,
    }
}
