//! One name in several teams.

use atm_wire::{MemberName, TeamName};

use super::nearest::nearest;
use crate::error::OfficeError;
use crate::office::Office;

impl Office {
    /// Those of some teams that know a name, as a member's or an inbox's. An error if none of them does.
    pub fn teams_that_know(
        &self,
        teams: &[TeamName],
        name: &MemberName,
    ) -> Result<Vec<TeamName>, OfficeError> {
        let mut known = Vec::new();
        let mut unknown = Vec::new();
        for team in teams {
            match self.team(team).and_then(|team| team.known_mailbox(name)) {
                Ok(_) => known.push(team.clone()),
                Err(error) => unknown.push(error),
            }
        }
        if !known.is_empty() || unknown.is_empty() {
            return Ok(known);
        }
        if unknown.len() == 1 {
            return Err(unknown.swap_remove(0));
        }
        let mut similar = Vec::new();
        for error in unknown {
            match error {
                OfficeError::NoMember { nearest, .. } => similar.extend(nearest),
                // It may be known there, where nobody can look.
                other => return Err(other),
            }
        }
        similar.sort();
        similar.dedup();
        let nearest = nearest(name.as_str(), similar.iter().map(String::as_str));
        Err(OfficeError::NoMemberAnywhere { teams: teams.to_vec(), wanted: name.to_string(), nearest })
    }
}
