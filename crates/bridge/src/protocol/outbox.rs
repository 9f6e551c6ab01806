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
        self.items.insert(letter.n, Item { id: letter.id.clone(), lane, delivery });
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
        self.ids.remove(&item.id);
        self.unsent.remove(&n);
        if let Some(lane) = self.lanes.get_mut(&item.lane) {
            lane.remove(&n);
            if lane.is_empty() {
                self.lanes.remove(&item.lane);
            }
        }
    }

    /// `from` has confirmed a message. A confirmation by a machine that it is not addressed to says nothing.
    pub fn confirmed(&mut self, from: &Machine, id: &str) {
        if let Some(&n) = self.ids.get(id)
            && self.items.get(&n).is_some_and(|item| &item.lane.machine == from)
        {
            self.remove(n);
        }
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
            let due = self.items.iter_mut().filter_map(|(&n, item)| {
                let machine = &item.lane.machine;
                let is_due =
                    trusted.contains(machine) && item.delivery.is_due(now, stream, peers.get(machine));
                is_due.then_some(n)
            });
            let due: Vec<u64> = due.take(most).collect();
            if due.len() < most {
                self.next_look = Some(now.saturating_add(LOOK_EVERY));
            }
            return due;
        }
        let is_trusted = |n: &u64| self.items.get(n).is_some_and(|item| trusted.contains(&item.lane.machine));
        self.unsent.iter().copied().filter(is_trusted).take(most).collect()
    }

    /// This letter is being published: which one it follows, and which attempt it is.
    pub fn begin(&mut self, n: u64) -> Option<Due> {
        let item = self.items.get_mut(&n)?;
        self.unsent.remove(&n);
        let attempt = item.delivery.begin();
        let after = self.lanes.get(&item.lane).and_then(|lane| lane.range(..n).next_back().copied());
        Some(Due { n, after, attempt })
    }

    /// The server has answered for an attempt, or did not.
    pub fn end(&mut self, n: u64, attempt: u32, position: Option<Position>, now: Stamp) {
        if let Some(item) = self.items.get_mut(&n) {
            item.delivery.end(attempt, position, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn now() -> Stamp {
        Stamp::from_millis(NOW)
    }

    fn letter(n: u64, machine: &str, to: &str) -> Outgoing {
        Outgoing {
            n,
            id: format!("id-{n}"),
            team: "alpha".into(),
            to: to.into(),
            machine: machine.parse().unwrap(),
            from: "ann".into(),
            from_lead: false,
            home: None,
            letter: "{}".into(),
        }
    }

    fn stream(last: u64) -> StreamView {
        StreamView { stream: "s".into(), first: 1, last, at: now().saturating_add(Duration::from_secs(1)) }
    }

    fn publish(outbox: &mut Outbox, last: u64) -> Vec<Due> {
        outbox.next_look = None;
        let due = outbox.due(
            now(),
            &stream(last),
            &BTreeMap::new(),
            &["hub", "laptop"].map(|name| name.parse().unwrap()).into(),
            100,
        );
        due.into_iter().map(|n| outbox.begin(n).unwrap()).collect()
    }

    #[test]
    fn a_letter_follows_the_unconfirmed_one_before_it_in_its_lane() {
        let mut outbox = Outbox::default();
        for (n, to) in [(3, "bob"), (5, "eve"), (8, "bob"), (9, "bob")] {
            outbox.add(&letter(n, "hub", to));
        }
        let after = |due: &[Due]| due.iter().map(|due| (due.n, due.after)).collect::<Vec<_>>();
        assert_eq!(after(&publish(&mut outbox, 0)), [(3, None), (5, None), (8, Some(3)), (9, Some(8))]);
        outbox.confirmed(&"hub".parse().unwrap(), "id-8");
        outbox.end(9, 1, None, now().saturating_sub(Duration::from_secs(60)));
        assert_eq!(after(&publish(&mut outbox, 0)), [(9, Some(3))]);
    }

    #[test]
    fn only_the_addressed_machine_confirms() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        outbox.confirmed(&"laptop".parse().unwrap(), "id-1");
        assert_eq!(outbox.len(), 1);
        outbox.confirmed(&"hub".parse().unwrap(), "id-1");
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_restart_publishes_nothing_again_that_the_stream_holds() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        outbox.add(&letter(2, "hub", "bob"));
        assert_eq!(publish(&mut outbox, 0).len(), 2);
        outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
        let text = serde_json::to_string(&outbox.to_remember()).unwrap();
        let mut outbox = Outbox::remembering(serde_json::from_str(&text).unwrap());
        outbox.add(&letter(1, "hub", "bob"));
        outbox.add(&letter(2, "hub", "bob"));
        assert_eq!(publish(&mut outbox, 4), [Due { n: 2, after: Some(1), attempt: 1 }]);
    }

    #[test]
    fn what_is_remembered_of_another_letter_with_the_number_is_nothing() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        publish(&mut outbox, 0);
        outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
        let mut outbox = Outbox::remembering(outbox.to_remember());
        outbox.add(&Outgoing { id: "another".into(), ..letter(1, "hub", "bob") });
        assert_eq!(publish(&mut outbox, 4).len(), 1);
    }

    #[test]
    fn a_letter_that_was_re_addressed_is_published_to_its_new_machine() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        publish(&mut outbox, 0);
        outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
        outbox.add(&letter(1, "laptop", "bob"));
        assert_eq!(publish(&mut outbox, 4).len(), 1);
        assert_eq!(outbox.by_machine(), BTreeMap::from([("laptop".parse().unwrap(), 1)]));
    }

    #[test]
    fn a_letter_that_was_re_addressed_while_no_bridge_ran_is_published_to_its_new_machine() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        publish(&mut outbox, 0);
        outbox.end(1, 1, Some(Position { stream: "s".into(), seq: 4 }), now());
        let mut outbox = Outbox::remembering(outbox.to_remember());
        outbox.add(&letter(1, "laptop", "bob"));
        assert_eq!(publish(&mut outbox, 4).len(), 1);
    }

    #[test]
    fn what_the_ledger_dropped_is_dropped() {
        let mut outbox = Outbox::default();
        outbox.add(&letter(1, "hub", "bob"));
        outbox.add(&letter(2, "hub", "bob"));
        outbox.retain(&BTreeSet::from([2]));
        let due = publish(&mut outbox, 0);
        assert_eq!(due, [Due { n: 2, after: None, attempt: 1 }]);
    }
}
