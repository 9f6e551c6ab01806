//! What the ledger keeps so that a look can tell what became of a message that is gone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::HashMap;

use atm_ledger::{Acceptance, Evidence, InboxKey, Kind, Ledger, NewMessage, Observed, Stage};

struct Desk {
    _folder: tempfile::TempDir,
    ledger: Ledger,
    bob: InboxKey,
}

impl Desk {
    /// With messages of ours that are written behind others.
    fn with(ids: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
        let bob = InboxKey::new(folder.path(), "demo", "bob");
        for id in ids {
            let message = NewMessage { id: (*id).into(), kind: "message".into(), ..NewMessage::default() };
            let accepted =
                Acceptance { inbox: bob.clone(), message, is_new: true, draft: format!("draft of {id}") };
            ledger.accept(&[accepted], 1, "test").unwrap();
            let written = [((*id).to_owned(), Stage::Written)];
            ledger.written(&bob, &written, 2, &Evidence::certain("renamed"), Some("w1 w2")).unwrap();
        }
        Self { _folder: folder, ledger, bob }
    }

    fn witnesses(&self) -> Vec<Option<String>> {
        let known = self.ledger.known(&self.bob, Stage::Written, Stage::Taken).unwrap();
        known.into_iter().map(|message| message.witnesses).collect()
    }

    fn restore(&mut self, id: &str, at: i64) {
        let evidence = Evidence::certain("put back");
        self.ledger.restored(&self.bob, &[id.to_owned()], at, &evidence, Some("w3")).unwrap();
    }
}

#[test]
fn what_stood_before_a_message_is_kept_with_it() {
    let mut desk = Desk::with(&["a", "b"]);
    assert_eq!(desk.witnesses(), [Some("w1 w2".to_owned()), Some("w1 w2".to_owned())]);
    desk.restore("a", 3);
    assert_eq!(desk.witnesses()[0].as_deref(), Some("w3"), "it stands behind others now");
}

#[test]
fn a_message_is_put_back_by_one_of_those_who_saw_that_it_was_undone() {
    let mut desk = Desk::with(&["a"]);
    let draft = |desk: &Desk, times| desk.ledger.draft_to_restore(&desk.bob, "a", times).unwrap();
    assert_eq!(draft(&desk, 0).as_deref(), Some("draft of a"));
    desk.restore("a", 3);
    assert_eq!(draft(&desk, 0), None, "somebody did it meanwhile");
    assert_eq!(desk.ledger.times_restored(&desk.bob, "a").unwrap(), 1);
    desk.ledger.advance(&desk.bob, "a", Stage::Taken, 4, &Evidence::likely("drained")).unwrap();
    assert_eq!(draft(&desk, 1), None, "somebody took it meanwhile");
}

#[test]
fn a_removal_is_on_record_until_it_is_known_to_have_failed() {
    let mut desk = Desk::with(&["a", "b"]);
    desk.ledger.removing(&desk.bob, &["a", "never heard of"], 5).unwrap();
    let since = |desk: &Desk| -> Vec<Option<i64>> {
        let known = desk.ledger.known(&desk.bob, Stage::Written, Stage::Taken).unwrap();
        known.iter().map(|message| message.removing_since).collect()
    };
    assert_eq!(since(&desk), [Some(5), None]);
    desk.ledger.not_removed(&desk.bob, &["a"]).unwrap();
    assert_eq!(since(&desk), [None, None]);

    // In another inbox nobody is about to remove it.
    desk.ledger.removing(&desk.bob, &["a"], 6).unwrap();
    let carol = InboxKey { name: "carol".into(), ..desk.bob.clone() };
    desk.ledger.redirect(&desk.bob, &carol, &["a".into()], 7, &Evidence::certain("brought")).unwrap();
    let there = desk.ledger.known(&carol, Stage::Written, Stage::Taken).unwrap();
    assert_eq!((there.len(), there[0].removing_since), (1, None));
}

/// With many messages that were taken later, mail that waits used to fall off the end of the list.
#[test]
fn much_taken_mail_does_not_hide_what_waits() {
    let mut desk = Desk::with(&["held", "one", "two", "three"]);
    let observed = |id: &str, stage, evidence| Observed {
        id: id.into(),
        new: None,
        stages: vec![(stage, evidence)],
        at: None,
    };
    let mut seen = vec![observed("held", Stage::Held, Evidence::certain("undone"))];
    seen.extend(["one", "two", "three"].map(|id| observed(id, Stage::Taken, Evidence::likely("drained"))));
    desk.ledger.observe(&desk.bob, &seen, None, 3).unwrap();
    let found = desk.ledger.pending(&desk.bob.root, "demo", 0, 2).unwrap();
    let ids: Vec<String> = found.into_iter().map(|message| message.id).collect();
    assert_eq!(ids, ["held", "two", "three"]);
}

