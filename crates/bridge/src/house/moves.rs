//! Homes of members, as the office is told of them.

use std::collections::BTreeMap;

use atm_office::OfficeError;
use atm_office::machines::{Home, Move};
use atm_wire::MemberName;

use super::{House, Neighbour};
use crate::name::Machine;
use crate::protocol::homes::{Homes, Moved, Put, Refused};

impl House {
    /// Goes on with the homes that were remembered.
    pub fn set_homes(&mut self, homes: Homes) {
        self.homes = homes;
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
    pub fn puts(&self, neighbours: &BTreeMap<Machine, Neighbour>) -> Vec<Put> {
        self.homes.puts(&self.me, &self.own, neighbours)
    }

    /// Moves mail, and members that have left, as the homes are now; says whether that changed anything.
    pub(super) fn settle_moves(
        &mut self,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Result<bool, OfficeError> {
        let mut has_changed = false;
        for Moved { key, residence } in self.homes.moves(&self.me, &self.own, neighbours) {
            let Some(local) = self.share_of(&key.team).map(|share| share.local.clone()) else { continue };
            if !self.office().has_team(&local) {
                continue;
            }
            let is_here = residence.machine == self.me;
            let moved = Move {
                name: &key.name,
                home: if is_here { Home::Here } else { Home::Machine(residence.machine.clone()) },
                former: &residence.former,
                was_here: residence.former.contains(&self.me),
            };
            if self.office().machines().set_home(&local, &moved)? {
                self.homes.settle(&key, residence.epoch);
                if !is_here {
                    self.own.remove(&key);
                }
                has_changed = true;
            }
        }
        Ok(has_changed)
    }

    /// The members here whose names another machine holds. Their lead is told once.
    pub fn refused(
        &mut self,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Result<Vec<Refused>, OfficeError> {
        let refused = self.homes.refused(&self.me, &self.own, neighbours);
        for Refused { key, machine, epoch } in &refused {
            let told = (key.clone(), machine.clone(), *epoch);
            let Some(local) = self.share_of(&key.team).map(|share| share.local.clone()) else { continue };
            if self.told.contains(&told) {
                continue;
            }
            let name = MemberName::parse(&key.name)?;
            self.office().machines().tell_refused(&local, &name, (machine, *epoch, &self.me))?;
            self.told.insert(told);
        }
        Ok(refused)
    }
}
