//! Marking as read, and removing: only the flags change, only the named entries go.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime};

use atm_store::array::ArrayInbox;
use atm_store::{LockTimes, Receipt};
use atm_support::{TestTeam, client_inboxes, draft, drafts};

use crate::scene::{array_team, entry, listed, receipts, unread};

fn text(team: &TestTeam) -> String {
    String::from_utf8(team.inbox_bytes("bob")).unwrap()
}

fn all(team: &TestTeam) -> HashSet<Receipt> {
    team.mailbox("bob").list().unwrap().messages.iter().map(Receipt::of).collect()
}

fn array(team: &TestTeam) -> ArrayInbox {
    ArrayInbox::new(team.inbox("bob"), &team.env().store_state(), LockTimes::default())
}

#[test]
fn marking_turns_false_into_true_and_touches_no_other_byte() {
    for inbox in client_inboxes() {
        let team = array_team();
        let before = fs::read_to_string(&inbox).unwrap();
        team.write_inbox("bob", &before);
        let flags = before.matches("\"read\": false").count();
        assert_eq!(team.mailbox("bob").mark_read(&all(&team)).unwrap().marked, flags);
        assert_eq!(text(&team), before.replace("\"read\": false", "\"read\": true"), "{}", inbox.display());
    }
}

#[test]
fn only_what_was_handed_out_is_marked() {
    // Old clients mark everything as read that is there by then: mail that came in between is never shown.
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    let handed_out = receipts(&bob, &["m0", "m2"]);
    bob.append(&[draft("in between")], false).unwrap();
    assert_eq!(bob.mark_read(&handed_out).unwrap().marked, 2);
    assert_eq!(unread(&bob), ["m1", "in between"]);
    assert_eq!(bob.mark_read(&handed_out).unwrap().marked, 0, "they are read already");
}

#[test]
fn equal_ids_of_a_careless_program_do_not_mark_each_other() {
    let team = array_team();
    let same_id = |text: &str| entry(text).replace("\"read\"", "\"messageId\":\"1\",\"read\"");
    team.write_inbox("bob", format!("[{},{}]", same_id("one"), same_id("two")));
    let bob = team.mailbox("bob");
    assert_eq!(bob.mark_read(&receipts(&bob, &["one"])).unwrap().marked, 1);
    assert_eq!(unread(&bob), ["two"]);
}

#[test]
fn a_missing_flag_is_added_and_odd_ones_are_replaced() {
    let message = r#""from":"a","text":"t","timestamp":"2026-01-01T00:00:00Z","n":1E2"#;
    let cases = [
        (format!("[{{{message}}}]"), format!("[{{{message},\"read\":true}}]")),
        (format!("[{{\"read\":null,{message}}}]"), format!("[{{\"read\":true,{message}}}]")),
        (
            format!("[{{\"read\":true,{message},\"read\":false}}]"),
            format!("[{{\"read\":true,{message},\"read\":true}}]"),
        ),
        (format!("[{{{message},\"text\":\"last\"}}]"), format!("[{{{message},\"text\":\"last\",\"read\":true}}]")),
        (
            "[\n  {\n    \"from\": \"a\",\n    \"text\": \"t\",\n    \"timestamp\": \"2026-01-01T00:00:00Z\"\n  }\n]".to_owned(),
            "[\n  {\n    \"from\": \"a\",\n    \"text\": \"t\",\n    \"timestamp\": \"2026-01-01T00:00:00Z\",\n    \"read\": true\n  }\n]".to_owned(),
        ),
    ];
    for (before, after) in cases {
        let team = array_team();
        team.write_inbox("bob", &before);
        assert_eq!(team.mailbox("bob").mark_read(&all(&team)).unwrap().marked, 1, "{before}");
        assert_eq!(text(&team), after);
    }
}

#[test]
fn marking_what_is_gone_changes_nothing() {
    // New clients take a message out of the file; the receipt for it then names nothing.
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 2), false).unwrap();
    let receipts = all(&team);
    team.write_inbox("bob", "[]");
    assert_eq!(bob.mark_read(&receipts).unwrap().marked, 0);
    assert_eq!(text(&team), "[]");
    fs::remove_file(team.inbox("bob")).unwrap();
    assert_eq!(bob.mark_read(&receipts).unwrap().marked, 0);
    assert!(!team.inbox("bob").exists());
}