#[test]
fn held_and_unproved_mail_is_pending_until_it_is_seen() {
    let mut desk = Desk::with(&["held", "unproved", "taken"]);
    let long_ago = 1 << 40;
    let observed = |id: &str, stage, evidence| Observed {
        id: id.into(),
        new: None,
        stages: vec![(stage, evidence)],
        at: None,
    };
    let seen = [
        observed("held", Stage::Held, Evidence::certain("undone")),
        observed("unproved", Stage::Taken, Evidence::unproved("gone")),
        observed("taken", Stage::Taken, Evidence::likely("drained")),
    ];
    desk.ledger.observe(&desk.bob, &seen, None, 3).unwrap();
    let pending = |desk: &Desk| -> Vec<String> {
        let found = desk.ledger.pending(&desk.bob.root, "demo", long_ago, 10).unwrap();
        found.into_iter().map(|message| message.id).collect()
    };
    assert_eq!(pending(&desk), ["held", "unproved"]);
    for id in ["held", "unproved"] {
        desk.ledger
            .advance(&desk.bob, id, Stage::Seen, 4, &Evidence::certain("in the conversation"))
            .unwrap();
    }
    assert!(pending(&desk).is_empty());
    // How long it took to be taken is known of the one that was.
    let stats = desk.ledger.stats(&desk.bob.root, &[], (0, 10), 1).unwrap();
    let taken = stats.waits.iter().find(|waits| waits.stage == Stage::Taken).unwrap();
    assert_eq!(taken.messages, 1);
}

#[test]
fn the_numbers_of_equal_messages_are_remembered_also_when_all_are_gone() {
    let mut desk = Desk::with(&[]);
    let mut look = |numbers: &[(&str, (u32, u32))]| {
        let numbers: HashMap<_, _> = numbers.iter().map(|(id, span)| ((*id).to_owned(), *span)).collect();
        desk.ledger.look(&desk.bob, &[], None, &numbers, 1).unwrap();
        desk.ledger.equals(&desk.bob, &["x"]).unwrap()
    };
    assert_eq!(look(&[("x", (1, 3)), ("y", (1, 2))]).len(), 2, "all that stand there are given");
    assert_eq!(look(&[("x", (3, 3))])["x"], (3, 3));
    assert_eq!(look(&[("y", (2, 2))]).len(), 1, "of those that are gone, only the ones that are asked for");
}

/// A reader may have read it a moment before its sender took it back.
#[test]
fn what_is_recalled_waits_for_nobody_and_is_seen_if_that_is_proved() {
    let mut desk = Desk::with(&["back"]);
    desk.ledger.recalling(&desk.bob, "back", 3).unwrap();
    assert!(desk.ledger.outlines(&desk.bob, Stage::Written, Stage::Taken).unwrap()[0].is_recalled);
    desk.ledger.recalled(&desk.bob, &["back".to_owned()], 4, &Evidence::certain("taken back")).unwrap();
    assert_eq!(desk.ledger.stage_of(&desk.bob, "back").unwrap(), Some(Stage::Recalled));
    assert_eq!(desk.ledger.draft_to_restore(&desk.bob, "back", 0).unwrap(), None);
    assert!(desk.ledger.pending(&desk.bob.root, "demo", 0, 10).unwrap().is_empty());
    let open = desk.ledger.known(&desk.bob, Stage::Accepted, Stage::Seen).unwrap();
    assert_eq!(open.len(), 1, "its reader's conversation may show it all the same");
    let seen = Evidence::certain("in the conversation");
    desk.ledger.advance(&desk.bob, "back", Stage::Seen, 5, &seen).unwrap();
    assert_eq!(desk.ledger.stage_of(&desk.bob, "back").unwrap(), Some(Stage::Seen));
}

/// The second taking of mail that was offered again was not recorded: a turn in between made it count as lost.
#[test]
fn what_was_offered_again_is_expected_in_the_inbox_until_it_is_taken_again() {
    let mut desk = Desk::with(&["a", "b"]);
    let on_offer = |desk: &Desk| -> Vec<String> {
        desk.ledger.on_offer(&desk.bob).unwrap().into_iter().map(|message| message.id).collect()
    };
    let taken = Evidence::likely("drained");
    for id in ["a", "b"] {
        desk.ledger.advance(&desk.bob, id, Stage::Taken, 4, &taken).unwrap();
    }
    assert!(on_offer(&desk).is_empty());
    desk.ledger.note(&desk.bob, "a", Kind::Offered, 5, &Evidence::certain("offered again")).unwrap();
    assert_eq!(on_offer(&desk), ["a"]);
    desk.ledger.advance(&desk.bob, "a", Stage::Taken, 6, &taken).unwrap();
    assert!(on_offer(&desk).is_empty());
    let message = desk.ledger.find(&desk.bob.root, "a", false).unwrap().pop().unwrap();
    let stages = desk.ledger.stages(&message).unwrap();
    assert_eq!(stages.iter().filter(|record| record.is_offer).count(), 1);
    assert_eq!(stages.iter().filter(|record| record.stage == Stage::Taken).count(), 2);
}

/// Mail that was taken long ago and never seen was left out of what waits, and nobody said so.
#[test]
fn it_is_known_whether_mail_was_left_out_of_what_waits() {
    let mut desk = Desk::with(&["a", "b"]);
    let has_more = |desk: &Desk, lately, limit| {
        desk.ledger.has_more_pending(&desk.bob.root, "demo", lately, limit).unwrap()
    };
    assert!(!has_more(&desk, i64::MAX, 9), "nothing was taken");
    for id in ["a", "b"] {
        desk.ledger.advance(&desk.bob, id, Stage::Taken, 4, &Evidence::likely("drained")).unwrap();
    }
    assert!(has_more(&desk, i64::MAX, 9), "long ago");
    assert!(!has_more(&desk, 0, 9));
    assert!(has_more(&desk, 0, 1), "too many");
}
