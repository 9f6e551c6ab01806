//! Another number for a task whose own another machine has: the file moves, links follow, who made it is told.

use std::collections::{BTreeMap, BTreeSet};

use atm_wire::task::{Change, MADE_ON, SHARED_ID, Task, TaskId, edit, relink, renumber};

use super::entries::{Entries, Entry};
use super::files::{TaskFiles, Texts};
use super::mirror::{Mirror, MirrorError};
use super::settle::{links, unreadable};

/// How often a link is turned in a file that somebody else writes at the same time.
const ROUNDS: usize = 3;

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// What a task to be moved is known by; none if its file has to be marked first.
    fn known_by(&mut self, team: &str, id: TaskId, task: &Task) -> Result<Option<String>, MirrorError> {
        let is_copy = self.is_copy(team, id, task)?;
        Ok(task.shared_id().filter(|_| !is_copy))
    }

    /// Whether another machine has given a new number to a task that it has, too.
    fn is_moved(&mut self, team: &str, id: TaskId, task: &Task) -> Result<bool, MirrorError> {
        let Some(shared_id) = task.shared_id().filter(|_| task.made_on().is_none()) else { return Ok(false) };
        let is_it = |entry: &Entry| entry.value.as_ref().is_some_and(|value| value.shared_id == shared_id);
        Ok(self.entries.list(team)?.iter().any(|(other, entry)| *other != id && is_it(entry)))
    }

    /// Gives numbers to those of these tasks that can be moved now, and have none yet: all at once, so that what is remembered is
    /// saved once for any number of them.
    pub(super) fn begin_moves(&mut self, team: &str, tasks: &[(TaskId, String)]) -> Result<(), MirrorError> {
        let mut ready = Vec::new();
        for (id, text) in tasks {
            let task = Task::parse(text).map_err(unreadable)?;
            let is_begun = self.team(team).moves.contains_key(id);
            if !is_begun && self.known_by(team, *id, &task)?.is_some() && !self.is_moved(team, *id, &task)? {
                ready.push((*id, task.made_on().is_none()));
            }
        }
        if ready.is_empty() {
            return Ok(());
        }
        let numbers = self.reserve(team, ready.len())?;
        let known = self.team(team);
        for ((id, was_shared), to) in ready.into_iter().zip(numbers) {
            known.moves.insert(id, to);
            if was_shared {
                known.was_shared(to);
            }
        }
        self.save()
    }

    /// Moves the task of a file to a number of its own; `instead` takes its place. Says whether it did.
    pub(super) fn give_another_number(
        &mut self,
        team: &str,
        id: TaskId,
        text: &str,
        instead: Option<&str>,
        around: &mut Around,
    ) -> Result<bool, MirrorError> {
        let task = Task::parse(text).map_err(unreadable)?;
        // Its place is known by this, also if the process dies in between.
        let Some(shared_id) = self.known_by(team, id, &task)? else {
            let marks =
                [Change::note(SHARED_ID, &self.files.fresh_id()), Change::note(MADE_ON, self.me.as_str())];
            let marked = edit(text, &marks).map_err(unreadable)?;
            if self.files.replace(team, id, Some(text), Some(&marked))? {
                around.put(id, Some(&marked));
            }
            return Ok(false);
        };
        // Other machines may have it, too: one of them gives it the number.
        if self.is_moved(team, id, &task)? {
            return Ok(self.files.replace(team, id, Some(text), instead)?);
        }
        self.begin_moves(team, &[(id, text.to_owned())])?;
        let Some(to) = self.team(team).moves.get(&id).copied() else { return Ok(false) };
        if task.made_on().is_none() && self.team(team).was_shared(to) {
            self.save()?;
        }
        // Nobody claims the copy before the task under the old number is gone: it has no mark of this machine.
        let moved = edit(&renumber(text, to).map_err(unreadable)?, &[Change::forget(MADE_ON)]);
        let moved = moved.map_err(unreadable)?;
        let is_copy =
            |text: &str| Task::parse(text).is_ok_and(|task| task.shared_id().as_ref() == Some(&shared_id));
        let there = match around.texts.get(&to).cloned() {
            None => None,
            Some(Some(text)) if is_copy(&text) => Some(text),
            // Made by who uses numbers without asking.
            Some(_) => {
                self.team(team).moves.remove(&id);
                return Ok(false);
            }
        };
        if !self.files.replace(team, to, there.as_deref(), Some(&moved))? {
            return Ok(false);
        }
        around.put(to, Some(&moved));
        for other in around.linking(id) {
            if other != id && other != to {
                self.relink(team, other, (id, to), around)?;
            }
        }
        if !self.files.replace(team, id, Some(text), instead)? {
            return Ok(false);
        }
        around.put(id, instead);
        if let Some(base) = self.team(team).tasks.get_mut(&id) {
            base.mirrored = instead.map(ToOwned::to_owned);
        }
        self.team(team).moves.remove(&id);
        let why = if self.is_far(team, id)? {
            format!("{id} is far above the numbers of the team's other tasks, and few would be left after it")
        } else {
            format!("another machine of the team has a task {id}")
        };
        let said = format!("Task {id} of this machine, {:?}, has the number {to} now: {why}.", task.subject);
        self.files.tell(team, task.owner.as_deref(), &said);
        Ok(true)
    }

    /// Turns the link of a file to a task into one to its new number.
    fn relink(
        &mut self,
        team: &str,
        other: TaskId,
        (id, to): (TaskId, TaskId),
        around: &mut Around,
    ) -> Result<(), MirrorError> {
        // A link that other machines know of is to the task that they know by this number.
        let known = self.base(team, other).and_then(|base| base.value.text.as_deref());
        if known.is_some_and(|text| matches!(relink(text, id, to), Ok(Some(_)))) {
            return Ok(());
        }
        let mut linking = around.texts.get(&other).cloned().flatten();
        for _ in 0..ROUNDS {
            let Some(text) = linking else { break };
            let Ok(Some(linked)) = relink(&text, id, to) else { break };
            if self.files.replace(team, other, Some(&text), Some(&linked))? {
                around.put(other, Some(&linked));
                break;
            }
            // Somebody wrote it meanwhile.
            linking = self.files.text(team, other)?;
        }
        Ok(())
    }

    /// The old number of a task of which this is the copy, if its file is still there.
    pub(super) fn moved_from(&self, team: &str, to: TaskId, texts: &Texts) -> Option<TaskId> {
        let shared_id = |id: TaskId| Task::parse(texts.get(&id)?.as_deref()?).ok()?.shared_id();
        let mut from = self.memory.teams.get(team)?.moves.iter().filter(|(_, target)| **target == to);
        let is_copy = |id: TaskId| shared_id(id).is_some_and(|old| Some(old) == shared_id(to));
        from.find(|(id, _)| is_copy(**id)).map(|(id, _)| *id)
    }
}

/// The files of a team, and which of them link to a task: looked for once, for any number of tasks that get another number.
pub(super) struct Around {
    pub(super) texts: Texts,
    linking: BTreeMap<TaskId, BTreeSet<TaskId>>,
}

impl Around {
    pub(super) fn of(texts: Texts) -> Self {
        let mut around = Self { texts: Texts::new(), linking: BTreeMap::new() };
        for (id, text) in texts {
            around.put(id, text.as_deref());
            around.texts.insert(id, text);
        }
        around
    }

    /// The file of this number is this now.
    fn put(&mut self, id: TaskId, text: Option<&str>) {
        let Some(text) = text else { return drop(self.texts.remove(&id)) };
        self.texts.insert(id, Some(text.to_owned()));
        for other in links(text) {
            self.linking.entry(other).or_default().insert(id);
        }
    }

    /// The files that link to a task, and perhaps some that did.
    fn linking(&self, id: TaskId) -> BTreeSet<TaskId> {
        self.linking.get(&id).cloned().unwrap_or_default()
    }
}
