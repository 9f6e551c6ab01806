//! Where members are at home: residences, of which the one with the highest epoch counts.
//!
//! A machine registers a member of its own by compare-and-set in a bucket of the realm. A residence is signed by its machine, and each
//! one that takes over from another has an epoch that is one higher. Every machine remembers the highest residences that it saw, with
//! their signatures, and puts them back into a bucket that has lost them: so a server that lost its disk sends no member back to
//! a former home, as long as one machine remembers.
//!
//! A residence says which entry of its machine's list the member is, or that nobody is left there, and which entries of former homes
//! it took over. So a name that was removed and added again is told from the member that has left, by every machine, whatever it
//! remembers; and who has given a member up says so in the same place where others take it over.

mod moving;
mod residence;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::name::Machine;

pub(crate) use moving::announced_in;
pub use moving::{Moved, is_kept};
pub use residence::{Entries, Former, HIGHEST_EPOCH, MOST_FORMER, MemberKey, Residence, Resident, Slot};

/// Members whose homes are kept: entries come from outside.
const MOST: usize = 100_000;

/// A residence that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    residence: Residence,
    /// As its machine signed it.
    signed: String,
    /// The epoch whose move is done on this machine.
    settled: u64,
    /// Machines that were seen here to be its home before: what a residence says of former homes is its signer's word alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<Machine>,
    /// The key that signed it is not trusted here any more: nobody is known to have the member, and only the epoch counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_void: bool,
}

impl Remembered {
    /// What takes the member over. Who is not trusted any more keeps nobody by an epoch after which there is none: it begins anew.
    fn takeover(&self, me: &Machine, resident: Resident) -> Option<Content> {
        takeover(&self.residence, me, resident).or_else(|| self.is_void.then(|| first(resident)))
    }

    /// The machines that were seen to be its home, this residence included.
    fn seen_with_this(&self) -> Vec<Machine> {
        let is_other = |machine: &&Machine| **machine != self.residence.machine;
        let mut seen: Vec<Machine> = self.seen.iter().filter(is_other).cloned().collect();
        seen.push(self.residence.machine.clone());
        seen.drain(..seen.len().saturating_sub(MOST_FORMER));
        seen
    }
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
        /// Which entry of the list here it is.
        resident: Resident,
        /// Where the member was at home before.
        former: Vec<Former>,
        /// When this machine last spoke of the same stay: what it says now is later, whatever its clock shows.
        after: Option<Stamp>,
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

/// All homes that a machine knows, and the bucket as it sees it.
#[derive(Debug, Default)]
pub struct Homes {
    known: BTreeMap<MemberKey, Remembered>,
    /// What the bucket has, and its revision.
    bucket: BTreeMap<MemberKey, (Slot, u64)>,
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

    /// The bucket was opened, perhaps another one of its name, or because other machines are trusted: a residence counts while the
    /// present key of its machine verifies it.
    pub fn begin(&mut self, is_valid: impl Fn(&MemberKey, &str) -> bool) {
        self.bucket.clear();
        self.is_whole = false;
        for (key, known) in &mut self.known {
            known.is_void = !is_valid(key, &known.signed);
        }
    }

    /// All of the bucket was seen.
    pub fn complete(&mut self) {
        self.is_whole = true;
    }

    /// An entry of the bucket. Says whether that is news.
    pub fn find(&mut self, key: MemberKey, found: Slot, revision: u64) -> bool {
        let has_room = self.bucket.len() < MOST || self.bucket.contains_key(&key);
        if !has_room || self.bucket.get(&key).is_some_and(|(_, known)| *known > revision) {
            return false;
        }
        self.bucket.insert(key.clone(), (found.clone(), revision));
        let Slot::Residence(residence, signed) = found else { return false };
        let known = self.known.get(&key);
        if known.is_some_and(|known| !known.is_void && !residence.beats(&known.residence)) {
            return false;
        }
        // Nothing has to be moved for a first residence. But a bucket that was lost may have had another first one.
        let settled = match known {
            None if residence.epoch == 1 => 1,
            None => 0,
            // Its letters may be addressed under an epoch that nobody has.
            Some(known) if known.is_void => 0,
            Some(known) if known.residence.machine == residence.machine => known.settled,
            Some(known) => known.settled.min(residence.epoch.saturating_sub(1)),
        };
        let seen = known.map(Remembered::seen_with_this).unwrap_or_default();
        self.known.insert(key, Remembered { residence, signed, settled, seen, is_void: false });
        true
    }

