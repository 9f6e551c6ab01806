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
mod tests {
    use super::*;
    use crate::envelope::{SharedMember, SharedTeam};

    fn machine(name: &str) -> Machine {
        name.parse().unwrap()
    }

    fn bob() -> MemberKey {
        MemberKey { team: "alpha".into(), name: "bob".into() }
    }

    fn residence(machine_name: &str, epoch: u64, former: &[&str]) -> Residence {
        let former = former.iter().map(|name| machine(name)).collect();
        Residence { machine: machine(machine_name), epoch, at: Stamp::from_millis(1_000), former }
    }

    fn found(homes: &mut Homes, residence: &Residence, revision: u64) -> bool {
        homes.find(
            bob(),
            Some((residence.clone(), format!("{} {}", residence.machine, residence.epoch))),
            revision,
        )
    }

    fn says(members: &[&str], said_at: i64) -> Neighbour {
        let member = |name: &&str| SharedMember {
            name: (*name).to_owned(),
            lead: false,
            state: "idle".into(),
            epoch: Some(1),
        };
        let teams = vec![SharedTeam { name: "alpha".into(), members: members.iter().map(member).collect() }];
        let at = Stamp::from_millis(said_at);
        Neighbour { teams, is_present: true, seen_at: at, said_at: Some(at), beat_at: None }
    }

    /// What laptop puts for its member bob, if the bucket has `in_bucket` and laptop remembers `known`, and desk says this.
    fn put(known: Option<Residence>, in_bucket: Option<Residence>, desk: Option<Neighbour>) -> Option<Put> {
        let mut homes = Homes::default();
        if let Some(known) = known {
            found(&mut homes, &known, 1);
            homes.begin();
        }
        if let Some(residence) = in_bucket {
            found(&mut homes, &residence, 7);
        }
        homes.complete();
        let neighbours = desk.into_iter().map(|desk| (machine("desk"), desk)).collect();
        let mut puts = homes.puts(&machine("laptop"), &BTreeSet::from([bob()]), &neighbours);
        assert!(puts.len() <= 1, "{puts:?}");
        puts.pop()
    }

