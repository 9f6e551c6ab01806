//! Whether an arriving letter is next, early, known or replayed.
//!
//! A letter has a number in its sender's log and names the unconfirmed letter before it. Numbers of one lane only grow, so a
//! number that was passed belongs to a letter that the ledger knows, or to a replay. A letter that comes before the one
//! that it follows is held in memory: if that memory is lost or full, its sender publishes it again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::local::Letter;
use crate::name::Machine;

/// How many early letters are held at once.
const MOST_HELD: usize = 4_096;
/// How many bytes they have at most.
const MOST_BYTES: usize = 8 << 20;
/// How many recipients of one machine's mail are remembered.
const MOST_LANES: usize = 65_536;
/// How many former epochs of a machine are remembered.
const MOST_EPOCHS: usize = 64;

/// Mail of one machine's log to one member of this one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Lane {
    from: Machine,
    team: String,
    to: String,
}

/// A letter with its place in its sender's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The machine that signed it.
    pub from: Machine,
    /// The epoch of that machine's log.
    pub epoch: String,
    /// Its number in that log.
    pub n: u64,
    /// Which attempt of its sender this is.
    pub attempt: u32,
    /// The letter.
    pub letter: Letter,
}

/// What to do with an arriving letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is the next: offer it to the ledger.
    Take,
    /// It is early; it is held, or its sender publishes it again.
    Hold,
    /// Its number was passed: confirm it again if the ledger knows it, refuse it otherwise.
    Repeat,
    /// Its epoch was replaced by a later one: the same.
    Former,
}

/// The order of what arrives.
#[derive(Debug, Default)]
pub struct Intake {
    passed: HashMap<Lane, u64>,
    /// Epochs of each machine, in the order in which they appeared; the last one counts.
    epochs: BTreeMap<Machine, Vec<String>>,
    held: HashMap<Lane, BTreeMap<u64, Arrival>>,
    held_count: usize,
    held_bytes: usize,
}

/// What is remembered across restarts. If it is lost, early letters wait for one more attempt of their sender.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    passed: Vec<(Lane, u64)>,
    epochs: BTreeMap<Machine, Vec<String>>,
}

impl Intake {
    /// One that remembers what was passed before a restart.
    pub fn remembering(remembered: Remembered) -> Self {
        Self { passed: remembered.passed.into_iter().collect(), epochs: remembered.epochs, ..Self::default() }
    }

    /// What to remember across a restart.
    pub fn to_remember(&self) -> Remembered {
        let mut passed: Vec<_> = self.passed.iter().map(|(lane, &n)| (lane.clone(), n)).collect();
        passed.sort();
        Remembered { passed, epochs: self.epochs.clone() }
    }

    /// How many early letters are held.
    pub fn held(&self) -> usize {
        self.held_count
    }

    /// What to do with an arriving letter. An early one is held from now on.
    pub fn decide(&mut self, arrival: &Arrival) -> Decision {
        if !self.is_current(arrival) {
            return Decision::Former;
        }
        let lane = lane_of(arrival);
        let passed = self.passed.get(&lane).copied().unwrap_or(0);
        if arrival.n <= passed {
            return Decision::Repeat;
        }
        if arrival.letter.after.is_none_or(|after| after <= passed) {
            return Decision::Take;
        }
        self.hold(lane, arrival);
        Decision::Hold
    }

    /// Whether its epoch is the current one of its machine; a new epoch becomes that.
    fn is_current(&mut self, arrival: &Arrival) -> bool {
        let epochs = self.epochs.get(&arrival.from).map_or(&[][..], Vec::as_slice);
        let is_current = epochs.last() == Some(&arrival.epoch);
        if !is_current && epochs.contains(&arrival.epoch) {
            return false;
        }
        self.set_epoch(&arrival.from, &arrival.epoch);
        true
    }

    /// A machine's log has this epoch now. Its own word counts more than the order in which letters arrive: with what was
    /// seen before forgotten, a late letter of a former epoch would seem to begin a new one, and all of the current one
    /// would be replays.
    pub fn set_epoch(&mut self, from: &Machine, epoch: &str) {
        let epochs = self.epochs.entry(from.clone()).or_default();
        if epochs.last().is_some_and(|last| last == epoch) {
            return;
        }
        epochs.retain(|known| known != epoch);
        epochs.push(epoch.to_owned());
        if epochs.len() > MOST_EPOCHS {
            epochs.remove(0);
        }
        // Its log begins anew, and so do its numbers.
        self.passed.retain(|lane, _| lane.from != *from);
        self.release_all_of(from);
    }

