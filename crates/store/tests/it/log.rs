//! The log layout: one line a message, and a cursor.

use std::fs;

use atm_store::{StoreError, Warning};
use atm_support::{Foreign, TestTeam, draft, drafts};
use atm_wire::Draft;
use atm_wire::message::{Ours, Priority};
use serde_json::Value;

use crate::scene::{HASTY, line, listed, log_team, receipts, take, unread};

fn urgent(priority: Priority, text: &str) -> Draft {
    Draft { ours: Ours { priority, ..Ours::default() }, ..draft(text) }
}

fn cursor(team: &TestTeam) -> Value {
    let state = team.inbox("bob").with_file_name("state.json");
    serde_json::from_slice(&fs::read(state).unwrap()).unwrap()
}

#[test]
fn each_message_is_one_line_and_what_was_there_stays() {
    let team = log_team();
    let before = format!("{}\n", line("old"));
    team.write_inbox("bob", &before);
    let texts = ["plain", "two\nlines", "\u{2028} and \r\n", r#"{"type":"task_completion","taskId":"7"}"#];
    team.mailbox("bob").append(&texts.map(draft), false).unwrap();
    let after = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    let added = after.strip_prefix(&before).unwrap();
    assert_eq!(added.matches('\n').count(), texts.len());
    for (added, text) in added.lines().zip(texts) {
        let value: Value = serde_json::from_str(added).unwrap();
        for field in ["type", "from", "to", "timestamp"] {
            assert!(value[field].is_string(), "{added}");
        }
        if !text.starts_with('{') {
            assert_eq!(value["content"]["text"], text);
        }
    }
    assert_eq!(listed(&team.mailbox("bob"))[..4], ["old", texts[0], texts[1], texts[2]]);
}

#[test]
fn urgent_mail_is_read_first_and_idle_talk_last() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let batch = [
        urgent(Priority::Low, "low 0"),
        urgent(Priority::Normal, "normal 0"),
        urgent(Priority::High, "high 0"),
        urgent(Priority::Low, "low 1"),
        urgent(Priority::High, "high 1"),
    ];
    bob.append(&batch, false).unwrap();
    for (file, count) in [("inbox-high", 2), ("inbox", 1), ("inbox-low", 2)] {
        let text = fs::read_to_string(team.inbox("bob").with_file_name(file)).unwrap();
        assert_eq!(text.lines().count(), count, "{file}");
    }
    let order = ["high 0", "high 1", "normal 0", "low 0", "low 1"];
    assert_eq!(listed(&bob), order);
    assert_eq!(take(&bob, 2), order[..2]);
    assert_eq!(take(&bob, 2), order[2..4]);
    bob.append(&[urgent(Priority::High, "high 2")], false).unwrap();
    assert_eq!(take(&bob, 9), ["high 2", "low 1"]);
    assert!(unread(&bob).is_empty());
}

#[test]
fn the_cursor_counts_lines_and_keeps_what_others_put_beside_it() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let batch = drafts("m", 3);
    bob.append(&batch, false).unwrap();
    let state = team.inbox("bob").with_file_name("state.json");
    fs::write(&state, "{ \"mine\" : 1E2, \"lastProcessedLine\":0 ,\"x\":[ ] }\n").unwrap();

    assert_eq!(take(&bob, 2), ["m0", "m1"]);
    assert_eq!(cursor(&team)["lastProcessedLine"], 2);
    assert_eq!(cursor(&team)["lastProcessedTimestamp"], batch[1].timestamp.to_string());
    let text = fs::read_to_string(&state).unwrap();
    assert!(text.starts_with("{ \"mine\" : 1E2, \"lastProcessedLine\":2 ,\"x\":[ ]"), "{text}");
    assert_eq!(take(&bob, 2), ["m2"]);
}

#[test]
fn marking_stops_before_the_first_line_that_was_not_handed_out() {
    // A number of lines cannot say "all but that one"; what is in doubt is shown again.
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    assert_eq!(bob.mark_read(&receipts(&bob, &["m0", "m2"])).unwrap().marked, 1);
    assert_eq!(unread(&bob), ["m1", "m2"]);
}

#[test]
fn an_unreadable_cursor_shows_the_mail_again() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 2), false).unwrap();
    take(&bob, 2);
    for broken in ["", "{", "[]", "null"] {
        fs::write(team.inbox("bob").with_file_name("state.json"), broken).unwrap();
        assert_eq!(take(&bob, 9), ["m0", "m1"], "{broken:?}");
        assert!(unread(&bob).is_empty(), "{broken:?}");
    }
}

