//! Members that are taken off the list, and come back.

use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::people::members::check_home;

impl Office {
    /// Takes a member off the list, but not one with unread mail. Its inbox stays.
    pub fn remove_member_without_mail(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        self.complete_accepted(team, None);
        let config = self.folder(team)?.load()?;
        if config.member(name.as_str()).is_some() {
            let count =
                |unread: &mut usize, message: atm_wire::Message| *unread += usize::from(!message.read);
            let (unread, _) = self.mailbox(team, name).fold(usize::default, count)?;
            if unread > 0 {
                return Err(OfficeError::MemberHasMail { team: team.clone(), name: name.clone(), unread });
            }
        }
        self.remove_member(team, name)
    }

    /// Takes a member off the list. Its inbox stays, and its entry is kept for [`Office::restore_member`].
    pub fn remove_member(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        if config.member(name.as_str()).is_none() {
            return Err(self.no_member(team, &config, name.as_str()));
        }
        check_home(&config, name, "it is removed there")?;
        Ok(folder.remove_member(name, &self.state)?)
    }

    /// Brings back a member that was removed, with the entry that it had then. Its mail never left.
    pub fn restore_member(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        if config.member(name.as_str()).is_some() {
            return Err(OfficeError::Exists { what: format!("member {name} of team {team}") });
        }
        if !folder.restore_member(name, &self.state)? {
            return Err(OfficeError::NotRemoved { team: team.clone(), name: name.clone() });
        }
        self.mailbox(team, name).create().after(|| Done::MemberAdded(name.clone()))
    }
}