    type Row = (&'static str, Option<Residence>, Option<Residence>, Option<Neighbour>, Option<Put>);

    #[test]
    fn what_is_put_into_the_bucket() {
        let new = |epoch, former: &[&str], revision| {
            let former = former.iter().map(|name| machine(name)).collect();
            Some(Put { key: bob(), what: Content::New { epoch, former }, revision })
        };
        let again = |signed: &str, revision| {
            Some(Put { key: bob(), what: Content::Again(signed.to_owned()), revision })
        };
        let rows: Vec<Row> = vec![
            ("nobody has it", None, None, None, new(1, &[], 0)),
            ("it is ours", None, Some(residence("laptop", 1, &[])), None, None),
            ("another has it", None, Some(residence("desk", 1, &[])), Some(says(&["bob"], 2_000)), None),
            ("another has it, and was never heard", None, Some(residence("desk", 1, &[])), None, None),
            ("it has not said so since", None, Some(residence("desk", 1, &[])), Some(says(&[], 900)), None),
            (
                "given up",
                None,
                Some(residence("desk", 3, &["hub"])),
                Some(says(&["eve"], 2_000)),
                new(4, &["hub", "desk"], 7),
            ),
            ("the bucket is lost", Some(residence("laptop", 5, &[])), None, None, again("laptop 5", 0)),
            (
                "another's residence is lost",
                Some(residence("desk", 5, &[])),
                None,
                Some(says(&[], 2_000)),
                again("desk 5", 0),
            ),
            (
                "a former home was faster",
                Some(residence("desk", 5, &[])),
                Some(residence("laptop", 1, &[])),
                None,
                again("desk 5", 7),
            ),
            (
                "a tie, lost",
                Some(residence("desk", 1, &[])),
                Some(residence("laptop", 1, &[])),
                Some(says(&["bob"], 2_000)),
                None,
            ),
            (
                "a tie, won",
                Some(residence("laptop", 1, &[])),
                Some(residence("desk", 1, &[])),
                None,
                again("laptop 1", 7),
            ),
        ];
        for (case, known, in_bucket, desk, expected) in rows {
            assert_eq!(put(known, in_bucket, desk), expected, "{case}");
        }
    }

    #[test]
    fn nothing_is_put_before_all_of_the_bucket_was_seen_nor_over_what_cannot_be_read() {
        let mut homes = Homes::default();
        let local = BTreeSet::from([bob()]);
        assert!(homes.puts(&machine("laptop"), &local, &BTreeMap::new()).is_empty());
        homes.find(bob(), None, 4);
        homes.complete();
        assert!(homes.puts(&machine("laptop"), &local, &BTreeMap::new()).is_empty());
    }

    #[test]
    fn the_highest_epoch_counts_whenever_it_is_heard() {
        let mut homes = Homes::default();
        assert!(found(&mut homes, &residence("desk", 2, &["hub"]), 5));
        assert!(!found(&mut homes, &residence("hub", 1, &[]), 6));
        assert_eq!(homes.home_of(&bob()).unwrap().machine, machine("desk"));
        assert!(!found(&mut homes, &residence("laptop", 9, &[]), 4), "an older revision is no news");
        let mut homes = Homes::remembering(homes.to_remember());
        assert_eq!(homes.home_of(&bob()), Some(&residence("desk", 2, &["hub"])));
        assert!(found(&mut homes, &residence("hub", 3, &["desk"]), 1));
    }

    #[test]
    fn a_move_is_done_once_for_each_epoch_and_a_first_home_moves_nobody() {
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", 1, &[]), 1);
        let moves = |homes: &Homes| homes.moves(&machine("laptop"), &BTreeSet::new(), &BTreeMap::new());
        assert!(moves(&homes).is_empty() && homes.is_settled(&bob()));
        found(&mut homes, &residence("hub", 2, &["desk"]), 2);
        assert_eq!((moves(&homes).len(), homes.is_settled(&bob())), (1, false));
        homes.settle(&bob(), 2);
        let mut homes = Homes::remembering(homes.to_remember());
        assert!(moves(&homes).is_empty());
        found(&mut homes, &residence("desk", 3, &["hub"]), 3);
        assert_eq!(moves(&homes), [Moved { key: bob(), residence: residence("desk", 3, &["hub"]) }]);
        // Two first residences, in two buckets.
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", 1, &[]), 1);
        found(&mut homes, &residence("hub", 1, &[]), 2);
        assert_eq!(moves(&homes).len(), 1);
    }

    #[test]
    fn a_member_leaves_when_its_new_home_has_it() {
        let (me, here) = (machine("laptop"), BTreeSet::from([bob()]));
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", 2, &["laptop"]), 1);
        let moves = |local: &BTreeSet<MemberKey>, desk: &[&str]| {
            homes.moves(&me, local, &BTreeMap::from([(machine("desk"), says(desk, 2_000))])).len()
        };
        assert_eq!((moves(&here, &["bob"]), moves(&here, &[])), (1, 0));
        assert_eq!(moves(&BTreeSet::new(), &[]), 1, "there is nobody who could leave");
        assert_eq!(homes.moves(&me, &here, &BTreeMap::new()).len(), 0);
    }

    #[test]
    fn letters_of_an_earlier_stay_do_not_come_in() {
        let me = machine("laptop");
        let mut homes = Homes::default();
        let admits = |homes: &Homes| [None, Some(2), Some(3)].map(|epoch| homes.admits(&bob(), &me, epoch));
        assert_eq!(admits(&homes), [true, false, false], "no residence is known");
        found(&mut homes, &residence("laptop", 1, &[]), 1);
        assert_eq!((admits(&homes), homes.address(&bob(), &me)), ([true, false, false], None));
        found(&mut homes, &residence("desk", 2, &["laptop"]), 2);
        assert_eq!(admits(&homes), [true, false, false], "another member of the name");
        found(&mut homes, &residence("laptop", 3, &["desk"]), 3);
        assert_eq!((admits(&homes), homes.address(&bob(), &me)), ([false, false, true], Some(3)));
    }

    #[test]
    fn who_was_announced_before_a_move_is_where_it_moved() {
        let mut homes = Homes::default();
        found(&mut homes, &residence("desk", 2, &["hub"]), 1);
        let place = |announcer: &str, epoch| homes.place(&bob(), &machine(announcer), epoch);
        assert_eq!(place("hub", Some(1)), Place::Moved(machine("desk")));
        assert_eq!(place("hub", None), Place::There, "another member of the name");
        assert_eq!(place("desk", Some(2)), Place::There);
        assert_eq!(place("hub", Some(3)), Place::There, "this machine has not heard of its residence yet");
    }

    #[test]
    fn taking_over_goes_up_by_one_and_ours_is_ours() {
        let mut homes = Homes::default();
        let me = machine("laptop");
        assert_eq!(homes.take(&me, &bob()).unwrap().what, Content::New { epoch: 1, former: vec![] });
        found(&mut homes, &residence("desk", 4, &["laptop", "hub"]), 9);
        let put = homes.take(&me, &bob()).unwrap();
        assert_eq!(put.what, Content::New { epoch: 5, former: vec![machine("hub"), machine("desk")] });
        assert_eq!(put.revision, 9);
        let refused = |homes: &Homes, desk: Neighbour| {
            homes.refused(&me, &BTreeSet::from([bob()]), &BTreeMap::from([(machine("desk"), desk)])).len()
        };
        assert_eq!((refused(&homes, says(&["bob"], 2_000)), refused(&homes, says(&[], 2_000))), (1, 0));
        found(&mut homes, &residence("laptop", 5, &["hub", "desk"]), 10);
        assert_eq!(homes.take(&me, &bob()), None);
        assert_eq!(refused(&homes, says(&["bob"], 2_000)), 0);
    }
}
