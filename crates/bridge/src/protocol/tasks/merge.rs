//! What becomes of a change here and one elsewhere: field by field; where both are about who has the task, the bucket wins.

use std::collections::HashSet;

use atm_wire::message::Flaw;
use atm_wire::task::{Change, Field, MADE_ON, SHARED_ID, Status, Task, differences, edit};

use super::home::is_same;
use super::{Base, Owner, Seen, SharedTask};
use crate::name::Machine;

/// What comes of a change here.
#[derive(Debug, Clone)]
pub struct Merged {
    /// What the entry has to become; the entry itself if there is nothing to change.
    pub value: SharedTask,
    /// Who has the task, or how far it is, was changed here and is set back.
    pub is_refused: bool,
    /// What else was changed here and is set back: it was changed elsewhere before.
    pub lost: Vec<Change>,
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
        return Ok(Merged { value: entry.clone(), is_refused: false, lost: Vec::new() });
    };
    let (from, to) = (Task::parse(mirrored)?, Task::parse(local)?);
    let changes = differences(&from, &to);
    let theirs = changed_there(base, entry);
    let wants_hold = changes.iter().any(|change| change.field() == Field::Hold);
    let may_hold = wants_hold && may_hold(base, entry, &to, names, seen);
    let stays = |change: &Change| match change.field() {
        Field::Hold => may_hold,
        Field::Link(_) => true,
        field if is_mark(&field) => false,
        field => !theirs.contains(&field),
    };
    let (mut kept, mut lost): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(stays);
    // What is so in both is not lost.
    let still = differences(&Task::parse(&entry_text)?, &to);
    let is_text = |field: &Field| !matches!(field, Field::Hold | Field::Link(_)) && !is_mark(field);
    lost.retain(|change| {
        is_text(&change.field()) && still.iter().any(|other| other.field() == change.field())
    });
    if may_hold {
        // All of it: what this machine says of the hold is one word.
        kept.retain(|change| change.field() != Field::Hold);
        kept.extend(still.into_iter().filter(|change| change.field() == Field::Hold));
    }
    let text = edit(&entry_text, &kept)?;
    let task = Task::parse(&text)?;
    // Who wanted what is so anyway has lost nothing.
    let is_refused = wants_hold && !may_hold && (task.owner != to.owner || task.status != to.status);
    if text == entry_text {
        return Ok(Merged { value: entry.clone(), is_refused, lost });
    }
    let owner = match task.owner.as_deref() {
        Some(called) if may_hold => Some(names.owner_of(called)),
        _ if may_hold => None,
        _ => entry.owner.clone(),
    };
    Ok(Merged { value: entry.with_hold(text, owner, seen)?.settled(), is_refused, lost })
}

/// Whether it is what this program marks tasks by.
fn is_mark(field: &Field) -> bool {
    matches!(field, Field::Metadata(key) if key == MADE_ON || key == SHARED_ID)
}

/// What was written into a file here, for who has to write it again.
pub fn words(changes: &[Change]) -> String {
    let word = |change: &Change| match change {
        Change::Subject(text) => format!("subject: {text}"),
        Change::Description(text) => format!("description: {text}"),
        Change::ActiveForm(text) => format!("activeForm: {text}"),
        Change::Metadata(key, value) | Change::Other(key, value) => {
            format!("{key}: {}", value.as_ref().map_or("(removed)", |value| value.get()))
        }
        _ => String::new(),
    };
    changes.iter().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("\n")
}

/// What was changed in a file here, from `mirrored` to `local`, beside who has the task; all of it if there was no file.
pub fn edits(mirrored: Option<&str>, local: &str) -> Vec<Change> {
    let from = mirrored.map_or_else(|| Ok(Task::default()), Task::parse);
    let (Ok(from), Ok(to)) = (from, Task::parse(local)) else { return Vec::new() };
    let mut changes = differences(&from, &to);
    changes.retain(|change| change.field() != Field::Hold && !is_mark(&change.field()));
    changes
}

/// Whether the file's removal here removes the task.
pub fn may_delete(base: &SharedTask, entry: &SharedTask, seen: &Seen<'_>) -> bool {
    let is_known = entry.grants_from.is_none_or(|from| seen.now >= from);
    let is_free = !entry.differs_in_hold(base) && entry.holder_against(seen).is_none();
    entry.is_completed() || (is_known && is_free)
}

