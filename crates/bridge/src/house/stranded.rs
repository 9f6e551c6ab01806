//! Letters that were accepted for a home which their recipient had left already, after its move was done here.
//!
//! Whoever accepts a letter looked at the team a moment before: a slow process, a batch, a server for tools. So "no letter waits for a
//! machine that its recipient has left" is restored whenever letters are listed, and not only when a member moves. All letters of
//! such a recipient are sent on together, in their order, and none of them is carried before that is done.

use std::collections::HashMap;

use atm_office::machines::{self, Home, Move};
use atm_wire::TeamName;

use super::House;
use crate::name::Machine;
use crate::protocol::homes::MemberKey;

/// The recipients whose letters were sent on in one listing, by team and name here, and whether that could be done: each is tried
/// once.
pub(super) type SentOn = HashMap<(TeamName, String), bool>;

/// What became of a letter before it is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    /// It is for the machine that it is addressed to.
    Stays,
    /// It was sent on, with all others for its recipient.
    SentOn,
    /// It could not be sent on now: it is looked at again with all others.
    Waits,
}

impl House {
    /// Sends a letter on, with all others for its recipient, if that has left the machine that it is addressed to.
    pub(super) fn follow(
        &self,
        team: &TeamName,
        key: &MemberKey,
        letter: &machines::Outgoing,
        sent_on: &mut SentOn,
    ) -> Followed {
        let called = (team.clone(), letter.called.clone());
        let home = match (self.strays_from(key, letter), sent_on.get(&called)) {
            // Those behind one that could not be sent on, now or in an earlier listing, would overtake it.
            (None, None) if self.stuck.contains(&called) => return Followed::Waits,
            (None, None | Some(true)) => return Followed::Stays,
            (None, Some(false)) | (Some(_), Some(_)) => return Followed::Waits,
            (Some(home), None) => home,
        };
        let moved = Move {
            name: &key.name,
            home: if home == self.me { Home::Here } else { Home::Machine(home) },
            former: std::slice::from_ref(&letter.machine),
            leaves: None,
        };
        let _moves = self.moves_lock.take();
        let is_done = self.office.machines().set_home(team, &moved).unwrap_or(false);
        sent_on.insert(called, is_done);
        if is_done { Followed::SentOn } else { Followed::Waits }
    }

    /// Remembers which recipients have letters that could not be sent on in this listing.
    pub(super) fn note_stuck(&mut self, sent_on: SentOn) {
        for (called, is_done) in sent_on {
            if is_done {
                self.stuck.remove(&called);
            } else {
                self.stuck.insert(called);
            }
        }
    }

    /// The home of a letter's recipient, if the letter is addressed to another one that the recipient has left.
    fn strays_from(&self, key: &MemberKey, letter: &machines::Outgoing) -> Option<Machine> {
        let residence = self.homes.home_of(key);
        if letter.is_left_here {
            return Some(residence.map_or(&letter.machine, |residence| &residence.machine).clone());
        }
        let home = &residence?.machine;
        // On other machines a bare name is carried to its present home. With a machine's name it means whom that machine has.
        let has_left = if letter.called == letter.to {
            *home == self.me
        } else {
            !letter.is_listed && self.homes.was_at(key, &letter.machine)
        };
        (*home != letter.machine && has_left).then(|| home.clone())
    }
}
