//! Whom the owner of a shared task means: a name and its machine, the same on all machines, and what it is called here.

use atm_store::{StoreError, TaskFolder};
use atm_wire::{Address, MachineName, MemberName, Stamp, TeamName};

use super::Machines;
use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions};
use crate::office::USER;

/// What the list of this machine says of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHere {
    /// Whether it leads here.
    pub is_lead: bool,
    /// When it joined, if its entry says so.
    pub joined_at: Option<Stamp>,
}

impl Machines<'_> {
    /// What the list of this machine says of a member that is at home here; `None` if it says nothing.
    pub fn entry_here(&self, team: &TeamName, name: &str) -> Option<EntryHere> {
        let team = self.office.team(team).ok()?;
        let is_lead = team.lead().is_ok_and(|lead| lead.as_str() == name);
        let member = team.config().member(name).filter(|member| member.machine.is_none());
        (is_lead || member.is_some())
            .then(|| EntryHere { is_lead, joined_at: member.and_then(|member| member.joined_at) })
    }

    /// Whom an owner's name here means: its name at home, and its machine if that is another one.
    pub fn owner_of(&self, team: &TeamName, called: &str) -> (String, Option<MachineName>) {
        if let Some((name, machine)) = self.office.table(team).member(called) {
            return (name.to_owned(), Some(machine.clone()));
        }
        let config = self.office.folder(team).and_then(|folder| Ok(folder.load()?)).ok();
        match config.as_ref().and_then(|config| config.machine_of(called)) {
            Some(machine) => (machine.unqualify(called).to_owned(), Some(machine.clone())),
            None => (called.to_owned(), None),
        }
    }

    /// What a member of another machine is called here.
    pub fn called(&self, team: &TeamName, name: &str, machine: &MachineName) -> String {
        self.office.table(team).name_of(name, machine)
    }

    /// The files of a team's tasks.
    pub fn task_folder(&self, team: &TeamName) -> TaskFolder {
        TaskFolder::new(&self.office.root, team, &self.office.state, self.office.times)
    }

    /// Tells a member of this machine, or else its lead, what became of a task here.
    pub fn tell_of_task(&self, team: &TeamName, owner: Option<&str>, text: &str) -> Result<(), OfficeError> {
        let team = self.office.team(team)?;
        let here = |name: &str| {
            let name = MemberName::parse(name).ok()?;
            let is_here = name.as_str() != USER && team.config().machine_of(name.as_str()).is_none();
            (is_here && team.known_mailbox(&name).is_ok()).then_some(name)
        };
        let Some(to) = owner.and_then(here).or_else(|| team.lead().ok().cloned()) else { return Ok(()) };
        let letter = Letter::new(Address { name: to, team: None }, text);
        match team.send(&USER.parse()?, &letter, SendOptions::default()) {
            // It is accepted, or somebody has to look at the file: what the task is does not depend on it.
            Ok(_) | Err(OfficeError::Store(StoreError::Busy { .. })) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
