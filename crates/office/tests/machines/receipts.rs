//! What became of mail comes home: once, in any order, from the right machine.

use atm_office::machines::{Receipt, Stage};

use crate::world::{Machine, carry, introduce, laptop_and_desk, said, team};

/// Everything that the desk tells of one letter that was read there.
fn read_letter() -> (Machine, Machine, String, Vec<Receipt>) {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "read me");
    said(&desk.take_from(&laptop));
    desk.read("bob");
    let receipts = desk.receipts();
    (laptop, desk, sent.id, receipts)
}

#[test]
fn every_stage_comes_home_with_its_evidence_and_its_machine() {
    let (laptop, desk, id, receipts) = read_letter();
    let stages: Vec<Stage> = receipts.iter().map(|receipt| receipt.stage).collect();
    assert_eq!(stages, [Stage::Written, Stage::Taken, Stage::Seen]);
    assert_eq!(laptop.confirm(&desk, &receipts), 3);
    let there = desk.office.track(Some(&team()), &id).unwrap();
    let here = laptop.office.track(Some(&team()), &id).unwrap();
    for stage in stages {
        let find = |track: &atm_office::trail::track::Track| {
            track.stages.iter().find(|reached| reached.stage == stage).unwrap().clone()
        };
        let (there, here) = (find(&there), find(&here));
        assert_eq!((here.at, &here.evidence.what), (there.at, &there.evidence.what), "{stage}");
        assert_eq!((here.evidence.machine.as_deref(), there.evidence.machine), (Some("desk"), None));
    }
}

#[test]
fn any_order_and_any_repetition_lead_to_the_same_stages() {
    let orders: [&[usize]; 7] =
        [&[0, 1, 2], &[2, 1, 0], &[1, 0, 2], &[2], &[0, 0, 2, 2, 1, 1], &[1, 2, 0, 1, 2, 0], &[2, 0]];
    for order in orders {
        let (laptop, desk, id, receipts) = read_letter();
        for at in order {
            laptop.confirm(&desk, &receipts[*at..=*at]);
            assert!(laptop.outgoing().is_empty(), "whichever receipt came first, it waits no more");
        }
        assert_eq!(laptop.stage(&id), Stage::Seen, "{order:?}");
        let track = laptop.office.track(Some(&team()), &id).unwrap();
        let mut told = order.to_vec();
        told.sort_unstable();
        told.dedup();
        assert_eq!(track.stages.len(), 1 + told.len(), "{order:?}: {:?}", track.stages);
    }
}

#[test]
fn a_machine_tells_only_what_happened_on_it() {
    let (laptop, desk, _, receipts) = read_letter();
    laptop.confirm(&desk, &receipts);
    assert!(laptop.receipts().is_empty(), "what it was told it does not tell");
    desk.forget_cursor();
    assert_eq!(desk.receipts(), receipts, "a bridge that lost its place tells all again");
    assert!(desk.receipts().is_empty());
    assert_eq!(laptop.confirm(&desk, &receipts), 0);
}

#[test]
fn a_machine_cannot_confirm_what_is_for_another_one() {
    let (laptop, desk, cloud) =
        (Machine::new("laptop", &["alice"]), Machine::new("desk", &["bob"]), Machine::new("cloud", &["eve"]));
    introduce(&[&laptop, &desk, &cloud]);
    let sent = laptop.send("alice", "bob", "hi");
    let receipts = said(&desk.take_from(&laptop));
    assert_eq!(laptop.office.machines().confirm(&cloud.name, &receipts).unwrap(), 0);
    assert_eq!(laptop.stage(&sent.id), Stage::Accepted);
    let local = laptop.send("alice", "team-lead", "a local one");
    let forged =
        Receipt { id: local.id.clone(), to: "team-lead".into(), stage: Stage::Done, ..receipts[0].clone() };
    assert_eq!(laptop.office.machines().confirm(&desk.name, &[forged]).unwrap(), 0);
    assert_eq!(laptop.stage(&local.id), Stage::Written);
    carry(&[&laptop, &desk, &cloud]);
    assert_eq!(laptop.stage(&sent.id), Stage::Written);
}

#[test]
fn what_a_bridge_cannot_carry_fails_with_its_reason() {
    let (laptop, _desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "poison");
    let letter = laptop.outgoing().remove(0);
    let machines = laptop.office.machines();
    let failed = machines.receipt_of_failure(&letter, "the machine is not trusted").unwrap();
    assert_eq!(machines.confirm(&letter.machine, &[failed]).unwrap(), 1);
    assert!(laptop.outgoing().is_empty());
    let track = laptop.office.track(Some(&team()), &sent.id).unwrap();
    assert_eq!(track.stage, Stage::Failed);
    assert_eq!(track.stages.last().unwrap().evidence.what, "the machine is not trusted");
}

#[test]
fn what_failed_unwritten_and_is_written_later_has_not_failed() {
    for failed_first in [true, false] {
        let (laptop, desk) = laptop_and_desk();
        let sent = laptop.send("alice", "bob", "unreadable for this version, and readable for the next");
        let letter = laptop.outgoing().remove(0);
        let machines = laptop.office.machines();
        let failed = machines.receipt_of_failure(&letter, "its content cannot be read").unwrap();
        let written = said(&desk.take_from(&laptop));
        let order = if failed_first { [vec![failed], written] } else { [written, vec![failed]] };
        for receipts in order {
            laptop.confirm(&desk, &receipts);
            laptop.confirm(&desk, &receipts);
        }
        assert_eq!(laptop.stage(&sent.id), Stage::Written, "failed first: {failed_first}");
        desk.read("bob");
        laptop.confirm(&desk, &desk.receipts());
        assert_eq!(laptop.stage(&sent.id), Stage::Seen);
    }
}
