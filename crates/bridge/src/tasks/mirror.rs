//! The mirror: files of this machine and entries of the bucket, kept the same, one task after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use atm_wire::Stamp;
use atm_wire::task::TaskId;

use super::entries::{Away, Entries, Entry};
use super::files::{FileError, TaskFiles, Texts};
use super::memory::{Memory, TeamMemory};
use crate::name::Machine;
use crate::protocol::tasks::merge::Names;
use crate::protocol::tasks::{Base, Owner, Place, Seen};

/// A file has to be gone for so long before its task is deleted: clients that delete a team delete its files one by one.
pub const GONE_FOR: Duration = Duration::from_secs(2);

/// So many files that are gone at once, and more than are left, are nobody's wish.
const EMPTIED: usize = 3;

/// Why something is not done now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MirrorError {
    /// The bucket.
    #[error(transparent)]
    Away(#[from] Away),
    /// The files.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Files and bucket of one machine.
#[derive(Debug)]
pub struct Mirror<E, F> {
    pub(super) me: Machine,
    pub(super) as_lead: Vec<Machine>,
    pub(super) longest: Duration,
    pub(super) entries: E,
    pub(super) files: F,
    pub(super) memory: Memory,
    saved: Memory,
    /// Since when files are gone, by the clock here.
    pub(super) gone: HashMap<(String, TaskId), Stamp>,
    /// Teams whose files were here at the last look: what goes from now on is seen to go.
    watched: BTreeSet<String>,
    /// Files to be written once it is saved what they are to become; none while one is written at a time.
    pub(super) writes: Option<Vec<Write>>,
    /// New tasks whose numbers may still change: they are told to nobody yet, nor is what links to them.
    pub(super) unsettled: BTreeSet<TaskId>,
    /// By team: numbers of which the bucket did not say whether this machine has them, and in the place of which version.
    pub(super) unheard: BTreeMap<String, (BTreeSet<TaskId>, u64)>,
    /// Entries of other machines that do not count here, and why.
    pub(super) refused: Vec<(&'static str, String)>,
    /// Those of them whose numbers are far above the others, so that each is told once.
    pub(super) far: BTreeSet<(String, TaskId)>,
}

/// A file to be written: its number, what it was, and what it becomes.
pub(super) type Write = (TaskId, Option<String>, Option<String>);

/// The names of owners in one team.
pub(super) struct TeamNames<'a, F> {
    pub(super) files: &'a F,
    pub(super) team: &'a str,
}

impl<F: TaskFiles> Names for TeamNames<'_, F> {
    fn owner_of(&self, called: &str) -> Owner {
        self.files.owner_of(self.team, called)
    }

    fn called(&self, owner: &Owner) -> String {
        self.files.called(self.team, owner)
    }
}

impl<E: Entries, F: TaskFiles> Mirror<E, F> {
    /// A mirror that goes on where it was.
    pub fn new(me: Machine, entries: E, files: F, memory: Memory, longest: Duration) -> Self {
        let saved = memory.clone();
        Self {
            me,
            as_lead: Vec::new(),
            longest,
            entries,
            files,
            memory,
            saved,
            gone: HashMap::new(),
            watched: BTreeSet::new(),
            writes: None,
            unsettled: BTreeSet::new(),
            unheard: BTreeMap::new(),
            refused: Vec::new(),
            far: BTreeSet::new(),
        }
    }

    /// What other machines put there and does not count here, since this was last asked: why, and what it was.
    pub fn take_refused(&mut self) -> Vec<(&'static str, String)> {
        std::mem::take(&mut self.refused)
    }

    /// The machines whose leads may lead here.
    pub fn set_as_lead(&mut self, machines: Vec<Machine>) {
        self.as_lead = machines;
    }

    /// The bucket.
    pub fn entries(&mut self) -> &mut E {
        &mut self.entries
    }

    /// The files.
    pub fn files(&self) -> &F {
        &self.files
    }

    /// Whether files are gone whose tasks are there: soon it is known whether somebody means it.
    pub fn has_missing(&self) -> bool {
        !self.gone.is_empty()
    }

    /// What has to be remembered.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Brings all teams into order, as far as that can be done now. The first thing that went wrong is told.
    pub fn sync(&mut self) -> Result<(), MirrorError> {
        let mut worst = Ok(());
        if let Err(away) = self.begin() {
            self.mark_new();
            return Err(away.into());
        }
        let teams = self.files.teams();
        self.watched.retain(|team| teams.contains(team));
        self.gone.retain(|(team, _), _| teams.contains(team));
        for team in teams {
            worst = worst.and(self.sync_team(&team));
        }
        worst.and(self.save())
    }

    fn sync_team(&mut self, team: &str) -> Result<(), MirrorError> {
        // A new task without a number stops no other one.
        let numbered = self.number_new(team);
        self.writes = Some(Vec::new());
        let settled = self.settle_all(team);
        let written = self.write_all(team);
        numbered.and(settled).and(written)
    }