#[test]
fn a_line_is_never_glued_to_a_torn_one() {
    let team = log_team();
    let torn = format!("{}\n{}", line("whole"), &line("torn")[..30]);
    team.write_inbox("bob", &torn);
    let bob = team.mailbox("bob");
    assert_eq!(listed(&bob), ["whole"]);
    bob.append(&[draft("new")], false).unwrap();
    let after = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    assert!(after.starts_with(&format!("{torn}\n{{")), "{after}");
    let listing = bob.list().unwrap();
    assert_eq!(listed(&bob), ["whole", "new"]);
    assert!(matches!(listing.warnings.as_slice(), [Warning::SkippedEntry { position: 2, .. }]));
}

#[test]
fn a_last_line_that_only_lacks_its_newline_becomes_a_message() {
    let team = log_team();
    team.write_inbox("bob", line("slow"));
    let bob = team.mailbox("bob");
    assert!(listed(&bob).is_empty(), "it may still grow");
    bob.append(&[draft("new")], false).unwrap();
    assert_eq!(take(&bob, 9), ["slow", "new"]);
}

#[test]
fn malformed_lines_are_skipped_said_and_kept() {
    let team = log_team();
    let before = format!("{}\nnot json\n\nnull\n{{\"from\":\"a\"}}\n{}\n", line("one"), line("two"));
    team.write_inbox("bob", &before);
    let bob = team.mailbox("bob");
    let listing = bob.list().unwrap();
    let positions: Vec<_> = listing
        .warnings
        .iter()
        .map(|warning| match warning {
            Warning::SkippedEntry { position, .. } => *position,
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(positions, [2, 4, 5]);
    assert_eq!(take(&bob, 9), ["one", "two"]);
    assert_eq!(cursor(&team)["lastProcessedLine"], 6);
    assert_eq!(team.inbox_bytes("bob"), before.as_bytes());
}

#[test]
fn lines_that_are_not_utf8_do_not_hide_the_others() {
    let team = log_team();
    let mut bytes = format!("{}\n{}\n", line("b?d"), line("good")).into_bytes();
    let odd = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[odd] = 0xff;
    team.write_inbox("bob", &bytes);
    let bob = team.mailbox("bob");
    bob.append(&[draft("new")], false).unwrap();
    assert_eq!(take(&bob, 9), ["b\u{fffd}d", "good", "new"]);
    assert!(team.inbox_bytes("bob").starts_with(&bytes));
}

#[test]
fn an_id_that_is_there_already_is_not_written_again() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let batch = drafts("m", 3);
    // Where a line is not UTF-8, the ids in the others still count.
    team.write_inbox("bob", b"\xff\n");
    bob.append(&batch[..2], false).unwrap();
    let mut known = bob.append(&batch, false).unwrap().known;
    known.sort();
    assert_eq!(known, [batch[0].id.as_str(), batch[1].id.as_str()]);
    assert_eq!(listed(&bob), ["m0", "m1", "m2"]);
    assert_eq!(bob.append(&batch, false).unwrap().known.len(), 3);
    assert_eq!(listed(&bob), ["m0", "m1", "m2"]);
}

#[test]
fn a_held_flock_is_busy_and_nothing_is_written() {
    let team = log_team();
    let lock = team.inbox("bob").with_file_name("inbox.lock");
    let mut holder = Foreign::flock_holder(&lock).start();
    holder.wait_for_lines(1);
    let error = team.mailbox_with("bob", HASTY).append(&[draft("new")], false).unwrap_err();
    assert!(matches!(&error, StoreError::Busy { lock: named, .. } if *named == lock), "{error}");
    assert!(team.inbox_bytes("bob").is_empty());
    holder.finish();
    team.mailbox("bob").append(&[draft("new")], false).unwrap();
    assert_eq!(team.texts("bob"), ["new"]);
}

#[test]
fn a_new_member_gets_a_folder_and_a_deleted_team_does_not_come_back() {
    let team = log_team();
    let carol = team.mailbox("carol");
    carol.append(&[draft("hi")], false).unwrap();
    assert_eq!(team.texts("carol"), ["hi"]);
    fs::remove_dir_all(team.folder()).unwrap();
    assert!(matches!(carol.append(&[draft("late")], false), Err(StoreError::Io { .. })));
    assert!(!team.folder().exists());
}

#[test]
fn looking_makes_nothing() {
    let team = log_team();
    assert!(listed(&team.mailbox("carol")).is_empty());
    assert!(listed(&team.mailbox("bob")).is_empty());
    assert!(!team.inbox("carol").exists() && !team.env().state().exists());
    assert_eq!(fs::read_dir(team.inbox("bob").parent().unwrap()).unwrap().count(), 1);
}
