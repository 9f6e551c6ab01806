//! Sending to everybody.

use std::collections::HashSet;

use atm_wire::{Address, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::office::Office;
use crate::team::Team;

impl Office {
    /// Sends a text to all members but the sender, or to those in `only`.
    ///
    /// As with [`Team::send_all`], the outer error means that nothing was written.
    pub fn broadcast(
        &self,
        team: &TeamName,
        from: &MemberName,
        letter: &Letter,
        only: Option<&[Address]>,
        options: SendOptions,
    ) -> Result<Vec<Result<Sent, OfficeError>>, OfficeError> {
        self.team(team)?.broadcast(from, letter, only, options)
    }
}

impl Team<'_> {
    /// Sends a text to all members but the sender, or to those in `only`.
    pub fn broadcast(
        &self,
        from: &MemberName,
        letter: &Letter,
        only: Option<&[Address]>,
        options: SendOptions,
    ) -> Result<Vec<Result<Sent, OfficeError>>, OfficeError> {
        let recipients = only.map_or_else(|| everybody_else(self, from), <[Address]>::to_vec);
        if recipients.is_empty() {
            return Err(OfficeError::NobodyElse { team: self.name().clone() });
        }
        let names: Vec<String> = recipients.iter().map(ToString::to_string).collect();
        let letter = Letter { recipients: names, ..letter.clone() };
        let letters: Vec<Letter> = recipients.into_iter().map(|to| Letter { to, ..letter.clone() }).collect();
        self.send_all(from, &letters, options).map_err(|(_, error)| error)
    }
}

/// Each once: while a member moves from machine to machine, two entries may mean it.
fn everybody_else(team: &Team<'_>, from: &MemberName) -> Vec<Address> {
    let others = team.config().members.iter().filter(|member| member.name != from.as_str());
    let mut meant = HashSet::new();
    others
        .filter_map(|member| member.checked_name().ok())
        .filter(|name| meant.insert(team.home_of(name).0))
        .map(|name| Address { name, team: None })
        .collect()
}
