//! Which letters have to be published now.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atm_wire::Stamp;

use super::holds::Why;
use super::{Item, Lane, Outbox};
use crate::name::Machine;
use crate::protocol::delivery::Place;
use crate::protocol::{PeerView, StreamView};

/// How often everything that is stored is looked through.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Outbox {
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
        if self.next_count.is_none_or(|next| now >= next) {
            self.count_room(now, stream, peers);
            self.next_count = Some(now.saturating_add(LOOK_EVERY));
        }
        if self.next_look.is_none_or(|next| now >= next) {
            let due = self.look(now, stream, peers, trusted, most);
            if due.len() < most {
                self.next_look = Some(now.saturating_add(LOOK_EVERY));
            }
            return due;
        }
        let (mut due, mut blocked, mut plan) = (Vec::new(), Vec::new(), self.windows.plan());
        for &n in &self.unsent {
            if due.len() >= most {
                break;
            }
            let Some(item) = self.items.get(&n) else { continue };
            if !trusted.contains(&item.lane.machine) || self.holds.has(&item.lane) {
                continue;
            }
            if item.takes_room || plan.admit(&item.lane.machine, item.size) {
                due.push(n);
            } else {
                blocked.push(n);
            }
        }
        let full = plan.full();
        self.windows.note_full(full);
        // The next look finds them.
        for n in blocked {
            self.unsent.remove(&n);
        }
        due
    }

    /// Finds out what there is in the stream for each machine now. What has to be published again keeps its room, or newer letters
    /// would take it, and would be early. What waits for an answer of another kind has none.
    fn count_room(&mut self, now: Stamp, stream: &StreamView, peers: &BTreeMap<Machine, PeerView>) {
        self.windows.begin(stream.most_bytes);
        for (n, Item { lane, delivery, size, takes_room, .. }) in &mut self.items {
            let is_repeated = !self.holds.has(lane) && !self.accepted.contains_key(n);
            *takes_room = match delivery.place(now, stream, peers.get(&lane.machine)) {
                Place::Nowhere => false,
                Place::Ahead => true,
                Place::Passed => is_repeated,
                // Another stream may be smaller.
                Place::Lost => is_repeated && self.windows.has_room(&lane.machine, *size),
            };
            if *takes_room {
                self.windows.enter(&lane.machine, *size);
            }
        }
    }

    /// Looks through everything. Of a lane that is held, the first letter goes now and then; of all lanes of a machine that does not
    /// answer, one letter at a time, the least tried first.
    fn look(
        &mut self,
        now: Stamp,
        stream: &StreamView,
        peers: &BTreeMap<Machine, PeerView>,
        trusted: &BTreeSet<Machine>,
        most: usize,
    ) -> Vec<u64> {
        self.windows.open();
        let (mut due, mut plan) = (Vec::new(), self.windows.plan());
        let mut questions: BTreeMap<&Machine, (u32, u64)> = BTreeMap::new();
        for (&n, Item { lane, delivery, size, takes_room, .. }) in &mut self.items {
            let lane: &Lane = lane;
            if due.len() >= most {
                break;
            }
            let waits = |n: &u64| self.accepted.get(n).is_some_and(|accepted| now < accepted.until);
            if !trusted.contains(&lane.machine) || waits(&n) {
                continue;
            }
            let is_first = || {
                let first = self.lanes.get(lane).and_then(|lane| lane.iter().find(|n| !waits(n)));
                first == Some(&n)
            };
            let mut is_silent = false;
            let is_due = match self.holds.get(lane) {
                Some(hold) if hold.why == Why::Silent => {
                    is_silent = true;
                    is_first() && delivery.is_due(now, stream, peers.get(&lane.machine))
                }
                Some(hold) => is_first() && now >= hold.until && !delivery.is_under_way(),
                None => {
                    let is_due = delivery.is_due(now, stream, peers.get(&lane.machine));
                    is_silent = is_due && delivery.is_unanswered();
                    is_due
                }
            };
            if is_silent && !self.holds.has(lane) {
                self.holds.note_silent(lane, now);
            }
            if !is_due || is_silent && !is_first() {
                continue;
            }
            match self.holds.next_question(&lane.machine).filter(|_| is_silent) {
                None if *takes_room || plan.admit(&lane.machine, *size) => due.push(n),
                None => {
                    // It waits in the ledger, and the next look finds it.
                    self.unsent.remove(&n);
                }
                Some(at) if now >= at => {
                    let question = (delivery.attempt(), n);
                    questions
                        .entry(&lane.machine)
                        .and_modify(|known| *known = (*known).min(question))
                        .or_insert(question);
                }
                Some(_) => {}
            }
        }
        let full = plan.full();
        due.extend(questions.into_values().map(|(_, n)| n));
        self.windows.note_full(full);
        due.sort_unstable();
        due.truncate(most);
        due
    }
}
