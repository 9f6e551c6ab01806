//! Numbers of tasks: reserved among all machines.

use std::collections::{BTreeMap, BTreeSet};

use atm_wire::task::{Change, MADE_ON, SHARED_ID, Task, TaskId, edit};

use super::entries::{Away, Entries, Entry, LastNumber};
use super::files::{TaskFiles, Texts};
use super::mirror::{Mirror, MirrorError};
use super::reach;
use super::renumber::Around;
use super::settle::{is_same_task, unreadable};
use crate::nats::Set;
use crate::protocol::tasks::{Base, SharedTask};

/// How often a number is tried for that others try for at the same time.
const ATTEMPTS: usize = 16;
/// How many numbers are left out in a bucket that was made anew.
const GAP: usize = 100;
/// How often the numbers of new tasks are looked at again: a task is marked first, and moved then.
const ROUNDS: usize = 3;

/// What a new task's number is among all machines.
enum Number {
    /// It has it.
    Kept,
    /// It gets another one: another task has it, or it is far above all others.
    Taken,
    /// It can be reserved, if no machine has given it or a later one.
    Wanted,
}

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// Reserves the numbers after every one that any machine has given, all at once.
    pub(super) fn reserve(&mut self, team: &str, count: usize) -> Result<Vec<TaskId>, MirrorError> {
        for _ in 0..ATTEMPTS {
            let known = self.last_number(team)?;
            let after = known.last.max(self.highest(team)?);
            let ids: Vec<TaskId> = std::iter::successors(after.next(), |id| id.next()).take(count).collect();
            let Some(last) = ids.last().copied().filter(|_| ids.len() == count) else {
                return Err(Away(format!("team {team} has no number left after {after}")).into());
            };
            if let Set::Done(_) = self.entries.set_last_number(team, known, last)? {
                self.team(team).reserved.extend(ids.iter().copied());
                self.reserved(team, last)?;
                return Ok(ids);
            }
        }
        Err(Away("others reserve numbers at the same time".to_owned()).into())
    }

    /// The highest number that is known here.
    fn highest(&mut self, team: &str) -> Result<TaskId, MirrorError> {
        let files: Vec<TaskId> = self.texts(team)?.keys().copied().collect();
        Ok(reach::highest(self.given(team)?.into_iter().chain(files)))
    }

    /// The highest number that a machine gave to a task, as far as it is known here.
    fn highest_given(&mut self, team: &str) -> Result<TaskId, MirrorError> {
        Ok(reach::highest(self.given(team)?))
    }

    /// The last number that was given, by the bucket. One that is far above all others says nothing.
    fn said_last_number(&mut self, team: &str) -> Result<LastNumber, MirrorError> {
        let known = self.entries.last_number(team)?;
        let last = if self.is_far(team, known.last)? { TaskId::NONE } else { known.last };
        Ok(LastNumber { last, ..known })
    }

    /// The last number that was given. In a bucket that was made anew or set back it begins so far above all that this machine
    /// knows that no other machine has a task by that number.
    fn last_number(&mut self, team: &str) -> Result<LastNumber, MirrorError> {
        let known = self.said_last_number(team)?;
        self.hear_of(team, known)?;
        let is_set_back = known.last < self.highest_given(team)?;
        let is_new = known.revision == 0 && self.memory.is_renewed;
        if !is_set_back && !is_new {
            return Ok(known);
        }
        let mut last = self.highest(team)?;
        for _ in 0..GAP {
            last = last.next().unwrap_or(last);
        }
        // If another machine was faster, its number counts.
        self.entries.set_last_number(team, known, last)?;
        self.said_last_number(team)
    }

    /// Reserves those of these numbers that are above every one that a machine has given, all at once: what is remembered is saved
    /// once for any number of new tasks.
    fn reserve_these(&mut self, team: &str, ids: &BTreeSet<TaskId>) -> Result<BTreeSet<TaskId>, MirrorError> {
        for _ in 0..ATTEMPTS {
            if ids.is_empty() {
                break;
            }
            let known = self.last_number(team)?;
            let mut own: BTreeSet<TaskId> = ids.intersection(&self.team(team).reserved).copied().collect();
            let mut free: BTreeSet<TaskId> = ids.iter().filter(|id| **id > known.last).copied().collect();
            // The next one would be further still.
            for id in ids {
                if free.contains(id) && self.is_far(team, *id)? {
                    free.remove(id);
                }
            }
            let Some(highest) = free.last().copied() else { return Ok(own) };
            match self.entries.set_last_number(team, known, highest) {
                Ok(Set::Done(_)) => {
                    self.team(team).reserved.extend(free.iter().copied());
                    own.extend(free);
                    return self.reserved(team, highest).map(|()| own);
                }
                Ok(Set::Lost) => {}
                Err(away) => {
                    self.unheard.insert(team.to_owned(), (free, known.revision));
                    return Err(away.into());
                }
            }
        }
        Ok(BTreeSet::new())
    }

    /// Finds out whether this machine has the numbers of which the bucket did not say so.
    fn hear_of(&mut self, team: &str, known: LastNumber) -> Result<(), MirrorError> {
        let Some((ids, revision)) = self.unheard.get(team) else { return Ok(()) };
        // While its version is there, they may still come.
        if known.revision == *revision {
            return Ok(());
        }
        let ids = ids.clone();
        self.unheard.remove(team);
        let highest = ids.last().copied().filter(|highest| known.is_own && *highest == known.last);
        if let Some(highest) = highest {
            self.team(team).reserved.extend(ids);
            self.reserved(team, highest)?;
        }
        Ok(())
    }

    fn reserved(&mut self, team: &str, id: TaskId) -> Result<(), MirrorError> {
        let known = self.team(team);
        known.reserved.insert(id);
        known.last = known.last.max(Some(id));
        self.save()?;
        Ok(self.files.reserve(team, id)?)
    }

    /// Sees to the numbers of all new tasks of this machine, before any of them is told to others: links follow a task that
    /// gets another number, and nobody else has seen them by then.
    pub(super) fn number_new(&mut self, team: &str) -> Result<(), MirrorError> {
        for _ in 0..ROUNDS {
            self.unsettled.clear();
            let texts = self.texts(team)?;
            let new: Vec<(TaskId, String)> = texts
                .iter()
                .filter_map(|(id, text)| Some((*id, text.clone()?)))
                // One that cannot be marked stays as it is, and stops no other.
                .filter(|(id, text)| can_be_marked(text) && self.is_new(team, *id, text, &texts))
                .collect();
            // Should their numbers not be had, none of them is told to anybody.
            self.unsettled = new.iter().map(|(id, _)| *id).collect();
            let (mut moves, mut wanted) = (Vec::new(), BTreeSet::new());
            for (id, text) in &new {
                match self.number_of(team, *id, text)? {
                    Number::Kept => {}
                    Number::Taken => moves.push(*id),
                    Number::Wanted => drop(wanted.insert(*id)),
                }
            }
            let reserved = self.reserve_these(team, &wanted)?;
            moves.extend(wanted.difference(&reserved));
            let moves: Vec<(TaskId, String)> = new.into_iter().filter(|(id, _)| moves.contains(id)).collect();
            self.unsettled = moves.iter().map(|(id, _)| *id).collect();
            if moves.is_empty() {
                return Ok(());
            }
            self.begin_moves(team, &moves)?;
            let mut around = Around::of(texts);
            for (id, _) in moves {
                // A link in it may have followed another task just now.
                let Some(text) = around.texts.get(&id).cloned().flatten() else { continue };
                let entry = self.entries.get(team, id)?;
                let instead = match self.in_reach(team, id, entry)? {
                    Some(Entry { value: Some(value), .. }) => self.text_here(team, &value)?,
                    _ => None,
                };
                self.give_another_number(team, id, &text, instead.as_deref(), &mut around)?;
            }
            self.save()?;
        }
        Ok(())
    }

    /// Whether a file is a task of which nobody has heard under its number.
    fn is_new(&self, team: &str, id: TaskId, text: &str, texts: &Texts) -> bool {
        let is_known = self
            .base(team, id)
            .is_some_and(|base| base.mirrored.is_some() || is_same_task(text, &base.value));
        let is_reserved = self.memory.teams.get(team).is_some_and(|known| known.reserved.contains(&id));
        !is_known && !is_reserved && self.moved_from(team, id, texts).is_none()
    }

    /// Whether a new task has its number among all machines.
    fn number_of(&mut self, team: &str, id: TaskId, text: &str) -> Result<Number, MirrorError> {
        let entry = self.entries.get(team, id)?;
        if entry.is_none() && self.is_far(team, id)? {
            return Ok(Number::Taken);
        }
        Ok(match entry {
            Some(Entry { value: Some(value), .. }) if !is_same_task(text, &value) => Number::Taken,
            Some(_) => Number::Kept,
            None => match Task::parse(text) {
                Ok(task) if !self.was_shared(team, id, &task)? => Number::Wanted,
                _ => Number::Kept,
            },
        })
    }

    /// Whether a task was in a bucket before that was lost: its own mark tells, unless the number was just given to it, or
    /// the file is a copy of another task's.
    fn was_shared(&mut self, team: &str, id: TaskId, task: &Task) -> Result<bool, MirrorError> {
        let is_marked = task.shared_id().is_some() && task.made_on().is_none();
        Ok(is_marked && !self.team(team).reserved.contains(&id) && !self.is_copy(team, id, task)?)
    }

    /// Whether a file is a copy of the file of another task that all machines have.
    pub(super) fn is_copy(&mut self, team: &str, id: TaskId, task: &Task) -> Result<bool, MirrorError> {
        let Some(shared_id) = task.shared_id().filter(|_| !self.team(team).moved.contains(&id)) else {
            return Ok(false);
        };
        let is_it = |value: &SharedTask| value.shared_id == shared_id && value.text.is_some() && !value.moved;
        let entries = self.entries.list(team)?;
        Ok(entries.iter().any(|(other, entry)| *other != id && entry.value.as_ref().is_some_and(is_it)))
    }

    /// Puts a task that no other machine has into the bucket. The mark of this machine goes first: who claims it from then
    /// on asks the bucket.
    pub(super) fn publish(
        &mut self,
        team: &str,
        id: TaskId,
        text: &str,
        revision: u64,
    ) -> Result<Option<(Entry, String)>, MirrorError> {
        if self.files.text(team, id)?.as_deref() != Some(text) {
            // It was written since it was looked at.
            return Ok(None);
        }
        let task = Task::parse(text).map_err(unreadable)?;
        let was_shared = self.was_shared(team, id, &task)?;
        let is_copy = self.is_copy(team, id, &task)?;
        let is_ours = self.team(team).reserved.contains(&id)
            || !self.reserve_these(team, &BTreeSet::from([id]))?.is_empty();
        if !is_ours && (!was_shared || self.is_far(team, id)?) {
            let mut around = Around::of(self.texts(team)?);
            self.give_another_number(team, id, text, None, &mut around)?;
            return Ok(None);
        }
        let shared_id = task.shared_id().filter(|_| !is_copy).unwrap_or_else(|| self.files.fresh_id());
        let marks = [Change::forget(MADE_ON), Change::note(SHARED_ID, &shared_id)];
        let marked = edit(text, &marks).map_err(unreadable)?;
        if marked != text && !self.files.replace(team, id, Some(text), Some(&marked))? {
            return Ok(None);
        }
        let blank = SharedTask {
            team: team.to_owned(),
            id,
            shared_id,
            version: 1,
            moved: self.team(team).moved.contains(&id),
            text: None,
            owner: None,
            since: 0,
            until: None,
            leads: Vec::new(),
            grants_from: None,
            again: None,
        };
        let owner = task.owner.as_deref().map(|called| {
            let owner = self.files.owner_of(team, called);
            let home = self.files.residence(team, &owner.name);
            owner.as_held_on(&self.me, home.as_ref())
        });
        let seen = self.seen()?;
        let mut value = blank.with_hold(marked.clone(), owner, &seen).map_err(unreadable)?;
        if was_shared {
            value.grants_from = Some(seen.now.saturating_add(seen.longest));
        }
        let (entry, base) = match self.entries.set(&value, revision)? {
            Set::Done(revision) => {
                let mirrored = Some(marked.clone());
                let base = Base { revision, value: value.clone(), mirrored, before: None, was: None };
                (Some(Entry::of(revision, self.me.clone(), value)), Some(base))
            }
            Set::Lost => (self.entries.get(team, id)?, None),
        };
        if let Some(base) = base {
            self.remember(team, id, base);
        }
        Ok(entry.map(|entry| (entry, marked)))
    }

    /// Takes back all but one of the numbers of a task that several machines gave another number at once.
    pub(super) fn drop_copies(&mut self, entries: &mut BTreeMap<TaskId, Entry>) -> Result<(), MirrorError> {
        let mut kept: BTreeMap<String, TaskId> = BTreeMap::new();
        for (id, entry) in entries {
            let Some(value) = entry.value.as_mut().filter(|value| value.text.is_some()) else { continue };
            if *kept.entry(value.shared_id.clone()).or_insert(*id) == *id || !value.moved {
                continue;
            }
            let gone = value.gone().renewed();
            if let Set::Done(revision) = self.entries.set(&gone, entry.revision)? {
                entry.revision = revision;
                *value = gone;
            }
        }
        Ok(())
    }

    /// Marks what was made here while other machines cannot be told of it.
    pub(super) fn mark_new(&mut self) {
        for team in self.files.teams() {
            let Ok(Some(texts)) = self.files.texts(&team) else { continue };
            for (id, text) in texts {
                let Some(text) = text.filter(|_| self.base(&team, id).is_none()) else { continue };
                let Ok(task) = Task::parse(&text) else { continue };
                let is_reserved = self.team(&team).reserved.contains(&id);
                if is_reserved || task.shared_id().is_some() || task.made_on().is_some() {
                    continue;
                }
                if let Ok(marked) = edit(&text, &[Change::note(MADE_ON, self.me.as_str())]) {
                    // If somebody writes it now, the next look marks it.
                    let _ = self.files.replace(&team, id, Some(&text), Some(&marked));
                }
            }
        }
    }
}

/// Whether the marks of this program can be put into a file.
fn can_be_marked(text: &str) -> bool {
    edit(text, &[Change::note(SHARED_ID, "")]).is_ok()
}
