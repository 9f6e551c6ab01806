//! The handle of one team: its configuration, loaded once, and what follows from it.

use atm_ledger::InboxKey;
use atm_store::{Mailbox, TeamFolder};
use atm_wire::team::{Member, TeamConfig};
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::{Office, USER};

/// One team, as its configuration was when the handle was made.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # use atm_office::{Office, people::teams::TeamPlan};
/// # use atm_store::{Root, State};
/// # let office = Office::new(Root::new(folder.path().join("r")), State::new(folder.path().join("s")));
/// let name = office.create_team(&TeamPlan::new("demo", "Shows the library"))?;
/// let team = office.team(&name)?;
/// assert_eq!(team.lead()?.as_str(), "team-lead");
/// assert_eq!(team.members()?[0].name, "team-lead");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Team<'a> {
    office: &'a Office,
    name: TeamName,
    folder: TeamFolder,
    config: TeamConfig,
    lead: Option<MemberName>,
}

impl Office {
    /// The team of this name, with its configuration; an error with the nearest names if there is none.
    pub fn team(&self, name: &TeamName) -> Result<Team<'_>, OfficeError> {
        let folder = self.folder(name)?;
        let config = folder.load()?;
        let lead = self.lead_of(name, &config).ok();
        Ok(Team { office: self, name: name.clone(), folder, config, lead })
    }
}

impl<'a> Team<'a> {
    /// The office that the team is looked at from.
    pub fn office(&self) -> &'a Office {
        self.office
    }

    /// Its name: the folder's.
    pub fn name(&self) -> &TeamName {
        &self.name
    }

    /// Its folder.
    pub fn folder(&self) -> &TeamFolder {
        &self.folder
    }

    /// Its configuration.
    pub fn config(&self) -> &TeamConfig {
        &self.config
    }

    /// Reads the configuration again, after a change of our own.
    pub fn reload(&mut self) -> Result<(), OfficeError> {
        self.config = self.folder.load()?;
        self.lead = self.office.lead_of(&self.name, &self.config).ok();
        Ok(())
    }

    /// Who leads it, by the rule of [`lead`](crate::people::lead); an error if nobody does.
    pub fn lead(&self) -> Result<&MemberName, OfficeError> {
        self.lead.as_ref().ok_or_else(|| OfficeError::NoLead { team: self.name.clone() })
    }

    /// The member's entry, or an error with the nearest names.
    pub fn member(&self, name: &MemberName) -> Result<&Member, OfficeError> {
        self.office.member(&self.name, &self.config, name)
    }

    /// Everybody with mail of their own: the members, and the names that only have an inbox. Sorted, each once.
    pub fn names(&self) -> Vec<MemberName> {
        let members = self.config.members.iter().filter_map(|member| member.checked_name().ok());
        let mut names: Vec<MemberName> = members.chain(self.folder.inbox_names()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The mailbox of a name, whether there is one or not.
    pub fn mailbox(&self, name: &MemberName) -> Mailbox {
        self.office.mailbox(&self.name, name)
    }

    /// The mailbox of somebody who is a member, has an inbox, or is the user.
    pub fn known_mailbox(&self, name: &MemberName) -> Result<Mailbox, OfficeError> {
        let mailbox = self.mailbox(name);
        if self.config.member(name.as_str()).is_some() || mailbox.exists() || name.as_str() == USER {
            return Ok(mailbox);
        }
        Err(self.office.no_member(&self.name, &self.config, name.as_str()))
    }

    /// Under which the ledger keeps the mail of a name.
    pub fn inbox_key(&self, name: &MemberName) -> InboxKey {
        self.office.inbox_key(&self.name, name)
    }
}
