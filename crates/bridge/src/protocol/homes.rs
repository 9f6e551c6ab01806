//! Where members are at home: residences, of which the one with the highest epoch counts.
//!
//! A machine registers a member of its own by compare-and-set in a bucket of the realm. A residence is signed by its machine, and each
//! one that takes over from another has an epoch that is one higher. Every machine remembers the highest residences that it saw, with
//! their signatures, and puts them back into a bucket that has lost them: so a server that lost its disk sends no member back to
//! a former home, as long as one machine remembers.

use std::collections::{BTreeMap, BTreeSet};

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::house::Neighbour;
use crate::name::Machine;

/// Former homes that a residence names.
const MOST_FORMER: usize = 32;

/// A member, by the shared name of its team and its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberKey {
    /// The team.
    pub team: String,
    /// The member.
    pub name: String,
}

/// What a machine says: that a member is at home on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residence {
    /// The home.
    pub machine: Machine,
    /// It grows by one with each takeover, and begins with 1.
    pub epoch: u64,
    /// When it was made, by that machine's clock.
    pub at: Stamp,
    /// Where the member was at home before.
    pub former: Vec<Machine>,
}

impl Residence {
    /// Whether it is the same stay of the member, on the same machine.
    pub fn is_stay_of(&self, other: &Self) -> bool {
        (self.epoch, &self.machine) == (other.epoch, &other.machine)
    }

    /// Whether it counts rather than another one. Two of one epoch are of buckets that were lost: every machine decides the same.
    pub fn beats(&self, other: &Self) -> bool {
        (self.epoch, &self.machine) > (other.epoch, &other.machine)
    }
}

/// A residence that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    residence: Residence,
    /// As its machine signed it.
    signed: String,
    /// The epoch whose move is done on this machine.
    settled: u64,
}

/// What is remembered of homes across restarts.
pub type Memory = Vec<(MemberKey, Remembered)>;

/// What to put into the bucket, if the entry still has this revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    /// Which entry.
    pub key: MemberKey,
    /// What it says.
    pub what: Content,
    /// The revision that it replaces; 0: none.
    pub revision: u64,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A residence of this machine, which has to be signed.
    New {
        /// Its epoch.
        epoch: u64,
        /// Where the member was at home before.
        former: Vec<Machine>,
    },
    /// A residence that a bucket has lost, as it was signed.
    Again(String),
}

/// A member here that another machine holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The member.
    pub key: MemberKey,
    /// Who holds it.
    pub machine: Machine,
    /// Since which epoch.
    pub epoch: u64,
}

/// Where a member has moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The member.
    pub key: MemberKey,
    /// Its residence.
    pub residence: Residence,
}

/// All homes that a machine knows, and the bucket as it sees it.
#[derive(Debug, Default)]
pub struct Homes {
    known: BTreeMap<MemberKey, Remembered>,
    /// What the bucket has: the residence, if it could be read, and its revision.
    bucket: BTreeMap<MemberKey, (Option<Residence>, u64)>,
    /// Whether all of the bucket was seen. Before, nothing is put.
    is_whole: bool,
}

impl Homes {
    /// One that remembers.
    pub fn remembering(memory: Memory) -> Self {
        Self { known: memory.into_iter().collect(), ..Self::default() }
    }

    /// What to remember across a restart.
    pub fn to_remember(&self) -> Memory {
        self.known.iter().map(|(key, known)| (key.clone(), known.clone())).collect()
    }

    /// The bucket was opened, perhaps another one of its name.
    pub fn begin(&mut self) {
        self.bucket.clear();
        self.is_whole = false;
    }

    /// All of the bucket was seen.
    pub fn complete(&mut self) {
        self.is_whole = true;
    }

    /// An entry of the bucket: its residence with its signed form, or nothing where it was refused. Says whether that is news.
    pub fn find(&mut self, key: MemberKey, found: Option<(Residence, String)>, revision: u64) -> bool {
        if self.bucket.get(&key).is_some_and(|(_, known)| *known > revision) {
            return false;
        }
        self.bucket.insert(key.clone(), (found.as_ref().map(|(residence, _)| residence.clone()), revision));
        let Some((residence, signed)) = found else { return false };
        let known = self.known.get(&key);
        if known.is_some_and(|known| !residence.beats(&known.residence)) {
            return false;
        }
        // Nothing has to be moved for a first residence. But a bucket that was lost may have had another first one.
        let settled = match known {
            None if residence.epoch == 1 => 1,
            None => 0,
            Some(known) if known.residence.machine == residence.machine => known.settled,
            Some(known) => known.settled.min(residence.epoch.saturating_sub(1)),
        };
        self.known.insert(key, Remembered { residence, signed, settled });
        true
    }

    /// Where a member is at home, and since which epoch.
    pub fn home_of(&self, key: &MemberKey) -> Option<&Residence> {
        self.known.get(key).map(|known| &known.residence)
    }

    /// The epoch under which a member is at home on a machine.
    pub fn epoch_at(&self, key: &MemberKey, machine: &Machine) -> Option<u64> {
        self.home_of(key).filter(|residence| residence.machine == *machine).map(|residence| residence.epoch)
    }

    /// Whether a letter that was addressed to a machine under an epoch is for the member that is at home there now. An envelope
    /// of an earlier stay of the member does not come in again.
    pub fn admits(&self, key: &MemberKey, me: &Machine, addressed: Option<u64>) -> bool {
        let epoch = self.epoch_at(key, me);
        match addressed {
            Some(addressed) => epoch == Some(addressed),
            None => epoch.is_none_or(|epoch| epoch == 1),
        }
    }

