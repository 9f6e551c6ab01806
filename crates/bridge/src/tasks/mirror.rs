//! The mirror: files of this machine and entries of the bucket, kept the same, one task after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use atm_wire::Stamp;
use atm_wire::task::TaskId;
use serde::{Deserialize, Serialize};

use super::entries::{Away, Entries};
use super::files::{FileError, TaskFiles, Texts};
use crate::name::Machine;
use crate::protocol::tasks::merge::Names;
use crate::protocol::tasks::{Base, Owner, Place, Seen};

/// A file has to be gone for so long before its task is deleted: clients that delete a team delete its files one by one.
pub(super) const GONE_FOR: Duration = Duration::from_secs(2);

/// What is remembered across restarts. Its loss costs time; files are read as they are then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Which bucket this is about.
    pub(super) bucket: String,
    /// An earlier bucket was lost: numbers that this machine never heard of may have been given there.
    #[serde(default)]
    pub(super) is_renewed: bool,
    pub(super) teams: BTreeMap<String, TeamMemory>,
}

/// The same of one team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TeamMemory {
    #[serde(default)]
    pub(super) tasks: BTreeMap<TaskId, Base>,
    /// Numbers that are this machine's, and whose tasks are not in the bucket yet.
    #[serde(default)]
    pub(super) reserved: BTreeSet<TaskId>,
    /// Tasks that get another number, and which.
    #[serde(default)]
    pub(super) moves: BTreeMap<TaskId, TaskId>,
}

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
}

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
        Self { me, as_lead: Vec::new(), longest, entries, files, memory, saved, gone: HashMap::new() }
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
        for team in self.files.teams() {
            worst = worst.and(self.sync_team(&team));
        }
        worst.and(self.save())
    }

    fn sync_team(&mut self, team: &str) -> Result<(), MirrorError> {
        let mut entries: BTreeMap<TaskId, _> = self.entries.list(team)?.into_iter().collect();
        self.drop_copies(&mut entries)?;
        let texts = self.texts(team)?;
        let known = self.memory.teams.get(team).map(|known| known.tasks.keys().copied().collect::<Vec<_>>());
        let ids: BTreeSet<TaskId> =
            entries.keys().chain(texts.keys()).chain(known.iter().flatten()).copied().collect();
        let mut worst = Ok(());
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

    /// The files of a team. If their folder is gone, nobody deleted a task: they are written again.
    pub(super) fn texts(&mut self, team: &str) -> Result<Texts, MirrorError> {
        if let Some(texts) = self.files.texts(team)? {
            return Ok(texts);
        }
        for base in self.team(team).tasks.values_mut() {
            base.mirrored = None;
        }
        Ok(Texts::new())
    }

    /// Finds out which bucket it is. If it is a new one, what is remembered is of one that was lost.
    pub(super) fn begin(&mut self) -> Result<(), Away> {
        let bucket = self.entries.identity()?;
        if bucket == self.memory.bucket {
            return Ok(());
        }
        let old = std::mem::replace(&mut self.memory.bucket, bucket);
        self.memory.is_renewed |= !old.is_empty();
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
        team.tasks.insert(id, base);
    }

    /// Makes durable what is remembered, if it changed.
    pub(super) fn save(&mut self) -> Result<(), MirrorError> {
        if self.memory != self.saved {
            self.files.save(&self.memory)?;
            self.saved = self.memory.clone();
        }
        Ok(())
    }

    pub(super) fn seen(&mut self) -> Result<Seen<'_>, Away> {
        let now = self.entries.now()?;
        Ok(Seen { me: &self.me, as_lead: &self.as_lead, now, longest: self.longest })
    }
}
