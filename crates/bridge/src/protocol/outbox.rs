//! Letters that the ledger keeps until they are confirmed, and when each is published.
//!
//! Only numbers and places are kept here, not the texts: those are read from the ledger when they are needed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::delivery::Delivery;
use super::{PeerView, Position, StreamView};
use crate::local::Outgoing;
use crate::name::Machine;

/// How often everything that is stored is looked through.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A letter that its recipient's machine has accepted is published again after so long: nothing of it is under way meanwhile, and
/// that machine may have lost its log.
const ACCEPTED_FOR: Duration = Duration::from_secs(3_600);

/// Mail from this machine to one member: what is kept in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    /// The recipient's machine.
    pub machine: Machine,
    /// The team, by its shared name.
    pub team: String,
    /// The recipient, as it is called on its machine.
    pub to: String,
}

/// A letter that has to be published now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Its number in the log.
    pub n: u64,
    /// The unconfirmed letter before it in its lane.
    pub after: Option<u64>,
    /// Which attempt this is.
    pub attempt: u32,
    /// The first attempt with which the same was known of where its recipient is. An answer that its recipient is not there counts
    /// if it names that attempt or a later one.
    pub since: u32,
}

/// What is remembered of one letter across restarts, so that a restart publishes nothing again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    n: u64,
    id: String,
    machine: Machine,
    delivery: Delivery,
}

#[derive(Debug)]
struct Item {
    id: String,
    lane: Lane,
    delivery: Delivery,
    /// What was known of where its recipient is when it was published last.
    known: u64,
    /// The first attempt with which that was known.
    since: u32,
}

/// A lane whose recipient is not where its letters were sent, as that machine said.
#[derive(Debug)]
struct Hold {
    /// What was known of where the recipient is when the letter was published that was answered so. As long as nothing else is
    /// known, publishing again would only be answered the same.
    known: u64,
    /// How often it was asked since.
    asked: u32,
    /// When the first letter is published all the same: the answer may have been given before that machine had read its lists.
    until: Stamp,
}

/// The wait before a recipient that was not there is asked for again, though nothing else is known of it: doubled each time, from
/// half a minute to an hour.
fn patience(asked: u32) -> Duration {
    const MOST: u64 = 3_600;
    Duration::from_secs((30_u64 << asked.min(7)).min(MOST))
}

/// A letter that its recipient's machine has in its log, but not in its inbox yet.
#[derive(Debug)]
struct Accepted {
    /// The epoch of that log.
    epoch: String,
    /// When it is published again all the same.
    until: Stamp,
}

/// All unconfirmed letters of this machine.
#[derive(Debug, Default)]
pub struct Outbox {
    items: BTreeMap<u64, Item>,
    lanes: HashMap<Lane, BTreeSet<u64>>,
    ids: HashMap<String, u64>,
    /// Not published yet: looked at whenever there is something to do.
    unsent: BTreeSet<u64>,
    remembered: HashMap<u64, Stored>,
    holds: HashMap<Lane, Hold>,
    /// What waits here only to hear that it is written.
    accepted: BTreeMap<u64, Accepted>,
    next_look: Option<Stamp>,
}

impl Outbox {
    /// One that remembers what was stored before a restart.
    pub fn remembering(stored: Vec<Stored>) -> Self {
        Self { remembered: stored.into_iter().map(|stored| (stored.n, stored)).collect(), ..Self::default() }
    }

    /// What to remember across a restart.
    pub fn to_remember(&self) -> Vec<Stored> {
        let is_stored = |item: &&Item| item.delivery.position().is_some();
        let items = self.items.iter().filter(|(_, item)| is_stored(item));
        let stored = |(&n, item): (&u64, &Item)| Stored {
            n,
            id: item.id.clone(),
            machine: item.lane.machine.clone(),
            delivery: item.delivery.clone(),
        };
        items.map(stored).collect()
    }

    /// How many letters wait for their confirmation.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many letters wait for each machine.
    pub fn by_machine(&self) -> BTreeMap<Machine, usize> {
        let mut counts = BTreeMap::new();
        for item in self.items.values() {
            *counts.entry(item.lane.machine.clone()).or_default() += 1;
        }
        counts
    }

    /// How many letters wait in each lane whose recipient is not where they were sent.
    pub fn absent(&self) -> BTreeMap<Lane, usize> {
        let count = |lane: &Lane| self.lanes.get(lane).map_or(0, BTreeSet::len);
        self.holds.keys().map(|lane| (lane.clone(), count(lane))).collect()
    }

