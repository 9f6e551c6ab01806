//! Sending to everybody.

use atm_wire::{Address, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::office::Office;

impl Office {
    /// Sends a text to all members but the sender, or to those in `only`.
    ///
    /// As with [`Office::send_all`], the outer error means that nothing was written.
    pub fn broadcast(
        &self,
        team: &TeamName,
        from: &MemberName,
        letter: &Letter,
        only: Option<&[Address]>,
        options: SendOptions,
    ) -> Result<Vec<Result<Sent, OfficeError>>, OfficeError> {
        let recipients = match only {
            Some(only) => only.to_vec(),
            None => self.everybody_else(team, from)?,
        };
        if recipients.is_empty() {
            return Err(OfficeError::NobodyElse { team: team.clone() });
        }
        let letters: Vec<Letter> = recipients.into_iter().map(|to| Letter { to, ..letter.clone() }).collect();
        self.send_all(team, from, &letters, options).map_err(|(_, error)| error)
    }

    fn everybody_else(&self, team: &TeamName, from: &MemberName) -> Result<Vec<Address>, OfficeError> {
        let config = self.folder(team)?.load()?;
        Ok(config
            .members
            .iter()
            .filter(|member| member.name != from.as_str())
            .filter_map(|member| member.checked_name().ok())
            .map(|name| Address { name, team: None })
            .collect())
    }
}
