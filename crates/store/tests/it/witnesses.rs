//! What stood before ours is said with every write, and equal entries are told apart.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};

use atm_store::{Mailbox, Outbox, Past, Receipt, Witnesses};
use atm_support::draft;
use atm_wire::Draft;
use atm_wire::message::identity::Numbered;

use crate::scene::{array_team, entry, line, log_team};

/// Keeps what it was told.
struct Noting {
    drafts: Vec<Draft>,
    told: Vec<(Vec<String>, Option<Witnesses>)>,
}

impl Outbox for Noting {
    fn waiting(&mut self) -> Vec<Draft> {
        self.drafts.clone()
    }

    fn written(&mut self, ids: &[String], before: Option<&Witnesses>) -> bool {
        self.told.push((ids.to_vec(), before.cloned()));
        true
    }
}

/// What stood before these, as it was said when they were written.
fn before(mailbox: &Mailbox, drafts: &[Draft]) -> Vec<(Vec<String>, Option<Witnesses>)> {
    let mut outbox = Noting { drafts: drafts.to_vec(), told: Vec::new() };
    mailbox.deliver(&mut outbox, false).unwrap();
    outbox.told
}

fn prints(mailbox: &Mailbox, places: &[usize]) -> Witnesses {
    let messages = mailbox.list().unwrap().messages;
    Witnesses(places.iter().map(|at| messages[*at].fingerprint()).collect())
}

#[test]
fn an_array_says_what_stood_there_first_and_last() {
    let team = array_team();
    let bob = team.mailbox("bob");
    let [first, second] = [draft("first"), draft("second")];
    let id = |draft: &Draft| vec![draft.id.clone()];
    assert_eq!(before(&bob, std::slice::from_ref(&first)), [(id(&first), Some(Witnesses::default()))]);
    assert_eq!(before(&bob, std::slice::from_ref(&second)), [(id(&second), Some(prints(&bob, &[0])))]);
    // One that is there is not said to stand behind anything.
    let third = draft("third");
    let told = before(&bob, &[first.clone(), third.clone()]);
    assert_eq!(told, [(id(&first), None), (id(&third), Some(prints(&bob, &[0, 1])))]);

    for large in [false, true] {
        let text = if large { "x".repeat(2_000) } else { String::new() };
        let entries: Vec<String> = (0..900).map(|n| entry(&format!("{n} {text}"))).collect();
        team.write_inbox("bob", format!("[{}]", entries.join(",\n  ")));
        let ends = prints(&bob, &[0, 1, 2, 3, 896, 897, 898, 899]);
        let last = draft("last");
        assert_eq!(before(&bob, std::slice::from_ref(&last)), [(id(&last), Some(ends))], "large: {large}");
        // And once more, where the file is known to be ours.
        let again = draft("again");
        let ends = prints(&bob, &[0, 1, 2, 3, 897, 898, 899, 900]);
        assert_eq!(before(&bob, std::slice::from_ref(&again)), [(id(&again), Some(ends))], "large: {large}");
    }
}

#[test]
fn a_log_says_it_too() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let id = |draft: &Draft| vec![draft.id.clone()];
    let first = draft("first");
    assert_eq!(before(&bob, std::slice::from_ref(&first)), [(id(&first), Some(Witnesses::default()))]);
    for long in [false, true] {
        let text = if long { "x".repeat(500) } else { String::new() };
        let lines: Vec<String> = (0..300).map(|n| line(&format!("{n} {text}"))).collect();
        fs::write(team.inbox("bob"), lines.join("\n") + "\n").unwrap();
        let ends = prints(&bob, &[0, 1, 2, 3, 296, 297, 298, 299]);
        let last = draft("last");
        assert_eq!(before(&bob, std::slice::from_ref(&last)), [(id(&last), Some(ends))], "long: {long}");
    }
}

/// Remembers what it is given.
#[derive(Debug, Default)]
struct Remembering(Mutex<HashMap<String, Numbered>>);

impl Past for Remembering {
    fn numbered(&self, _: &[&str]) -> HashMap<String, Numbered> {
        self.0.lock().unwrap().clone()
    }
}

#[test]
fn of_equal_entries_exactly_the_one_that_was_handed_out_is_marked() {
    for (team, mail) in [
        (array_team(), format!("[{0},{0},{0}]", entry("ping"))),
        (log_team(), format!("{0}\n{0}\n{0}\n", line("ping"))),
    ] {
        fs::write(team.inbox("bob"), mail).unwrap();
        let memory = Arc::new(Remembering::default());
        let bob = team.mailbox("bob").with_past(Arc::<Remembering>::clone(&memory));
        let flags = || bob.list().unwrap().messages.iter().map(|message| message.read).collect::<Vec<_>>();
        let messages = bob.list().unwrap().messages;
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
        assert_eq!(bob.mark_read(&[Receipt::of(&messages[0])].into()).unwrap().marked, 1);
        assert_eq!(flags(), [true, false, false]);
        // The first two are seen to be gone: the one that is left is the third, and its receipt fits.
        memory.0.lock().unwrap().insert(messages[0].id.clone(), Numbered { first: 1, next: 4 });
        if team.inbox("bob").extension().is_some() {
            team.write_inbox("bob", format!("[{}]", entry("ping")));
            assert_eq!(bob.list().unwrap().messages[0].id, ids[2]);
            assert_eq!(bob.mark_read(&[Receipt::of(&messages[1])].into()).unwrap().marked, 0, "it is gone");
            assert_eq!(bob.mark_read(&[Receipt::of(&messages[2])].into()).unwrap().marked, 1);
        }
    }
}
