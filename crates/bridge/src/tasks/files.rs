//! The task files of this machine, as the mirror sees them. Teams have their shared names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use atm_office::{Office, OfficeError};
use atm_store::watch::has_events;
use atm_wire::Stamp;
use atm_wire::task::TaskId;
use tokio::sync::watch;

use super::memory::{Delta, Memory, MemoryFiles};
use crate::files::Files;
use crate::house::Share;
use crate::name::Machine;
use crate::protocol::homes::{MemberKey, Residence, Resident};
use crate::protocol::tasks::Owner;
use crate::protocol::tasks::home::{NO_STAY, Residences};
use crate::watched::Expected;

/// A file cannot be read or written now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileError(pub String);

impl From<OfficeError> for FileError {
    fn from(error: OfficeError) -> Self {
        Self(error.to_string())
    }
}

impl From<atm_store::StoreError> for FileError {
    fn from(error: atm_store::StoreError) -> Self {
        Self(error.to_string())
    }
}

/// The texts of a team's files by number; none for one that cannot be read.
pub type Texts = BTreeMap<TaskId, Option<String>>;

/// The files.
pub trait TaskFiles {
    /// The teams that are shared and are here.
    fn teams(&mut self) -> Vec<String>;

    /// The texts of all files; `None` if there is no folder for them.
    fn texts(&mut self, team: &str) -> Result<Option<Texts>, FileError>;

    /// The text of one file as it is now.
    fn text(&mut self, team: &str, id: TaskId) -> Result<Option<String>, FileError>;

    /// Puts a text in the place of the one that was seen, makes the file, or removes it, if it is still what was seen.
    fn replace(
        &mut self,
        team: &str,
        id: TaskId,
        seen: Option<&str>,
        with: Option<&str>,
    ) -> Result<bool, FileError>;

    /// No number up to this one is given to a new task by anybody here.
    fn reserve(&mut self, team: &str, id: TaskId) -> Result<(), FileError>;

    /// Whom an owner's name here means, where it is at home.
    fn owner_of(&self, team: &str, called: &str) -> Owner;

    /// Where a member is at home, if that is registered.
    fn residence(&self, team: &str, name: &str) -> Option<Residence>;

    /// What an owner is called here.
    fn called(&self, team: &str, owner: &Owner) -> String;

    /// Tells a member of this machine, or its lead, what became of a task.
    fn tell(&mut self, team: &str, owner: Option<&str>, text: &str);

    /// Makes durable what has to be remembered, of which `delta` is not yet.
    fn save(&mut self, memory: &Memory, delta: &Delta) -> Result<(), FileError>;

    /// Something that no other task has.
    fn fresh_id(&mut self) -> String;

    /// The time here.
    fn now(&self) -> Stamp;
}

/// The files of an office.
#[derive(Debug)]
pub struct OfficeFiles {
    office: Office,
    shares: Vec<Share>,
    me: Machine,
    memory: MemoryFiles,
    homes: watch::Receiver<Residences>,
    known: HashMap<String, (String, Option<Texts>)>,
}

impl OfficeFiles {
    /// The files of these teams.
    pub fn new(
        office: Office,
        shares: Vec<Share>,
        me: Machine,
        files: &Files,
        homes: watch::Receiver<Residences>,
    ) -> Self {
        let memory = MemoryFiles::new(files.tasks(), files.task_journal());
        Self { office, shares, me, memory, homes, known: HashMap::new() }
    }

    /// Where members are at home, as it changes.
    pub fn homes(&self) -> watch::Receiver<Residences> {
        self.homes.clone()
    }

    /// What the last bridge remembered; nothing if it cannot be read.
    pub fn load(&self) -> Memory {
        self.memory.load()
    }

    /// Where processes ask.
    pub fn socket(&self) -> PathBuf {
        self.office.machines().tasks_socket()
    }

    /// The folders in which the files are, and the one above them.
    pub fn folders(&self) -> Expected {
        let machines = self.office.machines();
        let own = self.shares.iter().map(|share| machines.task_folder(&share.local).path().to_owned());
        let mut folders: Vec<PathBuf> = own.collect();
        let above: BTreeSet<PathBuf> =
            folders.iter().filter_map(|folder| folder.parent()).map(ToOwned::to_owned).collect();
        folders.extend(above);
        Expected::new(folders, self.office.root().path().to_owned())
    }

    /// Whether the system tells of changes in the files.
    pub fn has_events(&self) -> bool {
        has_events(self.office.root().path())
    }