    /// Where a member is at home, and since which epoch.
    pub fn home_of(&self, key: &MemberKey) -> Option<&Residence> {
        self.known.get(key).filter(|known| !known.is_void).map(|known| &known.residence)
    }

    /// All residences that count.
    pub fn residences(&self) -> impl Iterator<Item = (&MemberKey, &Residence)> {
        self.known.iter().filter(|(_, known)| !known.is_void).map(|(key, known)| (key, &known.residence))
    }

    /// The epoch under which a member is at home on a machine.
    pub fn epoch_at(&self, key: &MemberKey, machine: &Machine) -> Option<u64> {
        self.home_of(key).filter(|residence| residence.machine == *machine).map(|residence| residence.epoch)
    }

    /// The epoch under which a member is announced that is on the list here: that of its home here; or, if it has moved and has not been
    /// handed over yet, one that is lower than that of its new home. One without is another member of the name.
    pub fn announced_epoch(&self, key: &MemberKey, me: &Machine, entry: Resident) -> Option<u64> {
        let leaving =
            || Some(self.home_of(key)?.epoch.saturating_sub(1)).filter(|_| self.is_leaving(key, me, entry));
        self.epoch_at(key, me).or_else(leaving)
    }

    /// Whether an entry of the list here is the member that has moved, and has not been handed over yet.
    fn is_leaving(&self, key: &MemberKey, me: &Machine, entry: Resident) -> bool {
        let known =
            self.known.get(key).filter(|known| !known.is_void && known.settled < known.residence.epoch);
        known.is_some_and(|known| known.residence.has_left(me, entry))
    }

