//! Members that move, while machines are off and servers lose their disks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atm_bridge::envelope::{SharedMember, SharedTeam};
use atm_bridge::house::Neighbour;
use atm_bridge::name::Machine;
use atm_bridge::protocol::homes::{Content, MemberKey, Put, Residence, Resident, Slot};
use atm_wire::Stamp;

use super::ledger::{Ledger, MOVERS, member};
use super::world::World;

/// How long a member may take to arrive, in milliseconds.
const ARRIVES_WITHIN: u64 = 60_000;

/// The bucket of homes.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    made: u64,
    revision: u64,
    entries: BTreeMap<MemberKey, (Residence, u64)>,
}

impl Bucket {
    /// The disk is lost: it is made anew.
    pub(crate) fn wipe(&mut self) {
        *self = Self { made: self.made + 1, ..Self::default() };
    }

    /// Says whether nobody was faster.
    fn set(&mut self, key: &MemberKey, residence: Residence, revision: u64) -> bool {
        let is_first = self.entries.get(key).map_or(0, |(_, known)| *known) == revision;
        if is_first {
            self.revision += 1;
            self.entries.insert(key.clone(), (residence, self.revision));
        }
        is_first
    }
}

/// What a machine announces of its members that move.
pub(crate) fn announced(ledger: &Ledger) -> Vec<SharedTeam> {
    let share = |(key, entry): (&MemberKey, &Resident)| SharedMember {
        name: key.name.clone(),
        lead: false,
        state: "idle".into(),
        epoch: ledger.homes.announced_epoch(key, &ledger.me, *entry),
    };
    vec![SharedTeam { name: "alpha".into(), members: ledger.listed.iter().map(share).collect() }]
}

/// What a machine said of itself at a time.
pub(crate) fn neighbour(teams: Vec<SharedTeam>, said_at: u64) -> Neighbour {
    let at = Stamp::from_millis(1_800_000_000_000 + i64::try_from(said_at).unwrap());
    Neighbour { teams, is_present: true, seen_at: at, said_at: Some(at), beat_at: None }
}

/// A signed residence is its own text here.
fn signed(residence: &Residence) -> String {
    serde_json::to_string(residence).unwrap()
}

fn residence_of(put: &Put, me: &Machine, at: Stamp) -> Residence {
    match &put.what {
        Content::Again(signed) => serde_json::from_str(signed).unwrap(),
        Content::New { epoch, resident, former, after } => {
            let at = after.map_or(at, |after| at.max(after.saturating_add(Duration::from_millis(1))));
            Residence { machine: me.clone(), epoch: *epoch, at, resident: *resident, former: former.clone() }
        }
    }
}

impl World {
    /// Where each member is at first.
    pub(crate) fn settle_in(&mut self) {
        for (number, name) in MOVERS.iter().enumerate() {
            let place = number % self.nodes.len();
            self.nodes[place].ledger.0.borrow_mut().join(name);
        }
    }

    /// A person moves a member: takes it to a machine that is on, or removes it from one machine and adds it to another, whether
    /// their bridges run or not, and whatever these have heard.
    pub(crate) fn move_somebody(&mut self) {
        let name = MOVERS[usize::try_from(self.random.below(MOVERS.len() as u64)).unwrap()];
        let to = usize::try_from(self.random.below(self.nodes.len() as u64)).unwrap();
        if self.random.happens(40) {
            self.dismiss(name);
            // Now and then it is nobody's for a while.
            if !self.random.happens(25) {
                self.nodes[to].ledger.0.borrow_mut().join(name);
            }
        } else if self.nodes[to].engine.is_some() && self.millis >= self.server_down_until {
            self.look_at_bucket(to);
            let (now, is_lost) = (self.now(), self.random.happens(self.troubles.lost_publish));
            let mut ledger = self.nodes[to].ledger.0.borrow_mut();
            let entry = ledger.join(name);
            if let Some(put) = ledger.homes.take(&ledger.me, &member(name), entry).filter(|_| !is_lost)
                && self.bucket.set(&put.key, residence_of(&put, &ledger.me, now), put.revision)
            {
                ledger.arriving.insert(name.to_owned(), self.millis + ARRIVES_WITHIN);
            }
        }
    }

    /// A member is taken off all lists.
    pub(crate) fn dismiss(&mut self, name: &str) {
        for node in &self.nodes {
            node.ledger.0.borrow_mut().here.remove(&member(name));
        }
    }

    /// Who is on no list is added somewhere.
    pub(crate) fn bring_back(&mut self) {
        for name in MOVERS {
            let is_listed = |ledger: &Ledger| ledger.here.contains_key(&member(name));
            if !self.nodes.iter().any(|node| is_listed(&node.ledger.0.borrow())) {
                let to = usize::try_from(self.random.below(self.nodes.len() as u64)).unwrap();
                self.nodes[to].ledger.0.borrow_mut().join(name);
            }
        }
    }

    fn look_at_bucket(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let mut ledger = node.ledger.0.borrow_mut();
        let now = (self.bucket.made, self.bucket.revision);
        if node.bucket_seen == Some(now) {
            return;
        }
        if node.bucket_seen.is_none_or(|(made, _)| made != self.bucket.made) {
            ledger.homes.begin(|_, _| true);
        }
        node.bucket_seen = Some(now);
        for (key, (residence, revision)) in &self.bucket.entries {
            let slot = Slot::Residence(residence.clone(), signed(residence));
            ledger.homes.find(key.clone(), slot, *revision);
        }
        ledger.homes.complete();
    }