    /// What the files look like from outside; none for a team whose next change need not show.
    pub fn signatures(&self) -> Vec<Option<String>> {
        let machines = self.office.machines();
        let look = |share: &Share| {
            let found = machines.task_folder(&share.local).signature().ok()?;
            match found {
                Some(signature) if signature.is_settled => Some(signature.text),
                Some(_) => None,
                None => Some(String::new()),
            }
        };
        self.shares.iter().map(look).collect()
    }

    /// The shared name of a team of this root.
    pub fn shared_name(&self, root: &str, team: &atm_wire::TeamName) -> Option<String> {
        let share = self.shares.iter().find(|share| share.local == *team)?;
        (self.office.machines().root() == root).then(|| share.shared.clone())
    }

    fn share(&self, team: &str) -> Result<&Share, FileError> {
        let share = self.shares.iter().find(|share| share.shared == team);
        share.ok_or_else(|| FileError(format!("the team {team} is not shared here")))
    }

    fn folder(&self, team: &str) -> Result<atm_store::TaskFolder, FileError> {
        Ok(self.office.machines().task_folder(&self.share(team)?.local))
    }
}

impl TaskFiles for OfficeFiles {
    fn teams(&mut self) -> Vec<String> {
        let here = self.shares.iter().filter(|share| self.office.has_team(&share.local));
        here.map(|share| share.shared.clone()).collect()
    }

    fn texts(&mut self, team: &str) -> Result<Option<Texts>, FileError> {
        let folder = self.folder(team)?;
        // Reading all files again is worth it only if one may have changed.
        let signature = folder.signature()?;
        if let Some(signature) = &signature
            && let Some((known, texts)) = self.known.get(team)
            && *known == signature.text
        {
            return Ok(texts.clone());
        }
        let texts = folder.texts()?;
        match signature.filter(|signature| signature.is_settled) {
            Some(signature) if folder.signature()?.as_ref() == Some(&signature) => {
                self.known.insert(team.to_owned(), (signature.text, texts.clone()));
            }
            _ => drop(self.known.remove(team)),
        }
        Ok(texts)
    }

    fn text(&mut self, team: &str, id: TaskId) -> Result<Option<String>, FileError> {
        Ok(self.folder(team)?.load(id)?.map(|task| task.raw().to_owned()))
    }

    fn replace(
        &mut self,
        team: &str,
        id: TaskId,
        seen: Option<&str>,
        with: Option<&str>,
    ) -> Result<bool, FileError> {
        Ok(self.folder(team)?.replace(id, seen, with)?)
    }

    fn reserve(&mut self, team: &str, id: TaskId) -> Result<(), FileError> {
        Ok(self.folder(team)?.reserve(id)?)
    }

    fn owner_of(&self, team: &str, called: &str) -> Owner {
        let Ok(share) = self.share(team) else {
            return Owner { name: called.to_owned(), machine: self.me.clone(), stay: None };
        };
        let machines = self.office.machines();
        let (name, machine) = machines.owner_of(&share.local, called);
        let residence = self.residence(team, &name);
        if let Some(machine) = machine {
            return Owner::at(&name, &machine, residence.as_ref());
        }
        let entry = machines.entry_here(&share.local, &name);
        match residence {
            // A lead is every machine's own, whatever somebody registers.
            _ if entry.is_some_and(|entry| entry.is_lead) => {
                Owner { name, machine: self.me.clone(), stay: Some(NO_STAY) }
            }
            // It is on the list here until its new home has it.
            Some(home)
                if entry.is_some_and(|entry| home.has_left(&self.me, Resident::of(entry.joined_at))) =>
            {
                Owner::at(&name, &home.machine, Some(&home))
            }
            residence => Owner::at(&name, &self.me, residence.as_ref()),
        }
    }

    fn residence(&self, team: &str, name: &str) -> Option<Residence> {
        let key = MemberKey { team: team.to_owned(), name: name.to_owned() };
        self.homes.borrow().get(&key).cloned()
    }

    fn called(&self, team: &str, owner: &Owner) -> String {
        match self.share(team) {
            Ok(share) if owner.machine != self.me => {
                self.office.machines().called(&share.local, &owner.name, &owner.machine)
            }
            _ => owner.name.clone(),
        }
    }

    fn tell(&mut self, team: &str, owner: Option<&str>, text: &str) {
        if let Ok(share) = self.share(team)
            && let Err(error) = self.office.machines().tell_of_task(&share.local, owner, text)
        {
            tracing::warn!("{error}");
        }
    }

    fn save(&mut self, memory: &Memory, delta: &Delta) -> Result<(), FileError> {
        self.memory.save(memory, delta)
    }

    fn fresh_id(&mut self) -> String {
        atm_store::fresh_id().to_string()
    }

    fn now(&self) -> Stamp {
        use atm_office::clock::{Clock, SystemClock};
        SystemClock.now()
    }
}
