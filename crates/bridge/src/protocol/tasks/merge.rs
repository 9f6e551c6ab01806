//! What becomes of a change here and one elsewhere: field by field; where both are about who has the task, the bucket wins.

use std::collections::HashSet;

use atm_wire::message::Flaw;
use atm_wire::task::{Change, Field, MADE_ON, SHARED_ID, Status, Task, differences, edit};

use super::{Base, Owner, Seen, SharedTask};
use crate::name::Machine;

/// What comes of a change here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What the entry has to become; the entry itself if there is nothing to change.
    pub value: SharedTask,
    /// Who has the task, or how far it is, was changed here and is set back.
    pub is_refused: bool,
}

/// The names of owners, here and on all machines.
pub trait Names {
    /// Whom an owner's name here means.
    fn owner_of(&self, called: &str) -> Owner;
    /// What an owner is called here.
    fn called(&self, owner: &Owner) -> String;
}

/// Brings what was changed here, from `mirrored` to `local`, into the entry as it is now.
pub fn merge(
    (base, mirrored, local): (&SharedTask, &str, &str),
    entry: &SharedTask,
    names: &impl Names,
    seen: &Seen<'_>,
) -> Result<Merged, Flaw> {
    let Some(entry_text) = entry.text_here(|owner| names.called(owner))? else {
        return Ok(Merged { value: entry.clone(), is_refused: false });
    };
    let (from, to) = (Task::parse(mirrored)?, Task::parse(local)?);
    let changes = differences(&from, &to);
    let theirs = changed_there(base, entry);
    let wants_hold = changes.iter().any(|change| change.field() == Field::Hold);
    let may_hold = wants_hold && may_hold(base, entry, &to, names, seen);
    let stays = |change: &Change| match change.field() {
        Field::Hold => may_hold,
        Field::Link(_) => true,
        Field::Metadata(key) if key == MADE_ON || key == SHARED_ID => false,
        field => !theirs.contains(&field),
    };
    let mut kept: Vec<Change> = changes.into_iter().filter(stays).collect();
    if may_hold {
        // All of it: what this machine says of the hold is one word.
        let whole = differences(&Task::parse(&entry_text)?, &to);
        kept.retain(|change| change.field() != Field::Hold);
        kept.extend(whole.into_iter().filter(|change| change.field() == Field::Hold));
    }
    let text = edit(&entry_text, &kept)?;
    let task = Task::parse(&text)?;
    let is_refused =
        wants_hold && !may_hold && differences(&task, &to).iter().any(|change| change.field() == Field::Hold);
    if text == entry_text {
        return Ok(Merged { value: entry.clone(), is_refused });
    }
    let owner = match task.owner.as_deref() {
        Some(called) if may_hold => Some(names.owner_of(called)),
        _ if may_hold => None,
        _ => entry.owner.clone(),
    };
    let mut value = entry.with_hold(text, owner, seen)?;
    if value.is_completed() {
        value.again = None;
    }
    Ok(Merged { value, is_refused })
}

/// Whether the file's removal here removes the task.
pub fn may_delete(base: &SharedTask, entry: &SharedTask, seen: &Seen<'_>) -> bool {
    entry.is_completed() || (!entry.differs_in_hold(base) && entry.is_free_for(seen))
}

/// Whether this machine may say who has the task and how far it is.
fn may_hold(
    base: &SharedTask,
    entry: &SharedTask,
    local: &Task,
    names: &impl Names,
    seen: &Seen<'_>,
) -> bool {
    // While a claim may hold that is not known, nobody gets the task.
    let owner = local.owner.as_deref().map(|called| names.owner_of(called));
    let is_new = owner.is_some() && owner != entry.owner;
    if is_new && entry.grants_from.is_some_and(|from| seen.now < from) {
        return false;
    }
    if !entry.differs_in_hold(base) {
        return entry.is_free_for(seen);
    }
    // Both changed it. Who has it and is done with it has the last word.
    let is_own = entry.owner.as_ref().is_some_and(|owner| owner.machine == *seen.me);
    let completes = local.status == Status::Completed && !entry.is_completed();
    completes && is_own && entry.owner == base.owner
}

fn changed_there(base: &SharedTask, entry: &SharedTask) -> HashSet<Field> {
    let (Some(base), Some(entry)) = (base.task(), entry.task()) else { return HashSet::new() };
    differences(&base, &entry).iter().map(Change::field).collect()
}

/// The entry without an owner of this machine that another machine gave the task to, unless its lead may lead here. None if it
/// did nothing of the kind.
pub fn without_liberties(
    from: &Machine,
    base: Option<&Base>,
    local: Option<&str>,
    entry: &SharedTask,
    names: &impl Names,
    seen: &Seen<'_>,
) -> Option<SharedTask> {
    if from == seen.me || seen.as_lead.contains(from) {
        return None;
    }
    let is_mine = |task: &SharedTask| task.owner.as_ref().is_some_and(|owner| owner.machine == *seen.me);
    let text = entry.text_here(|owner| names.called(owner)).ok()??;
    // If the file here says the same, it was so before.
    let known = local.and_then(|text| Task::parse(text).ok()).and_then(|task| task.owner);
    let is_known = entry.owner.as_ref().map(|owner| names.called(owner)) == known;
    let is_given = base.is_none_or(|base| base.value.owner != entry.owner && base.was.is_none());
    if is_mine(entry) && is_given && !is_known && !entry.is_completed() { free(entry, &text) } else { None }
}

/// The entry as nobody's.
fn free(entry: &SharedTask, text: &str) -> Option<SharedTask> {
    let task = Task::parse(text).ok()?;
    let mut changes = vec![Change::Owner(None)];
    if task.status == Status::InProgress {
        changes.push(Change::Status(Status::Pending));
    }
    changes.extend([atm_wire::task::CLAIMED_AT, atm_wire::task::CLAIM_EXPIRY].map(Change::forget));
    let text = edit(text, &changes).ok()?;
    Some(SharedTask { text: Some(text), owner: None, until: None, leads: Vec::new(), ..entry.clone() })
}
