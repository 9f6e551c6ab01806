//! Letters that were accepted for a home which their recipient had left already, after its move was done here.
//!
//! Whoever accepts a letter looked at the team a moment before: a slow process, a batch, a server for tools. So "no letter waits for a
//! machine that its recipient has left" is restored whenever letters are listed, and not only when a member moves.

use atm_office::machines::{self, Home, Move};
use atm_wire::TeamName;

use super::House;
use crate::protocol::homes::MemberKey;

impl House {
    /// Sends a letter on if its recipient has left the machine that it is addressed to; says whether it had to be.
    pub(super) fn follow(&self, team: &TeamName, key: &MemberKey, letter: &machines::Outgoing) -> bool {
        let Some(residence) = self.homes.home_of(key).filter(|residence| residence.machine != letter.machine)
        else {
            return false;
        };
        let is_here = residence.machine == self.me;
        // On other machines a bare name is carried to its present home. With a machine's name it means whom that machine has.
        let has_left = if letter.called == letter.to {
            is_here
        } else {
            !letter.is_listed && self.homes.was_at(key, &letter.machine)
        };
        if has_left {
            let moved = Move {
                name: &key.name,
                home: if is_here { Home::Here } else { Home::Machine(residence.machine.clone()) },
                former: std::slice::from_ref(&letter.machine),
                leaves: None,
            };
            // If that cannot be done now, the letter waits, and is looked at again with all others.
            let _ = self.office.machines().set_home(team, &moved);
        }
        has_left
    }
}
