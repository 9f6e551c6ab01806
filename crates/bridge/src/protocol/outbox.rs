//! Letters that the ledger keeps until they are confirmed, and when each is published.
//!
//! Only numbers and places are kept here, not the texts: those are read from the ledger when they are needed.

mod backlog;
mod holds;
mod look;
mod window;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::Position;
use super::delivery::Delivery;
use crate::local::Outgoing;
use crate::name::Machine;
use holds::{Holds, Why};
use window::Windows;

pub use backlog::Backlog;

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
    accepted_at: Stamp,
    /// Its bytes in the stream, about.
    size: u64,
    /// It is part of what its recipient's machine has in the stream.
    takes_room: bool,
    /// What was known of where its recipient is when it was published last.
    known: u64,
    /// The first attempt with which that was known.
    since: u32,
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
    /// One id can be in many lanes: a client's entry has it from its sender, time and text.
    ids: HashMap<(Lane, String), u64>,
    /// Not published yet: looked at whenever there is something to do.
    unsent: BTreeSet<u64>,
    remembered: HashMap<u64, Stored>,
    holds: Holds,
    /// What waits here only to hear that it is written.
    accepted: BTreeMap<u64, Accepted>,
    windows: Windows,
    next_look: Option<Stamp>,
    next_count: Option<Stamp>,
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
        let lanes = self.holds.lanes(|why| why != Why::Silent);
        lanes.map(|(lane, _)| (lane.clone(), self.count(lane))).collect()
    }

    fn count(&self, lane: &Lane) -> usize {
        self.lanes.get(lane).map_or(0, BTreeSet::len)
    }

    /// `from` says that a letter's recipient is not at home there. The lane is held, unless this is about an attempt with which
    /// something else was known, or about a letter that is not addressed to that machine any more.
    pub fn hold(&mut self, from: &Machine, (n, id, attempt): (u64, &str, u32), now: Stamp) {
        let Some(item) = self.items.get(&n) else { return };
        let is_of_now = (item.since..=item.delivery.attempt()).contains(&attempt);
        if item.id == id && item.lane.machine == *from && is_of_now {
            self.holds.note_absent(&item.lane, item.known, now);
        }
    }

    /// Lets lanes go of whose recipients something else is known now: all their letters are published again.
    pub fn release(&mut self, mut known: impl FnMut(&Lane) -> u64) {
        let absent = self.holds.lanes(|why| why != Why::Silent);
        let changed = absent.filter(|(lane, why)| *why != Why::Absent { known: known(lane) });
        for lane in changed.map(|(lane, _)| lane.clone()).collect::<Vec<_>>() {
            self.free(&lane);
        }
    }

    /// A machine has answered something: whatever waits for an answer of it is tried at once.
    pub fn note_answer(&mut self, from: &Machine) {
        self.holds.note_answer(from);
    }

    /// A lane is held no more: what it has is published again, once.
    fn free(&mut self, lane: &Lane) {
        if !self.holds.remove(lane) {
            return;
        }
        for n in self.lanes.get(lane).into_iter().flatten().filter(|n| !self.accepted.contains_key(n)) {
            if self.items.get_mut(n).is_some_and(|item| item.delivery.again()) {
                self.unsent.insert(*n);
            }
        }
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
        self.ids.insert((lane.clone(), letter.id.clone()), letter.n);
        let (id, accepted_at) = (letter.id.clone(), letter.accepted_at);
        let item = Item {
            id,
            lane,
            delivery,
            accepted_at,
            size: window::bytes_of(letter),
            takes_room: false,
            known: 0,
            since: 0,
        };
        self.items.insert(letter.n, item);
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
        if item.takes_room && self.windows.leave(&item.lane.machine, item.size) {
            // There is room for what waits for it.
            self.next_look = None;
        }
        let key = (item.lane, item.id);
        if self.ids.get(&key) == Some(&n) {
            self.ids.remove(&key);
        }
        self.unsent.remove(&n);
        self.accepted.remove(&n);
        let (lane, _) = key;
        if let Some(numbers) = self.lanes.get_mut(&lane) {
            numbers.remove(&n);
            if numbers.is_empty() {
                self.lanes.remove(&lane);
                self.holds.remove(&lane);
            }
        }
    }

    /// A lane's machine has confirmed a message in it: the number of the letter that waited for it. A confirmation by a machine that it
    /// is not addressed to says nothing.
    pub fn confirmed(&mut self, lane: Lane, id: String) -> Option<u64> {
        let key = (lane, id);
        let n = *self.ids.get(&key)?;
        self.settle(&key.0.machine, n).then_some(n)
    }

    /// A lane's machine has a message in its log, of this epoch, and not in its inbox yet: it is not published meanwhile, and those
    /// behind it do not follow it, since that log has their order.
    pub fn accepted(&mut self, lane: Lane, id: String, epoch: &str, now: Stamp) {
        let key = (lane, id);
        let Some(&n) = self.ids.get(&key) else { return };
        let until = now.saturating_add(ACCEPTED_FOR);
        self.accepted.insert(n, Accepted { epoch: epoch.to_owned(), until });
        self.free(&key.0);
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
        self.settle(from, n);
    }

    /// `from` has answered for good for a letter that is addressed to it: its lane is held for nothing any more.
    fn settle(&mut self, from: &Machine, n: u64) -> bool {
        let Some(item) = self.items.get(&n).filter(|item| &item.lane.machine == from) else { return false };
        let held = self.holds.has(&item.lane).then(|| item.lane.clone());
        self.remove(n);
        if let Some(lane) = held {
            self.free(&lane);
        }
        true
    }

    /// This letter is being published, with this known of where its recipient is: which one it follows, and which attempt it is.
    pub fn begin(&mut self, n: u64, known: u64, now: Stamp) -> Option<Due> {
        let item = self.items.get_mut(&n)?;
        self.unsent.remove(&n);
        self.accepted.remove(&n);
        self.holds.note_asked(&item.lane, now);
        if !std::mem::replace(&mut item.takes_room, true) {
            self.windows.enter(&item.lane.machine, item.size);
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
