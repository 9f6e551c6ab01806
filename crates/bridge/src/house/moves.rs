//! Homes of members, as the office is told of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use atm_office::OfficeError;
use atm_office::machines::{Home, Move, RemoteMember};
use atm_wire::{MemberName, Stamp, TeamName};

use super::{House, Neighbour, Outcome};
use crate::name::Machine;
use crate::protocol::homes::{self, Homes, MemberKey, Moved, Put, Refused, Resident};

/// A member that is being taken is on the list a moment before this machine is its home: its lead hears nothing of that.
const TELL_AFTER: Duration = Duration::from_secs(5);

impl House {
    /// Goes on with the homes that were remembered.
    pub fn set_homes(&mut self, homes: Homes) {
        self.homes = homes;
    }

    /// There is a stream. Who has moved may have read mail before, and the stream tells of that: nothing is sent on before
    /// this machine has processed what it held.
    pub fn wait_for_stream(&mut self) {
        self.catch_ups.has_stream = true;
    }

    /// The number of a question that moves wait for, if it was not asked yet: has this machine processed what the stream holds
    /// for it now?
    pub fn ask_for_stream(&mut self) -> Option<u64> {
        self.catch_ups.ask()
    }

    /// It has, as was asked with this number.
    pub fn note_caught_up(&mut self, question: u64) {
        self.catch_ups.answer(question);
    }

    /// Where members are at home.
    pub fn homes(&self) -> &Homes {
        &self.homes
    }

    /// The same, to be changed.
    pub fn homes_mut(&mut self) -> &mut Homes {
        &mut self.homes
    }

    /// What this machine has to put into the bucket of homes.
    pub fn puts(&self) -> Vec<Put> {
        // A team that is not shared now, or cannot be read, is not looked at: nobody of it is known to be gone.
        let mut puts = self.homes.puts(&self.me, &self.own);
        puts.retain(|put| self.has_share(&put.key.team) && self.has_read(&put.key.team));
        puts
    }

    /// Moves mail, and members that have left, as the homes are now; says whether that changed anything.
    pub(super) fn settle_moves(&mut self, neighbours: &BTreeMap<Machine, Neighbour>) -> Outcome<bool> {
        let (mut has_changed, mut failed) = (false, None);
        self.recall_homes();
        let due = self.homes.moves(&self.me, &self.own, neighbours);
        // Nobody waits for a move that is none any more.
        let is_open = |key: &MemberKey| due.iter().any(|one| one.key == *key);
        self.handovers.retain(is_open);
        self.catch_ups.retain(is_open);
        for Moved { key, residence, former, leaves } in due {
            let Some(local) = self.share_of(&key.team).map(|share| share.local.clone()) else { continue };
            let is_kept = homes::is_kept(&key, &residence, neighbours);
            let waits = self.handovers.waits(&key, residence.epoch, is_kept, Instant::now());
            if waits || !self.has_read(&key.team) || !self.office().has_team(&local) {
                continue;
            }
            // A first home is no move. What a member that leaves has read is known here.
            if residence.epoch > 1 && leaves.is_none() && self.catch_ups.waits(&key, residence.epoch) {
                continue;
            }
            let is_here = residence.machine == self.me;
            let moved = Move {
                name: &key.name,
                home: if is_here { Home::Here } else { Home::Machine(residence.machine.clone()) },
                former: &former,
                leaves: leaves.map(|entry| match entry {
                    Resident::Joined(at) => Some(Stamp::from_millis(at)),
                    Resident::Unknown | Resident::Nobody => None,
                }),
            };
            let set = {
                let _moves = self.moves_lock.take();
                self.office().machines().set_home(&local, &moved)
            };
            let is_done = set.unwrap_or_else(|error| {
                // One that fails keeps no other one waiting.
                failed.get_or_insert(error);
                false
            });
            if is_done {
                self.homes.settle(&key, residence.epoch);
                self.handovers.end(&key);
                if leaves.is_some() {
                    self.own.remove(&key);
                }
                has_changed = true;
            }
        }
        Outcome { done: has_changed, trouble: failed }
    }

    /// What the bridge has forgotten about former homes, as far as the office knows it.
    fn recall_homes(&mut self) {
        let (office, shares) = (&self.office, &self.shares);
        self.homes.recall_seen(|key, machine| {
            let share = shares.iter().find(|share| share.shared == key.team);
            share.is_some_and(|share| office.machines().was_home(&share.local, &key.name, machine))
        });
    }

    /// The members here whose names another machine holds. Their lead is told once.
    pub fn refused(&mut self) -> Result<Vec<Refused>, OfficeError> {
        let mut refused = self.homes.refused(&self.me, &self.own);
        // Who is being taken has its name.
        refused.retain(|refused| !self.arriving.contains(&refused.key));
        let name_of = |refused: &Refused| (refused.key.clone(), refused.machine.clone(), refused.epoch);
        // The message has an id that is made of the name, its holder and the epoch: nobody is told the same twice.
        self.refused.retain(|name, _| refused.iter().any(|one| name_of(one) == *name));
        let mut failed = None;
        for one in &refused {
            let Refused { key, machine, epoch } = one;
            let (since, is_told) = *self.refused.entry(name_of(one)).or_insert((Instant::now(), false));
            let Some(local) = self.share_of(&key.team).map(|share| share.local.clone()) else { continue };
            if is_told || since.elapsed() < TELL_AFTER {
                continue;
            }
            let told = MemberName::parse(&key.name).map_err(OfficeError::from).and_then(|name| {
                self.office().machines().tell_refused(&local, &name, (machine, *epoch, &self.me))
            });
            match told {
                Ok(()) => drop(self.refused.insert(name_of(one), (since, true))),
                // One that cannot be told keeps no other one waiting.
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(refused)
    }

    /// Tells the leads of all shared teams that another bridge has this machine's name.
    pub fn tell_namesake(&self, since: Stamp) -> Result<(), OfficeError> {
        let mut failed = None;
        for share in self.shares.iter().filter(|share| self.office().has_team(&share.local)) {
            if let Err(error) = self.office().machines().tell_namesake(&share.local, &self.me, since) {
                // One that cannot be told keeps no other one waiting.
                failed.get_or_insert(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Whether a member here that has the name of this one may be about to become it: it has the name for a moment only, as far
    /// as is known. Who leads here never does.
    pub(super) fn is_undecided(&self, (local, team): (&TeamName, &str), member: &RemoteMember) -> bool {
        let key = MemberKey { team: team.to_owned(), name: member.name.clone() };
        let leads = self.leads.get(local).is_some_and(|leads| leads.contains(&member.name));
        let Some(epoch) = self.homes.epoch_at(&key, &member.machine).filter(|_| member.holds_name && !leads)
        else {
            return false;
        };
        let since = self.refused.get(&(key, member.machine.clone(), epoch));
        since.is_none_or(|(since, _)| since.elapsed() < TELL_AFTER)
    }

    /// When something is due although nothing happens: the next lead has to be told of a name that another machine holds, or a move
    /// has waited long enough for the former home.
    pub fn is_due_at(&self) -> Option<Instant> {
        let untold = self.refused.values().filter(|(_, is_told)| !is_told);
        let tells_at = untold.map(|(since, _)| *since + TELL_AFTER).min();
        tells_at.into_iter().chain(self.handovers.ends_at()).min()
    }
}