    fn hold(&mut self, lane: Lane, arrival: &Arrival) {
        let bytes = arrival.letter.letter.len();
        if self.held_count >= MOST_HELD || self.held_bytes + bytes > MOST_BYTES {
            return;
        }
        let replaced = self.held.entry(lane).or_default().insert(arrival.n, arrival.clone());
        match replaced {
            Some(old) => self.held_bytes -= old.letter.letter.len(),
            None => self.held_count += 1,
        }
        self.held_bytes += bytes;
    }

    fn release_all_of(&mut self, from: &Machine) {
        let lanes: BTreeSet<Lane> = self.held.keys().filter(|lane| &lane.from == from).cloned().collect();
        for lane in lanes {
            for (_, arrival) in self.held.remove(&lane).unwrap_or_default() {
                self.forget(&arrival);
            }
        }
    }

    fn forget(&mut self, arrival: &Arrival) {
        self.held_count -= 1;
        self.held_bytes -= arrival.letter.letter.len();
    }

    /// The number that was passed last in the lane of this letter.
    pub fn passed(&self, arrival: &Arrival) -> u64 {
        self.passed.get(&lane_of(arrival)).copied().unwrap_or(0)
    }

    /// The ledger has not taken this letter in after all: its lane stands where it was.
    pub fn undo_pass(&mut self, arrival: &Arrival, before: u64) {
        let lane = lane_of(arrival);
        if let Some(passed) = self.passed.get_mut(&lane) {
            *passed = before.min(*passed);
            if *passed == 0 {
                self.passed.remove(&lane);
            }
        }
    }

    /// Names in letters come from outside: a machine that writes to ever new ones loses its own lanes, as with a memory that
    /// is lost.
    fn make_room(&mut self, lane: &Lane) {
        if self.passed.len() < MOST_LANES || self.passed.contains_key(lane) {
            return;
        }
        let own = self.passed.keys().filter(|known| known.from == lane.from).count();
        if own >= MOST_LANES {
            self.passed.retain(|known, _| known.from != lane.from);
        }
    }

    /// This letter is offered to the ledger, or was answered by it. Returns the held letter that is next now, if there is one: decide again.
    pub fn pass(&mut self, arrival: &Arrival) -> Option<Arrival> {
        let lane = lane_of(arrival);
        self.make_room(&lane);
        let passed = self.passed.entry(lane.clone()).or_insert(0);
        *passed = arrival.n.max(*passed);
        let passed = *passed;
        loop {
            let held = self.held.get_mut(&lane)?;
            let Some(first) = held.first_entry() else {
                self.held.remove(&lane);
                return None;
            };
            let is_over = *first.key() <= passed;
            let is_next = first.get().letter.after.is_none_or(|after| after <= passed);
            if !is_over && !is_next {
                return None;
            }
            let arrival = first.remove();
            self.forget(&arrival);
            if is_next && !is_over {
                return Some(arrival);
            }
        }
    }
}