    /// Writes the files of a team that are not what they are to become. What they become is saved before: should the process die in
    /// between, neither the old text nor the new one is somebody's request. What cannot be saved is not written.
    pub(super) fn write_all(&mut self, team: &str) -> Result<(), MirrorError> {
        let writes = self.writes.take().unwrap_or_default();
        let mut worst = if writes.is_empty() { Ok(()) } else { self.save() };
        let is_saved = worst.is_ok();
        for (id, before, text) in writes {
            let done = is_saved.then(|| self.files.replace(team, id, before.as_deref(), text.as_deref()));
            if let Some(base) = self.team(team).tasks.get_mut(&id) {
                base.before = None;
                if !matches!(done, Some(Ok(true))) {
                    // Somebody wrote it meanwhile: the next look sees what.
                    base.mirrored = before;
                }
            }
            worst = worst.and(done.transpose().map(drop).map_err(MirrorError::from));
        }
        worst
    }

    fn settle_all(&mut self, team: &str) -> Result<(), MirrorError> {
        let mut entries: BTreeMap<TaskId, _> = self.entries.list(team)?.into_iter().collect();
        let mut worst = self.drop_copies(&mut entries);
        let texts = self.texts(team)?;
        self.keep_emptied(team, &entries, &texts);
        let known = self.memory.teams.get(team).map(|known| known.tasks.keys().copied().collect::<Vec<_>>());
        let ids: BTreeSet<TaskId> =
            entries.keys().chain(texts.keys()).chain(known.iter().flatten()).copied().collect();
        self.gone.retain(|(other, id), _| other != team || ids.contains(id));
        for id in ids {
            let settled = self.settle(team, id, entries.get(&id).cloned(), &texts);
            if let Err(MirrorError::Away(_)) = &settled
                && self.entries.identity().is_err()
            {
                return settled;
            }
            worst = worst.and(settled);
        }
        worst
    }

    /// The files of a team. Only a file that is seen to go deletes its task: one that is not there at the first look at a team,
    /// or whose folder is gone, is written again.
    pub(super) fn texts(&mut self, team: &str) -> Result<Texts, MirrorError> {
        let Some(texts) = self.files.texts(team)? else {
            // What is written from now on is seen to go again.
            self.watched.insert(team.to_owned());
            for base in self.team(team).tasks.values_mut() {
                base.mirrored = None;
            }
            return Ok(Texts::new());
        };
        if self.watched.insert(team.to_owned()) {
            for (id, base) in &mut self.team(team).tasks {
                let before = base.before.take();
                match (texts.get(id), before) {
                    (None, _) => base.mirrored = None,
                    // The process died before it was written, and somebody may have made another file there.
                    (Some(text), Some(before)) if *text != base.mirrored => base.mirrored = before.text,
                    (Some(_), _) => {}
                }
            }
        }
        Ok(texts)
    }

    /// Most files of open tasks are gone at once: somebody emptied the folder, and nobody means every one of them.
    fn keep_emptied(&mut self, team: &str, entries: &BTreeMap<TaskId, Entry>, texts: &Texts) {
        let is_open = |id: &TaskId| {
            let value = entries.get(id).and_then(|entry| entry.value.as_ref());
            value.is_some_and(|value| value.text.is_some() && !value.is_completed())
        };
        let known = self.team(team).tasks.iter().filter(|(_, base)| base.mirrored.is_some());
        let open: Vec<TaskId> = known.map(|(id, _)| *id).filter(is_open).collect();
        let (here, gone): (Vec<TaskId>, Vec<TaskId>) =
            open.into_iter().partition(|id| texts.contains_key(id));
        if gone.len() >= EMPTIED && gone.len() > here.len() {
            for id in gone {
                if let Some(base) = self.team(team).tasks.get_mut(&id) {
                    base.mirrored = None;
                }
            }
        }
    }

    /// Finds out which bucket it is. If it is a new one, what is remembered is of one that was lost.
    pub(super) fn begin(&mut self) -> Result<(), Away> {
        let bucket = self.entries.identity()?;
        if bucket == self.memory.bucket {
            return Ok(());
        }
        let old = std::mem::replace(&mut self.memory.bucket, bucket);
        self.memory.is_renewed |= !old.is_empty();
        self.unheard.clear();
        for team in self.memory.teams.values_mut() {
            // Whether others know of these by the old one cannot be told any more.
            team.reserved.clear();
            for base in team.tasks.values_mut() {
                let revision = std::mem::take(&mut base.revision);
                if base.was.is_none() {
                    base.was = Some(Place { bucket: old.clone(), revision });
                }
            }
        }
        Ok(())
    }

    pub(super) fn team(&mut self, team: &str) -> &mut TeamMemory {
        self.memory.teams.entry(team.to_owned()).or_default()
    }

    pub(super) fn base(&self, team: &str, id: TaskId) -> Option<&Base> {
        self.memory.teams.get(team)?.tasks.get(&id)
    }

    pub(super) fn remember(&mut self, team: &str, id: TaskId, base: Base) {
        let team = self.team(team);
        team.reserved.remove(&id);
        team.moved.remove(&id);
        team.given_up.remove(&id);
        team.last = team.last.max(Some(id));
        team.tasks.insert(id, base);
    }

    /// Makes durable what is remembered, if it changed.
    pub(super) fn save(&mut self) -> Result<(), MirrorError> {
        if let Some(delta) = self.memory.since(&self.saved) {
            self.files.save(&self.memory, &delta)?;
            self.saved.apply(delta);
        }
        Ok(())
    }

    pub(super) fn seen(&mut self) -> Result<Seen<'_>, Away> {
        let now = self.entries.now()?;
        Ok(Seen { me: &self.me, as_lead: &self.as_lead, now, longest: self.longest })
    }
}
