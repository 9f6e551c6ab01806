//! What a bridge is given to publish, and what it may answer, has to survive a power cut first.

use atm_ledger::faults::Step;
use atm_office::machines::Stage;

use crate::world::{laptop_and_desk, ledger_steps, refusing_syncs, said};

/// A number that a power cut takes back is given to another letter, which its recipient refuses as a replay.
#[test]
fn a_letter_is_on_the_disk_before_a_bridge_is_given_it() {
    let (mut laptop, _desk) = laptop_and_desk();
    // The sender has committed it, and has not come to the sync: that alone wakes the bridge.
    refusing_syncs(|| drop(laptop.send("alice", "bob", "first")));
    laptop.restart();
    let machines = laptop.office.machines();
    let failed = refusing_syncs(|| machines.outgoing(0, 10));
    assert!(failed.is_err(), "what is not durable is not given out: {failed:?}");
    let steps = ledger_steps(|| assert_eq!(machines.outgoing(0, 10).unwrap().len(), 1));
    assert_eq!(steps.last(), Some(&Step::Sync), "{steps:?}");
}

#[test]
fn what_is_given_out_again_costs_no_sync() {
    let (mut laptop, _desk) = laptop_and_desk();
    for number in 0..10 {
        laptop.send("alice", "bob", &format!("number {number}"));
    }
    laptop.restart();
    let machines = laptop.office.machines();
    let syncs = |after, most| {
        let steps = ledger_steps(|| assert!(!machines.outgoing(after, most).unwrap().is_empty()));
        steps.into_iter().filter(|step| *step == Step::Sync).count()
    };
    assert_eq!(syncs(0, 3), 1, "one for all that is on record by then");
    assert_eq!((syncs(0, 3), syncs(0, 10)), (0, 0));
    let last = machines.outgoing(0, 10).unwrap().last().unwrap().n;
    laptop.send("alice", "bob", "another");
    assert_eq!((syncs(last, 10), syncs(0, 100)), (1, 0));
}

/// Its teller goes on once it is told that all was recorded: a stage that a power cut takes then is never told again.
#[test]
fn receipts_are_on_the_disk_before_they_are_answered() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "read me");
    said(&desk.take_from(&laptop));
    desk.read("bob");
    let receipts = desk.receipts();
    let machines = laptop.office.machines();
    let failed = refusing_syncs(|| machines.confirm(&desk.name, &receipts));
    assert!(failed.is_err(), "{failed:?}");
    // They come again, and are no news by then.
    let steps = ledger_steps(|| assert_eq!(machines.confirm(&desk.name, &receipts).unwrap(), 0));
    assert_eq!(steps.last(), Some(&Step::Sync), "{steps:?}");
    assert_eq!(steps.iter().filter(|step| **step == Step::Sync).count(), 1, "{steps:?}");
    assert_eq!(laptop.stage(&sent.id), Stage::Seen);
    let steps = ledger_steps(|| assert_eq!(machines.confirm(&desk.name, &[]).unwrap(), 0));
    assert!(!steps.contains(&Step::Sync), "{steps:?}");
}

#[test]
fn a_letter_that_is_given_up_is_on_the_disk_as_failed() {
    let (laptop, _desk) = laptop_and_desk();
    laptop.send("alice", "bob", "too large");
    let letter = laptop.outgoing().remove(0);
    let steps = ledger_steps(|| laptop.office.machines().give_up(&letter, "too large").unwrap());
    assert_eq!(steps.last(), Some(&Step::Sync), "{steps:?}");
}