fn lane_of(arrival: &Arrival) -> Lane {
    Lane { from: arrival.from.clone(), team: arrival.letter.team.clone(), to: arrival.letter.to.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(epoch: &str, n: u64, after: Option<u64>) -> Arrival {
        Arrival {
            attempt: 1,
            from: "laptop".parse().unwrap(),
            epoch: epoch.into(),
            n,
            letter: Letter {
                id: format!("id-{n}"),
                team: "alpha".into(),
                to: "bob".into(),
                from: "ann".into(),
                from_lead: false,
                home: None,
                after,
                letter: "{}".into(),
            },
        }
    }

    fn take(intake: &mut Intake, n: u64, after: Option<u64>) -> Option<Arrival> {
        let arrival = arrival("e", n, after);
        assert_eq!(intake.decide(&arrival), Decision::Take, "{n}");
        intake.pass(&arrival)
    }

    #[test]
    fn gaps_are_no_reason_to_wait_and_a_missing_letter_is() {
        let mut intake = Intake::default();
        assert_eq!(take(&mut intake, 3, None), None);
        assert_eq!(take(&mut intake, 9, Some(3)), None);
        assert_eq!(intake.decide(&arrival("e", 20, Some(15))), Decision::Hold);
        assert_eq!(intake.decide(&arrival("e", 15, Some(9))), Decision::Take);
    }

    #[test]
    fn early_letters_are_released_one_by_one() {
        let mut intake = Intake::default();
        for (n, after) in [(4, Some(3)), (3, Some(2)), (2, Some(1))] {
            assert_eq!(intake.decide(&arrival("e", n, after)), Decision::Hold);
        }
        assert_eq!(intake.held(), 3);
        let mut next = take(&mut intake, 1, None);
        let mut order = Vec::new();
        while let Some(arrival) = next {
            assert_eq!(intake.decide(&arrival), Decision::Take);
            order.push(arrival.n);
            next = intake.pass(&arrival);
        }
        assert_eq!(order, [2, 3, 4]);
        assert_eq!((intake.held(), intake.held_bytes), (0, 0));
    }

    #[test]
    fn a_held_letter_that_came_again_without_its_predecessor_is_taken_once() {
        let mut intake = Intake::default();
        assert_eq!(intake.decide(&arrival("e", 5, Some(4))), Decision::Hold);
        assert_eq!(take(&mut intake, 5, None), None);
        assert_eq!(intake.held(), 0);
        assert_eq!(intake.decide(&arrival("e", 5, Some(4))), Decision::Repeat);
    }

    #[test]
    fn a_passed_number_is_a_repeat() {
        let mut intake = Intake::default();
        take(&mut intake, 7, None);
        assert_eq!(intake.decide(&arrival("e", 7, None)), Decision::Repeat);
        assert_eq!(intake.decide(&arrival("e", 2, None)), Decision::Repeat);
    }

    #[test]
    fn a_new_epoch_begins_anew_and_a_former_one_does_not_come_back() {
        let mut intake = Intake::default();
        take(&mut intake, 7, None);
        assert_eq!(intake.decide(&arrival("e", 9, Some(8))), Decision::Hold);
        assert_eq!(intake.decide(&arrival("f", 1, None)), Decision::Take);
        assert_eq!(intake.held(), 0);
        assert_eq!(intake.decide(&arrival("e", 8, None)), Decision::Former);
    }

    #[test]
    fn a_machines_own_word_ends_a_former_epoch_that_came_back() {
        // What was seen before is forgotten, and the letter of epoch `d` was kept back by the server.
        let mut intake = Intake::default();
        take(&mut intake, 7, None);
        assert_eq!(intake.decide(&arrival("d", 90, None)), Decision::Take);
        assert_eq!(intake.decide(&arrival("e", 8, None)), Decision::Former);
        intake.set_epoch(&"laptop".parse().unwrap(), "e");
        assert_eq!(intake.decide(&arrival("e", 8, None)), Decision::Take);
        assert_eq!(intake.decide(&arrival("d", 91, None)), Decision::Former);
    }

    #[test]
    fn lanes_do_not_wait_for_each_other() {
        let mut intake = Intake::default();
        assert_eq!(intake.decide(&arrival("e", 5, Some(4))), Decision::Hold);
        let mut other = arrival("e", 6, None);
        other.letter.to = "eve".into();
        assert_eq!(intake.decide(&other), Decision::Take);
    }

    #[test]
    fn what_was_passed_survives_a_restart() {
        let mut intake = Intake::default();
        take(&mut intake, 7, None);
        let text = serde_json::to_string(&intake.to_remember()).unwrap();
        let mut intake = Intake::remembering(serde_json::from_str(&text).unwrap());
        assert_eq!(intake.decide(&arrival("e", 8, Some(7))), Decision::Take);
        assert_eq!(intake.decide(&arrival("e", 7, None)), Decision::Repeat);
    }

    #[test]
    fn lanes_have_bounds_and_one_machine_takes_no_place_of_another() {
        let mut intake = Intake::default();
        let mut other = arrival("e", 7, None);
        other.from = "desk".parse().unwrap();
        assert_eq!(intake.decide(&other), Decision::Take);
        intake.pass(&other);
        for n in 1..=MOST_LANES as u64 + 10 {
            let mut letter = arrival("e", n, None);
            letter.letter.to = format!("nobody-{n}");
            assert_eq!(intake.decide(&letter), Decision::Take);
            intake.pass(&letter);
        }
        assert!(intake.passed.len() <= MOST_LANES + 1, "{}", intake.passed.len());
        assert_eq!(intake.decide(&other), Decision::Repeat);
    }

    #[test]
    fn a_lane_in_which_nothing_was_taken_is_not_remembered() {
        let mut intake = Intake::default();
        let letter = arrival("e", 5, None);
        intake.pass(&letter);
        intake.undo_pass(&letter, 0);
        assert!(intake.passed.is_empty());
    }

    #[test]
    fn what_is_held_has_bounds() {
        let mut intake = Intake::default();
        for n in 0..MOST_HELD as u64 + 10 {
            intake.decide(&arrival("e", n + 2, Some(n + 1)));
        }
        assert_eq!(intake.held(), MOST_HELD);
    }
}
