//! A power cut: what the log has committed since its last sync is gone, and its numbers are given again.

use std::collections::{BTreeMap, BTreeSet};

use atm_bridge::local::Receipt;
use atm_bridge::name::Machine;

use super::{Event, Ledger, Sent};

/// What a ledger has in its log: all but files, and what its machine knows of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    sent: BTreeMap<u64, Sent>,
    next: u64,
    known: BTreeMap<String, (Machine, Receipt)>,
    taken: Vec<(String, u64)>,
    left: BTreeSet<String>,
    seen: BTreeSet<String>,
    poison: BTreeSet<String>,
    events: Vec<Event>,
}

impl Ledger {
    /// All that was committed survives a power cut from here on.
    pub(crate) fn sync(&mut self) {
        self.durable = Log {
            sent: self.sent.clone(),
            next: self.next,
            known: self.known.clone(),
            taken: self.taken.clone(),
            left: self.left.clone(),
            seen: self.seen.difference(&self.unrecorded).cloned().collect(),
            poison: self.poison.clone(),
            events: self.events.clone(),
        };
    }

    /// Whether a letter with this number, and all before it, survives a power cut.
    pub(super) fn is_durable(&self, n: u64) -> bool {
        n <= self.durable.next
    }

    pub(crate) fn cut_power(&mut self) {
        let Log { sent, next, known, taken, left, seen, poison, events } = self.durable.clone();
        let before = std::mem::replace(&mut self.sent, sent);
        // Where letters went is not in the log: what is checked at the end is kept.
        for was in before.into_values() {
            let is_it = |sent: &&mut Sent| sent.letter.id == was.letter.id;
            if let Some(sent) = self.sent.values_mut().find(is_it) {
                sent.homes.extend(was.homes);
                sent.addressed.extend(was.addressed);
            }
        }
        (self.next, self.known, self.taken, self.left) = (next, known, taken, left);
        (self.poison, self.events) = (poison, events);
        self.unrecorded = self.seen.difference(&seen).cloned().collect();
    }

    /// The place behind so many events.
    pub(super) fn cursor(&self, end: usize) -> String {
        let mark = end.checked_sub(1).map_or(0, |last| self.events[last].mark);
        format!("{end} {mark}")
    }

    /// How many events are before a place. One in a part that a power cut took is none: all is told again.
    pub(super) fn place_of(&self, cursor: &str) -> usize {
        let end = cursor.split(' ').next().and_then(|end| end.parse().ok()).unwrap_or(0);
        if end <= self.events.len() && self.cursor(end) == cursor { end } else { 0 }
    }
}