    /// What the bridge's thread does about homes: hear, move, residence.
    pub(crate) fn tend_homes(&mut self, place: usize) {
        if self.random.happens(70) {
            self.look_at_bucket(place);
        }
        let (now, lost, reads) = (self.now(), self.troubles.lost_publish, self.random.happens(60));
        let node = &mut self.nodes[place];
        let mut ledger = node.ledger.0.borrow_mut();
        if ledger.full {
            return;
        }
        if reads {
            ledger.listed = ledger.here.clone();
        }
        let millis = self.millis;
        ledger.arriving.retain(|_, until| *until > millis);
        let mut has_moved = false;
        for moved in ledger.homes.moves(&ledger.me, &ledger.listed, &node.neighbours) {
            let (name, home) = (moved.key.name.as_str(), &moved.residence.machine);
            if *home == ledger.me {
                if !ledger.here.contains_key(&moved.key) {
                    continue;
                }
                let me = ledger.me.clone();
                ledger.send_on(name, &me);
            } else {
                // Another member of the name stays, also one that has just been added.
                let entry = ledger.here.get(&moved.key).copied();
                if entry.is_none() || entry == moved.leaves {
                    ledger.leave(name);
                }
                ledger.send_on(name, home);
            }
            ledger.homes.settle(&moved.key, moved.residence.epoch);
            ledger.arriving.remove(name);
            has_moved = true;
        }
        ledger.write_own();
        // What lies in the file of a name that is another machine's now is collected, and goes there.
        for name in MOVERS {
            let home = ledger.homes.home_of(&member(name)).map(|home| home.machine.clone());
            let Some(home) = home.filter(|home| *home != ledger.me) else { continue };
            if ledger.homes.is_settled(&member(name)) && !ledger.here.contains_key(&member(name)) {
                ledger.collect(name, &home);
            }
        }
        let puts = ledger.homes.puts(&ledger.me, &ledger.listed);
        for put in puts {
            if !self.random.happens(lost) {
                self.bucket.set(&put.key, residence_of(&put, &ledger.me, now), put.revision);
            }
        }
        drop(ledger);
        if has_moved {
            node.engine.as_mut().unwrap().list_again();
        }
    }

    /// The machine to which a member of this machine would address a letter now.
    pub(crate) fn address_of(&self, from: usize, name: &str) -> Option<Machine> {
        let ledger = self.nodes[from].ledger.0.borrow();
        let key = member(name);
        let is_at_home = ledger.homes.epoch_at(&key, &ledger.me).is_some();
        if ledger.here.contains_key(&key) && (is_at_home || ledger.arriving.contains_key(name)) {
            return Some(ledger.me.clone());
        }
        ledger
            .homes
            .home_of(&key)
            .map(|residence| residence.machine.clone())
            .filter(|machine| *machine != ledger.me)
    }

    /// Whether a machine knows where everybody is, as the bucket has it, and has done what follows.
    pub(crate) fn has_heard_of_homes(&self, ledger: &Ledger) -> bool {
        MOVERS.iter().map(|name| member(name)).all(|key| {
            let residence = self.bucket.entries.get(&key).map(|(residence, _)| residence);
            let is_known =
                residence.zip(ledger.homes.home_of(&key)).is_some_and(|(one, other)| one.is_stay_of(other));
            is_known && ledger.homes.is_settled(&key)
        })
    }

    /// Whether everybody is on the list of its home.
    pub(crate) fn is_everybody_at_home(&self) -> bool {
        MOVERS.iter().map(|name| member(name)).all(|key| {
            let Some((residence, _)) = self.bucket.entries.get(&key) else { return false };
            let home = self.nodes.iter().find(|node| node.name == residence.machine).unwrap();
            home.ledger.0.borrow().here.get(&key) == Some(&residence.resident)
        })
    }

    /// Every letter to a member that moves was read where it was at home, at most once on each machine, in order; and nobody
    /// took in what was sent to an earlier home.
    pub(crate) fn check_moves(&self) {
        for node in &self.nodes {
            for (id, epoch) in &node.ledger.0.borrow().taken {
                let place = (node.name.clone(), *epoch);
                let is_addressed = self.nodes.iter().any(|sender| {
                    let ledger = sender.ledger.0.borrow();
                    ledger.sent.values().any(|sent| sent.letter.id == *id && sent.addressed.contains(&place))
                });
                assert!(is_addressed, "{id} was taken in, and not sent to {place:?}:\n{}", self.describe());
            }
        }
        for name in MOVERS {
            for from in 0..self.nodes.len() {
                let sent = self.expected.iter().filter(|(f, _, m, _)| (*f, *m) == (from, name));
                let sent: Vec<&String> = sent.map(|(.., id)| id).collect();
                let mut arrived_anywhere: BTreeSet<String> = BTreeSet::new();
                for node in &self.nodes {
                    let ledger = node.ledger.0.borrow();
                    let inbox = ledger.inboxes.get(name).cloned().unwrap_or_default();
                    let arrived: Vec<&String> = inbox.iter().filter(|id| sent.contains(id)).collect();
                    let in_order: Vec<&String> =
                        sent.iter().copied().filter(|id| arrived.contains(id)).collect();
                    assert_eq!(
                        arrived,
                        in_order,
                        "from {from} to {name} at {}:\n{}",
                        node.name,
                        self.describe()
                    );
                    arrived_anywhere.extend(arrived.into_iter().cloned());
                }
                for id in sent {
                    let arrived = arrived_anywhere.contains(id);
                    assert!(
                        arrived || !self.must_arrive(from, id),
                        "{id} to {name} is lost:\n{}",
                        self.describe()
                    );
                }
            }
        }
    }
}
