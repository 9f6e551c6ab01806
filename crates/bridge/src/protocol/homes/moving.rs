//! Which moves are to be done on a machine, and from where.

use std::collections::BTreeMap;

use super::{Entries, Former, Homes, MemberKey, Remembered, Residence, Resident};
use crate::envelope::{SharedMember, SharedTeam};
use crate::house::Neighbour;
use crate::name::Machine;

/// Where a member has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The member.
    pub key: MemberKey,
    /// Its residence.
    pub residence: Residence,
    /// Where it was at home before, as this machine saw it.
    pub former: Vec<Machine>,
    /// The entry of the list here that has left with it.
    pub leaves: Option<Resident>,
}

impl Homes {
    /// Moves that are to be done on this machine now. A member that is here leaves when its new home has it: one that nobody
    /// else has stays.
    pub fn moves(
        &self,
        me: &Machine,
        local: &Entries,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Vec<Moved> {
        let open = |(key, known): (&MemberKey, &Remembered)| {
            let Remembered { residence, settled, seen, is_void, .. } = known;
            let is_seen = |machine: &Machine| seen.contains(machine);
            let former = left_since(&residence.former, residence.epoch, *settled);
            let former = former.iter().map(|former| former.machine.clone()).filter(is_seen).collect();
            let leaves = local.get(key).copied().filter(|entry| residence.has_left(me, *entry));
            let is_due = leaves.is_none() || has_it(key, residence, neighbours.get(&residence.machine));
            let moved = || Moved { key: key.clone(), residence: residence.clone(), former, leaves };
            (!is_void && *settled < residence.epoch && is_due).then(moved)
        };
        self.known.iter().filter_map(open).collect()
    }

    /// What is not remembered may be known otherwise: that a machine was the home of a member whose move is not done here.
    pub fn recall_seen(&mut self, is_known: impl Fn(&MemberKey, &Machine) -> bool) {
        let is_open = |known: &&mut Remembered| !known.is_void && known.settled < known.residence.epoch;
        for (key, known) in &mut self.known {
            let Some(known) = Some(known).filter(is_open) else { continue };
            for Former { machine, .. } in &known.residence.former {
                if !known.seen.contains(machine) && is_known(key, machine) {
                    known.seen.push(machine.clone());
                }
            }
        }
    }

    /// Whether a member was at home on a machine before, as this machine saw it.
    pub fn was_at(&self, key: &MemberKey, machine: &Machine) -> bool {
        self.known.get(key).is_some_and(|known| {
            let is_former = known.residence.former.iter().any(|former| former.machine == *machine);
            is_former && known.seen.contains(machine)
        })
    }

    /// Whether no move of a member is open on this machine.
    pub fn is_settled(&self, key: &MemberKey) -> bool {
        self.known.get(key).is_none_or(|known| known.is_void || known.settled >= known.residence.epoch)
    }

    /// Whether a move of any member is open on this machine.
    pub fn has_open(&self) -> bool {
        self.known.keys().any(|key| !self.is_settled(key))
    }

    /// A move is done on this machine.
    pub fn settle(&mut self, key: &MemberKey, epoch: u64) {
        if let Some(known) = self.known.get_mut(key) {
            known.settled = known.settled.max(epoch);
        }
    }
}

/// A member of a team as a machine announces it.
pub(crate) fn announced_in<'a>(teams: &'a [SharedTeam], team: &str, name: &str) -> Option<&'a SharedMember> {
    let teams = teams.iter().filter(|shared| shared.name == team);
    teams.flat_map(|shared| &shared.members).find(|member| member.name == name)
}

/// Whether the home of a member announces it, and knew of this residence when it did: what it said before may be about another
/// member of the name, or about one that it has lost since.
fn has_it(key: &MemberKey, residence: &Residence, home: Option<&Neighbour>) -> bool {
    let announced = home.and_then(|home| announced_in(&home.teams, &key.team, &key.name));
    announced.and_then(|member| member.epoch).is_some_and(|epoch| epoch >= residence.epoch)
}

/// Whether the home that a member comes from is there, and has not handed it over yet, as it said last.
pub fn is_kept(key: &MemberKey, residence: &Residence, neighbours: &BTreeMap<Machine, Neighbour>) -> bool {
    let former = residence.former.last().and_then(|former| neighbours.get(&former.machine));
    let Some(former) = former.filter(|former| former.is_present) else { return false };
    let announced = announced_in(&former.teams, &key.team, &key.name);
    announced.and_then(|member| member.epoch).is_some_and(|epoch| epoch < residence.epoch)
}

/// The homes that a member has left since the move of an epoch was done here. Each takeover puts the home that it ends behind the
/// others, so those are the last ones; a machine that remembers nothing takes all. Mail for a name on a machine that the member
/// left before is another member's.
pub(super) fn left_since(former: &[Former], epoch: u64, settled: u64) -> &[Former] {
    let count = match settled {
        0 => former.len(),
        settled => usize::try_from(epoch.saturating_sub(settled)).unwrap_or(usize::MAX),
    };
    &former[former.len().saturating_sub(count)..]
}
