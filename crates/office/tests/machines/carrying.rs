//! A letter from one machine to another: accepted here, written there, once, in order.

use atm_office::machines::{Home, Stage, TakenIn};
use atm_office::mail::send::{Letter, SendOptions};

use crate::world::{Machine, carry, introduce, laptop_and_desk, name, said, team};

#[test]
fn a_letter_is_accepted_here_and_written_there_and_nowhere_else() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "please look at the build");
    assert!(sent.is_only_accepted());
    assert_eq!(
        laptop.stage(&sent.id),
        Stage::Accepted,
        "a look completes nothing that is for another machine"
    );
    assert!(laptop.inbox("bob").is_empty());
    carry(&[&laptop, &desk]);
    let mail = desk.inbox("bob");
    assert_eq!(
        (mail.len(), mail[0].from.as_str(), mail[0].text.as_str()),
        (1, "alice", "please look at the build")
    );
    assert_eq!(mail[0].id, sent.id);
    assert_eq!(mail[0].ours().machine.as_deref(), Some("laptop"));
    assert!(laptop.inbox("bob").is_empty());
    let track = laptop.office.track(Some(&team()), &sent.id).unwrap();
    assert_eq!(track.stage, Stage::Written);
    let written = track.stages.iter().find(|stage| stage.stage == Stage::Written).unwrap();
    assert_eq!(written.evidence.machine.as_deref(), Some("desk"));
    assert!(laptop.outgoing().is_empty());
}

#[test]
fn what_is_brought_again_is_confirmed_again_and_written_once() {
    let (laptop, desk) = laptop_and_desk();
    let sent = laptop.send("alice", "bob", "once");
    for round in 0..3 {
        let taken = desk.take_from(&laptop);
        let is_known = matches!(taken[0], TakenIn::Known(_));
        assert_eq!(is_known, round > 0);
        assert!(said(&taken).iter().any(|receipt| receipt.stage == Stage::Written), "{round}");
    }
    // Also when its reader's client has removed it.
    desk.read("bob");
    std::fs::write(desk.file("inboxes/bob.json"), "[]").unwrap();
    let taken = desk.take_from(&laptop);
    assert!(matches!(&taken[0], TakenIn::Known(receipts) if receipts.iter().any(|r| r.stage == Stage::Seen)));
    assert!(desk.inbox("bob").is_empty());
    assert_eq!(laptop.confirm(&desk, &said(&taken)), said(&taken).len());
    assert_eq!(laptop.confirm(&desk, &said(&taken)), 0, "twice is no news");
    assert_eq!(laptop.stage(&sent.id), Stage::Seen);
}

#[test]
fn letters_of_one_sender_stay_in_their_order() {
    let (laptop, desk) = laptop_and_desk();
    let texts: Vec<String> = (0..30).map(|number| format!("number {number}")).collect();
    for part in texts.chunks(7) {
        for text in part {
            laptop.send("alice", "bob", text);
        }
        carry(&[&laptop, &desk]);
    }
    assert_eq!(desk.texts("bob"), texts);
    let numbers: Vec<i64> = laptop.outgoing().iter().map(|letter| letter.n).collect();
    assert!(numbers.is_empty());
    let first = laptop.send("alice", "bob", "a");
    let second = laptop.send("alice", "bob", "b");
    let outgoing = laptop.outgoing();
    assert_eq!(outgoing.iter().map(|letter| &letter.id).collect::<Vec<_>>(), [&first.id, &second.id]);
    assert!(outgoing[0].n < outgoing[1].n);
    let after = laptop.office.machines().outgoing(outgoing[0].n, 10).unwrap();
    assert_eq!((after.len(), &after[0].id), (1, &second.id));
    let still = laptop.office.machines().still_outgoing(&[outgoing[0].n, 7]).unwrap();
    assert_eq!(still.into_iter().collect::<Vec<_>>(), [outgoing[0].n]);
}

