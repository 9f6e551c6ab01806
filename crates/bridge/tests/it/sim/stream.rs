//! A simulated server: a stream that loses what it acknowledged, and consumers that see messages again.

use std::collections::BTreeMap;

use atm_bridge::envelope::Envelope;
use atm_bridge::name::Machine;
use atm_bridge::protocol::{Position, StreamView};
use atm_wire::Stamp;

/// What each message counts for, in bytes.
const MESSAGE: u64 = 1_026;

/// The stream, and where each machine's consumer is.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    made: u64,
    /// How many messages it holds: then the oldest ones are dropped.
    pub(crate) most: Option<u64>,
    next: u64,
    messages: BTreeMap<u64, Envelope>,
    ids: BTreeMap<String, u64>,
    consumers: BTreeMap<Machine, u64>,
}

impl Stream {
    fn name(&self) -> String {
        format!("made-{}", self.made)
    }

    pub(crate) fn view(&self, at: Stamp) -> StreamView {
        let first = self.messages.first_key_value().map_or(self.next + 1, |(&seq, _)| seq);
        let most_bytes = self.most.map(|most| most * MESSAGE);
        StreamView { stream: self.name(), first, last: self.next, most_bytes, most_age: None, at }
    }

    /// Stores it, unless the window of duplicates knows its id.
    pub(crate) fn store(&mut self, id: String, envelope: Envelope) -> Position {
        let seq = *self.ids.entry(id).or_insert_with(|| {
            self.next += 1;
            self.messages.insert(self.next, envelope);
            self.next
        });
        while self.most.is_some_and(|most| self.messages.len() as u64 > most) {
            self.messages.pop_first();
        }
        Position { stream: self.name(), seq }
    }

    /// What a machine's consumer gives next.
    pub(crate) fn fetch(&self, machine: &Machine, most: usize) -> Vec<(u64, Envelope)> {
        let start = self.consumers.get(machine).copied().unwrap_or(0);
        let own = self
            .messages
            .range(start + 1..)
            .filter(|(_, envelope)| envelope.header.to.as_ref() == Some(machine));
        own.take(most).map(|(&seq, envelope)| (seq, envelope.clone())).collect()
    }

    pub(crate) fn acknowledge(&mut self, machine: &Machine, seq: u64) {
        self.consumers.insert(machine.clone(), seq);
    }

    /// Where the machine's consumer is. One for which nothing waits has processed all that there is.
    pub(crate) fn passed(&self, machine: &Machine) -> Position {
        let seq = self.consumers.get(machine).copied().unwrap_or(0);
        let seq = if self.fetch(machine, 1).is_empty() { seq.max(self.next) } else { seq };
        Position { stream: self.name(), seq }
    }

    /// The consumer goes back: what was acknowledged comes again.
    pub(crate) fn rewind(&mut self, machine: &Machine, by: u64) {
        if let Some(seq) = self.consumers.get_mut(machine) {
            *seq = seq.saturating_sub(by);
        }
    }

    /// The disk is lost: the stream and its consumers are made anew.
    pub(crate) fn wipe(&mut self) {
        *self = Self { made: self.made + 1, most: self.most, ..Self::default() };
    }

    /// The last messages were never synced, and what consumers had processed was: they skip what takes these places.
    pub(crate) fn roll_back(&mut self, by: u64) {
        self.next = self.next.saturating_sub(by);
        self.messages.retain(|&seq, _| seq <= self.next);
    }

    /// The oldest messages are over a limit.
    pub(crate) fn expire(&mut self, count: u64) {
        for _ in 0..count {
            self.messages.pop_first();
        }
    }

    /// The window of duplicates is over.
    pub(crate) fn forget_ids(&mut self) {
        self.ids.clear();
    }
}
