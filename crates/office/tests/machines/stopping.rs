//! Processes that die between any two calls, and inboxes that are busy.

use std::fs;

use atm_ledger::faults::{self, Faults, Refusal, Step};
use atm_office::machines::{Stage, TakenIn};

use crate::world::{carry, laptop_and_desk, name, refusing, said, team};

/// The calls of a bridge for one letter; it dies after so many of them, on both machines, and begins again.
#[test]
fn whichever_call_was_the_last_the_letter_is_there_once_and_its_receipts_come_home() {
    for last in 0..6 {
        let (mut laptop, mut desk) = laptop_and_desk();
        let sent = laptop.send("alice", "bob", "survive");
        let mut calls = 0;
        let mut goes_on = || {
            calls += 1;
            calls <= last
        };
        // As much of one round as it lives for; what is in memory is lost with it.
        let mut round = || {
            if !goes_on() {
                return;
            }
            let taken = desk.take_from(&laptop);
            if !goes_on() {
                return;
            }
            laptop.confirm(&desk, &said(&taken));
            if !goes_on() {
                return;
            }
            desk.read("bob");
            if !goes_on() {
                return;
            }
            let receipts = desk.receipts();
            if !goes_on() {
                return;
            }
            laptop.confirm(&desk, &receipts[..1]);
        };
        round();
        laptop.restart();
        desk.restart();
        desk.forget_cursor();
        carry(&[&laptop, &desk]);
        assert_eq!(desk.texts("bob"), ["survive"], "after {last} calls");
        desk.read("bob");
        carry(&[&laptop, &desk]);
        assert_eq!(laptop.stage(&sent.id), Stage::Seen, "after {last} calls");
        assert!(laptop.outgoing().is_empty());
    }
}

#[test]
fn a_busy_inbox_does_not_lose_what_was_taken_in() {
    let (laptop, mut desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "through a locked door");
    // A client holds its lock.
    let lock = desk.file("inboxes/bob.json.lock");
    fs::create_dir(&lock).unwrap();
    assert_eq!(desk.take_from(&laptop), [TakenIn::Accepted]);
    assert_eq!(desk.take_from(&laptop), [TakenIn::Accepted], "brought again");
    assert!(desk.receipts().is_empty(), "it is in no inbox");
    assert_eq!(laptop.stage(&sent.id), Stage::Accepted);
    fs::remove_dir(&lock).unwrap();
    desk.restart();
    // Nobody brings it again: the next look writes it.
    desk.office.look(&team()).unwrap();
    laptop.confirm(&desk, &desk.receipts());
    carry(&[&laptop, &desk]);
    assert_eq!(desk.texts("bob"), ["through a locked door"]);
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
    assert!(desk.office.pending(&team()).unwrap().is_empty());
}

#[test]
fn the_same_id_from_another_machine_is_refused() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "mine");
    let letter = laptop.outgoing().remove(0);
    carry(&[&laptop, &desk]);
    let forged = atm_office::machines::Incoming {
        team: team(),
        to: "bob".into(),
        from: "alice".into(),
        machine: "cloud".parse().unwrap(),
        from_lead: false,
        as_lead: false,
        id: sent.id.clone(),
        letter: letter.letter.clone(),
    };
    let replayed = atm_office::machines::Incoming {
        id: "another-id".into(),
        machine: laptop.name.clone(),
        ..forged.clone()
    };
    for taken in desk.office.machines().take_in(&[forged, replayed]) {
        assert!(matches!(taken.unwrap(), TakenIn::Refused(_)));
    }
    assert_eq!(desk.texts("bob"), ["mine"]);
}

/// Refuses the ledger's transactions.
struct Refused(Refusal);

impl Faults for Refused {
    fn before(&mut self, step: Step) -> Result<(), Refusal> {
        if step == Step::Begin { Err(self.0) } else { Ok(()) }
    }
}

#[test]
fn what_cannot_be_put_on_record_is_not_written_and_comes_once_when_it_can() {
    for refusal in [Refusal::Busy, Refusal::Full, Refusal::Io] {
        let (laptop, desk) = laptop_and_desk();
        let sent = laptop.send("alice", "bob", "once");
        // On record, so that the next one is no first use of the ledger.
        assert_eq!(desk.texts("bob"), [""; 0]);
        desk.office.look(&team()).unwrap();
        for _ in 0..3 {
            let taken = faults::with(Refused(refusal), || desk.try_take_from(&laptop));
            assert!(taken.iter().all(Result::is_err), "{refusal:?}: {taken:?}");
            // A client takes what it finds, and it would be gone when the letter comes again.
            assert_eq!(desk.texts("bob"), [""; 0], "{refusal:?}");
        }
        carry(&[&laptop, &desk]);
        carry(&[&laptop, &desk]);
        assert_eq!(desk.texts("bob"), ["once"], "{refusal:?}");
        assert_eq!(laptop.stage(&sent.id), Stage::Written);
    }
}

/// The letter that is taken back stands before its recall in one batch: whichever commit fails, neither the recall nor what stands
/// behind it overtakes that letter.
#[test]
fn what_could_not_be_accepted_is_not_overtaken_by_its_recall() {
    let mut are_all_again = 0;
    for refused in 0..8 {
        let (laptop, desk) = laptop_and_desk();
        laptop.send("alice", "bob", "before");
        carry(&[&laptop, &desk]);
        let first = laptop.send("alice", "bob", "first");
        let _ = laptop.office.recall(Some(&team()), &name("alice"), &first.id).unwrap();
        laptop.send("alice", "bob", "second");
        let mut commits = 0;
        let is_refused = move |step| {
            commits += usize::from(step == Step::Commit);
            step == Step::Commit && commits == refused + 1
        };
        let taken = refusing(is_refused, || desk.try_take_from(&laptop));
        assert_eq!(taken.len(), 3);
        are_all_again += usize::from(taken.iter().all(Result::is_err));
        let taken: Vec<TakenIn> = taken.into_iter().flatten().collect();
        laptop.confirm(&desk, &said(&taken));
        carry(&[&laptop, &desk]);
        assert!(laptop.outgoing().is_empty(), "{refused}");
        assert_eq!(desk.texts("bob"), ["before", "second"], "{refused}");
        let (here, there) = (laptop.stage(&first.id), desk.stage(&first.id));
        assert_eq!((here, there), (Stage::Recalled, Stage::Recalled), "{refused}");
    }
    assert!(are_all_again > 0);
}
