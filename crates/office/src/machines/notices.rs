//! What the lead here is told about names: each once.

use atm_wire::{Address, MachineName, MemberName, Stamp, TeamName};

use super::Machines;
use crate::error::OfficeError;
use crate::mail::derived::letter_id;
use crate::mail::send::{Letter, SendOptions};
use crate::office::USER;

impl Machines<'_> {
    /// Tells the lead here, once, that a member of its machine has a name that another machine holds.
    pub fn tell_refused(
        &self,
        team: &TeamName,
        name: &MemberName,
        (holder, epoch, own): (&MachineName, u64, &MachineName),
    ) -> Result<(), OfficeError> {
        let text = format!(
            "The name {name} is held by machine {holder}. Your member {name} stays here, and is {} on other machines. \
             Rename it, or, if it is to be the same member, move it here: atm bridge take {name} --team {team}",
            own.qualify(name.as_str())
        );
        self.tell_lead(team, name, (&format!("{holder} {epoch}"), "refused home"), text)
    }

    /// Tells the lead here, once for each time at which that began, that another bridge has the name of this machine.
    pub fn tell_namesake(&self, team: &TeamName, own: &MachineName, since: Stamp) -> Result<(), OfficeError> {
        let text = format!(
            "Another machine's bridge has the name of this one, {own}, too: each would take the other's mail. Nothing is carried \
             here as long as both run. Nothing is lost. Give one of them another name: atm bridge run --machine NAME, or \
             `machine` below [bridge] in its settings"
        );
        let lead = MemberName::parse(USER)?;
        self.tell_lead(team, &lead, (&format!("{own} {}", since.as_millis()), "namesake"), text)
    }

    /// Sends the lead a message whose id is made of what it is about: nobody is told the same twice.
    fn tell_lead(
        &self,
        team: &TeamName,
        about: &MemberName,
        (what, kind): (&str, &str),
        text: String,
    ) -> Result<(), OfficeError> {
        let handle = self.office.team(team)?;
        let to = handle.lead().cloned().or_else(|_| MemberName::parse(USER))?;
        let id = letter_id(&handle.inbox_key(about), what, kind);
        let letter = Letter { id: Some(id), ..Letter::new(Address { name: to, team: None }, text) };
        let options = SendOptions { create: true, ..SendOptions::default() };
        handle.send(&MemberName::parse(USER)?, &letter, options)?;
        Ok(())
    }
}