    /// Whether a letter that was addressed to a machine under an epoch is for the member that is at home there now. An envelope
    /// of an earlier stay of the member does not come in again, and nothing does for one that was removed here.
    pub fn admits(&self, key: &MemberKey, me: &Machine, addressed: Option<u64>) -> bool {
        if self.home_of(key).is_some_and(|home| home.machine == *me && home.resident == Resident::Nobody) {
            return false;
        }
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

    /// What is known of where a member is, as a number: its residence as its home said it last, and whether the machine that a
    /// letter is for announces it, under which epoch.
    pub fn whereabouts(&self, key: &MemberKey, listed: Option<Option<u64>>) -> u64 {
        let mut hasher = DefaultHasher::new();
        let residence = self.home_of(key);
        let residence = residence.map(|home| (home.machine.as_str(), home.epoch, home.at.as_millis()));
        (residence, listed).hash(&mut hasher);
        hasher.finish()
    }

    /// What has to be put into the bucket now, if these members are here.
    pub fn puts(&self, me: &Machine, local: &Entries) -> Vec<Put> {
        if !self.is_whole {
            return Vec::new();
        }
        let mut puts = Vec::new();
        for (key, known) in self.known.iter().filter(|(_, known)| !known.is_void) {
            let again = || Some(Content::Again(known.signed.clone()));
            let (what, revision) = match self.bucket.get(key) {
                None => (again(), 0),
                Some((Slot::Residence(found, _), revision)) if known.residence.beats(found) => {
                    (again(), *revision)
                }
                Some((Slot::Residence(found, _), revision)) if found.is_stay_of(&known.residence) => {
                    (next_of(found, me, local.get(key).copied()), *revision)
                }
                Some((Slot::FormerKey | Slot::Deleted, revision)) => (again(), *revision),
                Some(_) => (None, 0),
            };
            puts.extend(what.map(|what| Put { key: key.clone(), what, revision }));
        }
        for (key, resident) in local {
            let known = self.known.get(key);
            let is_void = known.is_some_and(|known| known.is_void);
            let revision = match self.bucket.get(key) {
                None => 0,
                Some((Slot::FormerKey | Slot::Deleted, revision)) => *revision,
                // This machine's people have ended their trust in who has it.
                Some((Slot::Foreign, revision)) if is_void => *revision,
                Some(_) => continue,
            };
            match known {
                None => puts.push(Put { key: key.clone(), what: first(*resident), revision }),
                Some(known) if is_void => {
                    let what = known.takeover(me, *resident);
                    puts.extend(what.map(|what| Put { key: key.clone(), what, revision }));
                }
                Some(_) => {}
            }
        }
        puts
    }

    /// What takes a member over from its holder, with its entry of the list here: nothing if this machine holds it, or if nobody can
    /// take it.
    pub fn take(&self, me: &Machine, key: &MemberKey, entry: Resident) -> Option<Put> {
        let (found, revision) =
            self.bucket.get(key).map_or((None, 0), |(slot, revision)| (Some(slot), *revision));
        // What is remembered here may be older than what cannot be read there.
        let is_read = !matches!(found, Some(Slot::Foreign | Slot::FormerKey));
        let what = match self.known.get(key) {
            Some(known) if is_read && !known.is_void && known.residence.machine == *me => return None,
            Some(known) => known.takeover(me, entry)?,
            None => first(entry),
        };
        Some(Put { key: key.clone(), what, revision })
    }

    /// The machine that registered a member under the highest epoch: nobody can take it over while that machine is trusted.
    pub fn kept_for_ever_by(&self, key: &MemberKey) -> Option<&Machine> {
        self.home_of(key).filter(|residence| residence.is_last()).map(|residence| &residence.machine)
    }

    /// The members here that another machine holds, and has not given up: others than those that have moved there.
    pub fn refused(&self, me: &Machine, local: &Entries) -> Vec<Refused> {
        let refused = |(key, entry): (&MemberKey, &Resident)| {
            if self.is_leaving(key, me, *entry) {
                return None;
            }
            let residence = self.home_of(key).filter(|residence| residence.machine != *me)?;
            (residence.resident != Resident::Nobody).then(|| Refused {
                key: key.clone(),
                machine: residence.machine.clone(),
                epoch: residence.epoch,
            })
        };
        local.iter().filter_map(refused).collect()
    }

    /// Where a member is that a machine announces under an epoch: on that machine, or where it has moved since, unless it was given up
    /// there. One without an epoch is another member of the name.
    pub fn place(&self, key: &MemberKey, announcer: &Machine, epoch: Option<u64>) -> Place {
        match self.home_of(key) {
            Some(residence)
                if residence.machine != *announcer
                    && residence.resident != Resident::Nobody
                    && epoch.is_some_and(|epoch| epoch < residence.epoch) =>
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

/// The first residence of a member.
fn first(resident: Resident) -> Content {
    Content::New { epoch: 1, resident, former: Vec::new(), after: None }
}

/// What this machine says next of a stay, if it has anything to say: whom it has, if it is the home; and if its home has given
/// the member up, that it is here now.
fn next_of(residence: &Residence, me: &Machine, entry: Option<Resident>) -> Option<Content> {
    if residence.machine == *me {
        let resident = entry.unwrap_or(Resident::Nobody);
        let (epoch, former, after) = (residence.epoch, residence.former.clone(), Some(residence.at));
        return (resident != residence.resident).then_some(Content::New { epoch, resident, former, after });
    }
    entry.filter(|_| residence.resident == Resident::Nobody).and_then(|entry| takeover(residence, me, entry))
}

/// The residence of a machine that takes a member over; none if there is no epoch after this one.
fn takeover(residence: &Residence, me: &Machine, resident: Resident) -> Option<Content> {
    if residence.is_last() {
        return None;
    }
    let is_other = |former: &&Former| former.machine != *me && former.machine != residence.machine;
    let mut former: Vec<Former> = residence.former.iter().filter(is_other).cloned().collect();
    former.push(Former { machine: residence.machine.clone(), resident: residence.resident });
    former.drain(..former.len().saturating_sub(MOST_FORMER));
    Some(Content::New { epoch: residence.epoch + 1, resident, former, after: None })
}

#[cfg(test)]
mod tests;