#[test]
fn a_broadcast_reaches_every_member_of_every_machine_once() {
    let (laptop, desk, cloud) = (
        Machine::new("laptop", &["alice", "ann"]),
        Machine::new("desk", &["bob"]),
        Machine::new("cloud", &["carl", "eve"]),
    );
    introduce(&[&laptop, &desk, &cloud]);
    let letter = Letter::new("alice".parse().unwrap(), "meet at ten");
    let sent =
        laptop.office.broadcast(&team(), &name("alice"), &letter, None, SendOptions::default()).unwrap();
    assert_eq!(sent.len(), 7, "three leads, ann, bob, carl and eve");
    carry(&[&laptop, &desk, &cloud]);
    carry(&[&laptop, &desk, &cloud]);
    for (machine, member) in [
        (&laptop, "ann"),
        (&laptop, "team-lead"),
        (&desk, "bob"),
        (&desk, "team-lead"),
        (&cloud, "carl"),
        (&cloud, "eve"),
        (&cloud, "team-lead"),
    ] {
        assert_eq!(machine.texts(member), ["meet at ten"], "{member} on {}", machine.name);
    }
    assert!(laptop.inbox("alice").is_empty());
}

#[test]
fn mail_for_somebody_who_is_off_is_queued_and_tagged_at_home() {
    let (laptop, desk) = laptop_and_desk();
    let off = atm_office::people::members::MemberChange { active: Some(false), ..Default::default() };
    desk.office.set_member(&team(), &name("bob"), &off).unwrap();
    let sent = laptop.send("alice", "bob", "when you are back");
    carry(&[&laptop, &desk]);
    assert!(desk.texts("bob")[0].starts_with("[PENDING ACTION"));
    assert_eq!(laptop.stage(&sent.id), Stage::Queued);
}

#[test]
fn a_letter_for_somebody_who_is_not_here_is_not_taken_in() {
    let (laptop, desk) = laptop_and_desk();
    let machines = laptop.office.machines();
    assert_eq!(machines.home(&team(), "bob").unwrap(), Home::Machine(desk.name.clone()));
    assert_eq!(machines.home(&team(), "alice").unwrap(), Home::Here);
    laptop.send("alice", "bob", "hi");
    desk.office.remove_member(&team(), &name("bob")).unwrap();
    std::fs::remove_file(desk.file("inboxes/bob.json")).unwrap();
    assert_eq!(desk.take_from(&laptop), [TakenIn::NotHome(None)]);
}

#[test]
fn a_message_is_taken_back_at_its_home_if_nobody_has_read_it() {
    let (laptop, desk) = laptop_and_desk();
    let alice = name("alice");
    // Written there, unread.
    let first = laptop.send("alice", "bob", "first");
    carry(&[&laptop, &desk]);
    let asked = laptop.office.recall(Some(&team()), &alice, &first.id).unwrap();
    assert_eq!((asked.stage, asked.warnings.len()), (Stage::Written, 1), "its home has not answered");
    // Nothing of it was carried yet; who says `last` means the message, and not the letter that takes it back.
    let second = laptop.send("alice", "bob", "second");
    for _ in 0..2 {
        assert_eq!(laptop.office.recall(Some(&team()), &alice, "last").unwrap().message.id, second.id);
    }
    carry(&[&laptop, &desk]);
    carry(&[&laptop, &desk]);
    assert!(desk.inbox("bob").is_empty(), "{:?}", desk.texts("bob"));
    for id in [&first.id, &second.id] {
        assert_eq!((laptop.stage(id), desk.stage(id)), (Stage::Recalled, Stage::Recalled));
    }
    assert!(laptop.outgoing().is_empty());
    // Read there.
    let third = laptop.send("alice", "bob", "third");
    carry(&[&laptop, &desk]);
    desk.read("bob");
    laptop.office.recall(Some(&team()), &alice, &third.id).unwrap();
    carry(&[&laptop, &desk]);
    assert_eq!(laptop.stage(&third.id), Stage::Seen);
    assert!(laptop.office.recall(Some(&team()), &alice, &third.id).is_err(), "known to be seen by now");
}