    /// `from` says that a letter's recipient is not at home there. The lane is held, unless this is about an attempt with which
    /// something else was known, or about a letter that is not addressed to that machine any more.
    pub fn hold(&mut self, from: &Machine, (n, id, attempt): (u64, &str, u32), now: Stamp) {
        let Some(item) = self.items.get(&n) else { return };
        let is_of_now = (item.since..=item.delivery.attempt()).contains(&attempt);
        if item.id != id || item.lane.machine != *from || !is_of_now {
            return;
        }
        let hold = Hold { known: item.known, asked: 0, until: now.saturating_add(patience(0)) };
        let hold = self.holds.entry(item.lane.clone()).or_insert(hold);
        hold.known = item.known;
    }

    /// Lets lanes go of whose recipients something else is known now: all their letters are published again.
    pub fn release(&mut self, mut known: impl FnMut(&Lane) -> u64) {
        let changed = self.holds.iter().filter(|(lane, hold)| known(lane) != hold.known);
        for lane in changed.map(|(lane, _)| lane.clone()).collect::<Vec<_>>() {
            self.holds.remove(&lane);
            for n in self.lanes.get(&lane).into_iter().flatten() {
                if self.items.get_mut(n).is_some_and(|item| item.delivery.again()) {
                    self.unsent.insert(*n);
                }
            }
        }
    }

    /// Whether a letter may be published: of a lane that is held, the first one now and then.
    fn may_go(&self, n: u64, lane: &Lane, now: Stamp) -> Option<bool> {
        let hold = self.holds.get(lane)?;
        let is_first = self.lanes.get(lane).and_then(|lane| lane.first()) == Some(&n);
        Some(is_first && now >= hold.until)
    }

    /// The id of the letter with this number.
    pub fn id_of(&self, n: u64) -> Option<&str> {
        self.items.get(&n).map(|item| item.id.as_str())
    }

    /// A letter of the ledger. One that was re-addressed is published to its new machine.
    pub fn add(&mut self, letter: &Outgoing) {
        let lane = Lane { machine: letter.machine.clone(), team: letter.team.clone(), to: letter.to.clone() };
        if let Some(item) = self.items.get(&letter.n) {
            if item.lane == lane && item.id == letter.id {
                return;
            }
            self.remove(letter.n);
        }
        let is_it = |stored: &Stored| stored.id == letter.id && stored.machine == letter.machine;
        let remembered = self.remembered.remove(&letter.n).filter(is_it);
        let delivery = remembered.map(|stored| stored.delivery).unwrap_or_default();
        if delivery.position().is_none() {
            self.unsent.insert(letter.n);
        }
        self.lanes.entry(lane.clone()).or_default().insert(letter.n);
        self.ids.insert(letter.id.clone(), letter.n);
        self.items.insert(letter.n, Item { id: letter.id.clone(), lane, delivery, known: 0, since: 0 });
    }

    /// Drops what the ledger does not keep any more: everything but these numbers.
    pub fn retain(&mut self, kept: &BTreeSet<u64>) {
        let gone: Vec<u64> = self.items.keys().copied().filter(|n| !kept.contains(n)).collect();
        for n in gone {
            self.remove(n);
        }
        self.remembered.clear();
    }

    /// It is confirmed, or the ledger does not keep it any more.
    pub fn remove(&mut self, n: u64) {
        let Some(item) = self.items.remove(&n) else { return };
        // A letter that was sent on has another number, and the same id.
        if self.ids.get(&item.id) == Some(&n) {
            self.ids.remove(&item.id);
        }
        self.unsent.remove(&n);
        self.accepted.remove(&n);
        if let Some(lane) = self.lanes.get_mut(&item.lane) {
            lane.remove(&n);
            if lane.is_empty() {
                self.lanes.remove(&item.lane);
                self.holds.remove(&item.lane);
            }
        }
    }

    /// `from` has confirmed a message: the number of the letter that waited for it. A confirmation by a machine that it is not
    /// addressed to says nothing.
    pub fn confirmed(&mut self, from: &Machine, id: &str) -> Option<u64> {
        let n = *self.ids.get(id)?;
        let item = self.items.get(&n).filter(|item| &item.lane.machine == from)?;
        // Its recipient is there.
        self.holds.remove(&item.lane);
        self.remove(n);
        Some(n)
    }