#[test]
fn removing_takes_whole_entries_and_leaves_the_others_as_they_are() {
    let team = array_team();
    let odd = entry("odd").replace("false", "false, \"n\" :1E2");
    team.write_inbox("bob", format!("[\n {},\n null,\n {odd},\n {}\n]\n", entry("first"), entry("last")));
    let bob = team.mailbox("bob");
    assert_eq!(array(&team).remove(&receipts(&bob, &["first", "last"])).unwrap(), 2);
    assert_eq!(text(&team), format!("[\n null,\n {odd}\n]\n"));
    assert_eq!(array(&team).remove(&HashSet::new()).unwrap(), 0);
}

#[test]
fn an_inbox_of_which_all_is_removed_is_empty_as_clients_write_it() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    assert_eq!(array(&team).remove(&all(&team)).unwrap(), 3);
    assert_eq!(text(&team), "[]");
}

#[test]
fn two_readers_never_get_the_same_message() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 40), false).unwrap();
    let taken: Vec<String> = std::thread::scope(|scope| {
        let reader = || {
            let bob = team.mailbox("bob");
            let mut got = Vec::new();
            loop {
                let some = crate::scene::take(&bob, 3);
                if some.is_empty() {
                    return got;
                }
                got.extend(some);
            }
        };
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(reader)).collect();
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    assert_eq!(crate::scene::sorted(taken), crate::scene::sorted(listed(&bob)));
}

/// Past the time in which its age does not tell whether it changed again.
fn age(team: &TestTeam) {
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    fs::File::options().write(true).open(team.inbox("bob")).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn what_was_listed_to_be_marked_is_marked_at_its_place_and_no_other_byte_changes() {
    for inbox in client_inboxes() {
        let team = array_team();
        let before = fs::read_to_string(&inbox).unwrap();
        team.write_inbox("bob", &before);
        age(&team);
        let bob = team.mailbox("bob");
        let (listing, flags) = bob.list_to_mark().unwrap();
        let unread = listing.messages.into_iter().enumerate().filter(|(_, message)| !message.read);
        let (places, unread): (Vec<_>, Vec<_>) = unread.unzip();
        let flags = flags.expect("the file is old enough").of(&places);
        assert_eq!(bob.mark_listed(&unread, Some(&flags)).unwrap().marked, unread.len());
        assert_eq!(text(&team), before.replace("\"read\": false", "\"read\": true"), "{}", inbox.display());
    }
}

#[test]
fn places_of_another_version_of_the_file_are_not_used() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    age(&team);
    let (listing, flags) = bob.list_to_mark().unwrap();
    let flags = flags.unwrap();
    // The same number of bytes, and the flags stand elsewhere.
    let turned = text(&team).replacen("\"m0\"", "\"\"", 1).replacen("\"m2\"", "\"m2m0\"", 1);
    assert_eq!(turned.len(), text(&team).len());
    team.write_inbox("bob", &turned);
    age(&team);
    assert_eq!(bob.mark_listed(&listing.messages, Some(&flags)).unwrap().marked, 1);
    assert_eq!(unread(&bob), ["", "m2m0"], "only what was listed is marked");
}

#[test]
fn a_message_without_a_plain_flag_is_marked_all_the_same() {
    let team = array_team();
    let plain = entry("plain");
    let without = entry("without").replace(",\"read\":false", "");
    assert_ne!(without, entry("without"));
    team.write_inbox("bob", format!("[{plain},{without}]"));
    age(&team);
    let bob = team.mailbox("bob");
    let (listing, flags) = bob.list_to_mark().unwrap();
    assert_eq!(bob.mark_listed(&listing.messages, flags.as_ref()).unwrap().marked, 2);
    assert_eq!(unread(&bob), [""; 0]);
}

#[test]
fn of_a_file_that_is_too_young_no_places_are_given() {
    let team = array_team();
    let ahead = SystemTime::now() + Duration::from_secs(60);
    team.write_inbox("bob", format!("[{}]", entry("one")));
    fs::File::options().write(true).open(team.inbox("bob")).unwrap().set_modified(ahead).unwrap();
    let bob = team.mailbox("bob");
    let (listing, flags) = bob.list_to_mark().unwrap();
    assert!(flags.is_none());
    assert_eq!(bob.mark_listed(&listing.messages, None).unwrap().marked, 1);
}
