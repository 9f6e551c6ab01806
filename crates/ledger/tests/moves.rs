//! Letters that are sent on to another home of their recipient.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use atm_ledger::{Acceptance, Evidence, InboxKey, Ledger, NewMessage, SentOn};

fn inbox() -> InboxKey {
    InboxKey { root: "/shared".into(), team: "demo".into(), name: "bob".into() }
}

fn accept(ledger: &mut Ledger, id: &str) {
    let home = Some("hub".to_owned());
    let message = NewMessage { id: id.into(), kind: "message".into(), home, ..NewMessage::default() };
    let accepted = Acceptance { inbox: inbox(), message, is_new: true, draft: "for the hub".into() };
    ledger.accept(&[accepted], 1, "alice").unwrap();
}

/// What is sent on, as it is found now, and the last number then.
fn found(ledger: &Ledger) -> (Vec<SentOn>, i64) {
    let since = ledger.last_number().unwrap();
    let sent_on = |message| SentOn {
        message,
        name: "bob".into(),
        home: Some("desk".into()),
        draft: "for the desk".into(),
        waits: true,
        was_waiting: false,
    };
    (ledger.untaken_elsewhere(&inbox()).unwrap().into_iter().map(sent_on).collect(), since)
}

/// It was accepted between the look for letters and their new numbers: it had the lowest of all, and was carried first.
#[test]
fn a_letter_that_comes_while_others_are_sent_on_does_not_get_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    let evidence = Evidence::certain("sent on");
    accept(&mut ledger, "first");
    let (letters, since) = found(&ledger);
    accept(&mut ledger, "second");
    assert!(!ledger.send_on(&letters, (&[inbox()], since), 2, &evidence).unwrap());
    let (letters, since) = found(&ledger);
    assert!(ledger.send_on(&letters, (&[inbox()], since), 2, &evidence).unwrap());
    let waiting = ledger.waiting(&inbox()).unwrap();
    let waiting: Vec<_> = waiting.iter().map(|(id, draft)| (id.as_str(), draft.as_str())).collect();
    assert_eq!(waiting, [("first", "for the desk"), ("second", "for the desk")]);
}

/// It was found waiting for its inbox, and its sender wrote it before it had its new number: it was written twice.
#[test]
fn a_letter_that_is_written_while_others_are_sent_on_is_not_accepted_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
    let evidence = Evidence::certain("sent on");
    accept(&mut ledger, "first");
    let (mut letters, since) = found(&ledger);
    for letter in &mut letters {
        letter.was_waiting = true;
    }
    ledger.withdraw(&inbox(), "first", 2, &evidence).unwrap();
    assert!(!ledger.send_on(&letters, (&[inbox()], since), 3, &evidence).unwrap());
    assert!(ledger.waiting(&inbox()).unwrap().is_empty());
}