    /// The epoch that a letter for a member on a machine carries: none before its first move.
    pub fn address(&self, key: &MemberKey, machine: &Machine) -> Option<u64> {
        self.epoch_at(key, machine).filter(|epoch| *epoch > 1)
    }

    /// What has to be put into the bucket now, if these members are here.
    pub fn puts(
        &self,
        me: &Machine,
        local: &BTreeSet<MemberKey>,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Vec<Put> {
        if !self.is_whole {
            return Vec::new();
        }
        let mut puts = Vec::new();
        for (key, known) in &self.known {
            let (is_lost, revision) = match self.bucket.get(key) {
                None => (true, 0),
                Some((Some(residence), revision)) => (known.residence.beats(residence), *revision),
                // Of a machine that is not trusted here: it is not ours to replace.
                Some((None, _)) => (false, 0),
            };
            if is_lost {
                let what = Content::Again(known.signed.clone());
                puts.push(Put { key: key.clone(), what, revision });
            }
        }
        for key in local {
            let put = |what, revision| Put { key: key.clone(), what, revision };
            match (self.known.get(key), self.bucket.get(key)) {
                (None, None) => puts.push(put(Content::New { epoch: 1, former: Vec::new() }, 0)),
                (Some(known), Some((Some(residence), revision)))
                    if residence.is_stay_of(&known.residence)
                        && residence.machine != *me
                        && has_given_up(residence, key, neighbours.get(&residence.machine)) =>
                {
                    puts.push(put(takeover(residence, me), *revision));
                }
                _ => {}
            }
        }
        puts
    }

    /// What takes a member over, whoever holds it: nothing if this machine does.
    pub fn take(&self, me: &Machine, key: &MemberKey) -> Option<Put> {
        let revision = self.bucket.get(key).map_or(0, |(_, revision)| *revision);
        let what = match self.home_of(key) {
            Some(residence) if residence.machine == *me => return None,
            Some(residence) => takeover(residence, me),
            None => Content::New { epoch: 1, former: Vec::new() },
        };
        Some(Put { key: key.clone(), what, revision })
    }

    /// The members here that another machine holds, and has not given up.
    pub fn refused(
        &self,
        me: &Machine,
        local: &BTreeSet<MemberKey>,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Vec<Refused> {
        let refused = |key: &MemberKey| {
            let residence = self.home_of(key).filter(|residence| residence.machine != *me)?;
            let is_free = has_given_up(residence, key, neighbours.get(&residence.machine));
            (!is_free).then(|| Refused {
                key: key.clone(),
                machine: residence.machine.clone(),
                epoch: residence.epoch,
            })
        };
        local.iter().filter_map(refused).collect()
    }

    /// Moves that are to be done on this machine now. A member that is here leaves when its new home has it: one that nobody
    /// else has stays.
    pub fn moves(
        &self,
        me: &Machine,
        local: &BTreeSet<MemberKey>,
        neighbours: &BTreeMap<Machine, Neighbour>,
    ) -> Vec<Moved> {
        let open = self.known.iter().filter(|(key, known)| {
            let Remembered { residence, settled, .. } = known;
            let is_leaving =
                local.contains(*key) && residence.machine != *me && residence.former.contains(me);
            *settled < residence.epoch && (!is_leaving || lists(key, neighbours.get(&residence.machine)))
        });
        open.map(|(key, known)| Moved { key: key.clone(), residence: known.residence.clone() }).collect()
    }

    /// Whether no move of a member is open on this machine.
    pub fn is_settled(&self, key: &MemberKey) -> bool {
        self.known.get(key).is_none_or(|known| known.settled >= known.residence.epoch)
    }

    /// A move is done on this machine.
    pub fn settle(&mut self, key: &MemberKey, epoch: u64) {
        if let Some(known) = self.known.get_mut(key) {
            known.settled = known.settled.max(epoch);
        }
    }

    /// Where a member is that a machine announces under an epoch: on that machine, or where it has moved since. One without an
    /// epoch is another member of the name.
    pub fn place(&self, key: &MemberKey, announcer: &Machine, epoch: Option<u64>) -> Place {
        match self.home_of(key) {
            Some(residence)
                if residence.machine != *announcer && epoch.is_some_and(|epoch| epoch < residence.epoch) =>
            {
                Place::Moved(residence.machine.clone())
            }
            _ => Place::There,
        }
    }
}

/// Where an announced member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On the machine that announces it.
    There,
    /// It has moved since.
    Moved(Machine),
}

/// The residence of a machine that takes a member over.
fn takeover(residence: &Residence, me: &Machine) -> Content {
    let mut former: Vec<Machine> =
        residence.former.iter().filter(|machine| *machine != me).cloned().collect();
    former.retain(|machine| *machine != residence.machine);
    former.push(residence.machine.clone());
    former.drain(..former.len().saturating_sub(MOST_FORMER));
    Content::New { epoch: residence.epoch + 1, former }
}

/// Whether the holder of a member said, after it had taken it, that it is not there any more.
fn has_given_up(residence: &Residence, key: &MemberKey, holder: Option<&Neighbour>) -> bool {
    !lists(key, holder) && holder.and_then(Neighbour::spoke_at).is_some_and(|said_at| said_at > residence.at)
}

/// Whether a machine has a member, as it said last.
fn lists(key: &MemberKey, machine: Option<&Neighbour>) -> bool {
    let teams = machine.into_iter().flat_map(|machine| &machine.teams).filter(|team| team.name == key.team);
    teams.flat_map(|team| &team.members).any(|member| member.name == key.name)
}

#[cfg(test)]
mod tests;
