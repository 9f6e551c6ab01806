//! Lanes of which only the first letter is published, now and then: because its recipient's machine does not have that one, or because
//! that machine gives no answer at all. Everything else of the lane waits for an answer.

use std::collections::HashMap;
use std::time::Duration;

use atm_wire::Stamp;

use super::Lane;
use crate::name::Machine;
use crate::protocol::delivery::MOST_BACKOFF;

/// Why a lane is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// The recipient is not where its letters were sent, as that machine said.
    Absent {
        /// What was known of where the recipient is when the letter was published that was answered so. As long as nothing else is
        /// known, publishing again would only be answered the same.
        known: u64,
    },
    /// The machine has processed a letter several times and said nothing, as one that does not trust this machine. What stands
    /// behind the first letter is taken in only after it.
    Silent,
}

/// A lane that is held.
#[derive(Debug)]
pub(super) struct Hold {
    pub(super) why: Why,
    /// How often it was asked since.
    asked: u32,
    /// When the first letter is published all the same, though its recipient is not there: that answer may have been given before the
    /// machine had read its lists.
    pub(super) until: Stamp,
}

/// The wait before a recipient that was not there is asked for again, though nothing else is known of it: doubled each time, from
/// half a minute to an hour.
fn patience(asked: u32) -> Duration {
    const MOST: u64 = 3_600;
    Duration::from_secs((30_u64 << asked.min(7)).min(MOST))
}

/// All lanes that are held.
#[derive(Debug, Default)]
pub(super) struct Holds {
    lanes: HashMap<Lane, Hold>,
    /// Machines that have not answered since the first letter of a silent lane was published to them again: until then no other one
    /// is. One letter is enough to learn whether the machine answers.
    asked: HashMap<Machine, Stamp>,
}

impl Holds {
    pub(super) fn get(&self, lane: &Lane) -> Option<&Hold> {
        self.lanes.get(lane)
    }

    pub(super) fn has(&self, lane: &Lane) -> bool {
        self.lanes.contains_key(lane)
    }

    /// The lanes that are held because of this.
    pub(super) fn lanes(&self, is_it: impl Fn(Why) -> bool) -> impl Iterator<Item = (&Lane, Why)> {
        self.lanes.iter().map(|(lane, hold)| (lane, hold.why)).filter(move |(_, why)| is_it(*why))
    }

    /// The recipient of a lane is not there.
    pub(super) fn note_absent(&mut self, lane: &Lane, known: u64, now: Stamp) {
        let why = Why::Absent { known };
        if let Some(hold @ Hold { why: Why::Absent { .. }, .. }) = self.lanes.get_mut(lane) {
            hold.why = why;
            return;
        }
        let hold = Hold { why, asked: 0, until: now.saturating_add(patience(0)) };
        self.lanes.insert(lane.clone(), hold);
    }

    /// Its machine says nothing.
    pub(super) fn note_silent(&mut self, lane: &Lane, now: Stamp) {
        self.lanes.insert(lane.clone(), Hold { why: Why::Silent, asked: 0, until: now });
    }

    /// The first letter of a lane is published all the same.
    pub(super) fn note_asked(&mut self, lane: &Lane, now: Stamp) {
        let Some(hold) = self.lanes.get_mut(lane) else { return };
        hold.asked = hold.asked.saturating_add(1);
        hold.until = now.saturating_add(patience(hold.asked));
        if hold.why == Why::Silent {
            self.asked.insert(lane.machine.clone(), now.saturating_add(MOST_BACKOFF));
        }
    }

    /// A machine has answered something.
    pub(super) fn note_answer(&mut self, from: &Machine) {
        self.asked.remove(from);
    }

    /// When the next letter of a silent lane may be published to a machine; none: at any time.
    pub(super) fn next_question(&self, machine: &Machine) -> Option<Stamp> {
        self.asked.get(machine).copied()
    }

    /// Says whether the lane was held.
    pub(super) fn remove(&mut self, lane: &Lane) -> bool {
        self.lanes.remove(lane).is_some()
    }
}