    /// `from` has a message in its log, of this epoch, and not in its inbox yet: it is not published meanwhile, and those behind it
    /// do not follow it, since that log has their order.
    pub fn accepted(&mut self, (from, epoch): (&Machine, &str), id: &str, now: Stamp) {
        let Some(&n) = self.ids.get(id) else { return };
        let Some(item) = self.items.get(&n).filter(|item| &item.lane.machine == from) else { return };
        self.holds.remove(&item.lane);
        let until = now.saturating_add(ACCEPTED_FOR);
        self.accepted.insert(n, Accepted { epoch: epoch.to_owned(), until });
    }

    /// The log of a machine has this epoch: what one of another epoch had accepted is published again.
    pub fn note_epoch(&mut self, machine: &Machine, epoch: &str) {
        let items = &mut self.items;
        let unsent = &mut self.unsent;
        self.accepted.retain(|n, accepted| {
            let Some(item) = items.get_mut(n) else { return false };
            let is_lost = &item.lane.machine == machine && accepted.epoch != epoch;
            if is_lost && item.delivery.again() {
                unsent.insert(*n);
            }
            !is_lost
        });
    }

    /// `from` can never take a letter in. What a machine says that it is not addressed to changes nothing.
    pub fn failed(&mut self, from: &Machine, n: u64) {
        if self.items.get(&n).is_some_and(|item| &item.lane.machine == from) {
            self.remove(n);
        }
    }

    /// The numbers of at most `most` letters that have to be published now, in the order of the log. Nothing is published
    /// to a machine that is not trusted: it could not be sealed for it, and its confirmation would not count.
    pub fn due(
        &mut self,
        now: Stamp,
        stream: &StreamView,
        peers: &BTreeMap<Machine, PeerView>,
        trusted: &BTreeSet<Machine>,
        most: usize,
    ) -> Vec<u64> {
        let looks_at_all = self.next_look.is_none_or(|next| now >= next);
        if looks_at_all {
            let asks = |lane: &Lane, n: u64| self.may_go(n, lane, now);
            let asked: HashMap<u64, bool> = if self.holds.is_empty() {
                HashMap::new()
            } else {
                let held = self.items.iter().filter_map(|(&n, item)| Some((n, asks(&item.lane, n)?)));
                held.collect()
            };
            let due = self.items.iter_mut().filter_map(|(&n, item)| {
                let machine = &item.lane.machine;
                let is_due = match asked.get(&n) {
                    Some(is_asked) => *is_asked && !item.delivery.is_under_way(),
                    None => item.delivery.is_due(now, stream, peers.get(machine)),
                };
                let is_due = is_due && self.accepted.get(&n).is_none_or(|accepted| now >= accepted.until);
                (is_due && trusted.contains(machine)).then_some(n)
            });
            let due: Vec<u64> = due.take(most).collect();
            if due.len() < most {
                self.next_look = Some(now.saturating_add(LOOK_EVERY));
            }
            return due;
        }
        let may_go = |n: &u64| {
            let item = self.items.get(n);
            item.is_some_and(|item| {
                trusted.contains(&item.lane.machine) && !self.holds.contains_key(&item.lane)
            })
        };
        self.unsent.iter().copied().filter(may_go).take(most).collect()
    }

    /// This letter is being published, with this known of where its recipient is: which one it follows, and which attempt it is.
    pub fn begin(&mut self, n: u64, known: u64, now: Stamp) -> Option<Due> {
        let item = self.items.get_mut(&n)?;
        self.unsent.remove(&n);
        self.accepted.remove(&n);
        if let Some(hold) = self.holds.get_mut(&item.lane) {
            hold.asked = hold.asked.saturating_add(1);
            hold.until = now.saturating_add(patience(hold.asked));
        }
        let attempt = item.delivery.begin();
        if item.since == 0 || item.known != known {
            (item.known, item.since) = (known, attempt);
        }
        let unconfirmed = |n: &&u64| !self.accepted.contains_key(n);
        let lane = self.lanes.get(&item.lane);
        let after = lane.and_then(|lane| lane.range(..n).rev().find(unconfirmed).copied());
        Some(Due { n, after, attempt, since: item.since })
    }

    /// The server has answered for an attempt, or did not.
    pub fn end(&mut self, n: u64, attempt: u32, position: Option<Position>, now: Stamp) {
        if let Some(item) = self.items.get_mut(&n) {
            item.delivery.end(attempt, position, now);
        }
    }
}

#[cfg(test)]
mod tests;