/// Whether this machine may say who has the task and how far it is.
fn may_hold(
    base: &SharedTask,
    entry: &SharedTask,
    local: &Task,
    names: &impl Names,
    seen: &Seen<'_>,
) -> bool {
    // While a claim may hold that is not known, nobody gets the task, and only a holder that is known says how far it is.
    let owner = local.owner.as_deref().map(|called| names.owner_of(called));
    let is_new = owner.is_some() && !is_same(owner.as_ref(), entry.owner.as_ref());
    let is_own = entry.owner.as_ref().is_some_and(|owner| owner.machine == *seen.me);
    if (is_new || !is_own) && entry.grants_from.is_some_and(|from| seen.now < from) {
        return false;
    }
    if !entry.differs_in_hold(base) {
        return entry.holder_against(seen).is_none();
    }
    // Both changed it. Who has it and is done with it has the last word.
    let completes = local.status == Status::Completed && !entry.is_completed();
    completes && is_own && is_same(entry.owner.as_ref(), base.owner.as_ref())
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
    let is_other = |base: &Base| !is_same(base.value.owner.as_ref(), entry.owner.as_ref());
    let is_given = base.is_none_or(|base| is_other(base) && base.was.is_none());
    if is_mine(entry) && is_given && !is_known && !entry.is_completed() { free(entry, &text) } else { None }
}

/// The entry with the hold of a member of this machine that another machine took away and may not: the claim is not over,
/// and that machine may not lead here. None if it did nothing of the kind. The server's clock is never told ahead of it, so
/// who keeps to the protocol takes no claim before its end by any machine's clock.
pub fn with_hold_back(
    from: &Machine,
    base: &Base,
    entry: &SharedTask,
    seen: &Seen<'_>,
) -> Option<SharedTask> {
    let had = &base.value;
    let was_mine = had.owner.as_ref().is_some_and(|owner| owner.machine == *seen.me);
    let is_live = had.until.is_some_and(|until| seen.now < until) && !had.is_completed();
    // Of a task that several machines gave another number, all but one are taken back by anybody.
    let is_deleted = entry.text.is_none() && !entry.moved;
    let is_other = !is_same(entry.owner.as_ref(), had.owner.as_ref());
    let is_taken = is_deleted || entry.text.is_some() && (is_other || entry.is_completed());
    let has_moved =
        matches!((&had.owner, &entry.owner), (Some(had), Some(new)) if had.has_moved_to(new, from));
    // A hold that was there before this one was taken by this machine, and got back by its own. If a server forgot one of two
    // that began at the same version, their homes decide alike.
    let began = |task: &SharedTask| {
        let owner = task.owner.as_ref().map(|owner| (owner.machine.to_string(), owner.name.clone()));
        (task.since, owner)
    };
    let is_back = entry.text.is_some() && entry.owner.is_some() && began(entry) < began(had);
    // Who may lead here is decided here, and now: what the entry says of it may be older.
    let may = from == seen.me || seen.as_lead.contains(from) || base.was.is_some() || is_back;
    if !(was_mine && is_live && is_taken) || may || has_moved {
        return None;
    }
    let back = if entry.text.is_some() {
        entry.clone()
    } else {
        SharedTask { text: had.text.clone(), ..entry.clone() }
    };
    held_as(&back, had).map(SharedTask::renewed)
}

/// What takes the place of an entry that is older than what is remembered: what is remembered; but who claimed the task by the
/// entry, knowing nothing of what came after, keeps it while nobody has it by what is remembered.
pub fn put_again(base: &SharedTask, entry: &SharedTask, seen: &Seen<'_>) -> SharedTask {
    let is_live = |task: &SharedTask| {
        task.owner.is_some() && task.until.is_some_and(|until| seen.now < until) && !task.is_completed()
    };
    let is_open = base.text.is_some() && !base.is_completed();
    if !is_open || is_live(base) || !is_live(entry) {
        return base.clone();
    }
    held_as(base, entry).map_or_else(|| base.clone(), SharedTask::renewed)
}

/// A task, held as another version of it says.
fn held_as(task: &SharedTask, other: &SharedTask) -> Option<SharedTask> {
    let (text, theirs) = (task.text.as_deref()?, other.text.as_deref()?);
    let mut hold = differences(&Task::parse(text).ok()?, &Task::parse(theirs).ok()?);
    hold.retain(|change| change.field() == Field::Hold);
    let text = Some(edit(text, &hold).ok()?);
    let (owner, since, until, leads) = (other.owner.clone(), other.since, other.until, other.leads.clone());
    Some(SharedTask { text, owner, since, until, leads, ..task.clone() })
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
