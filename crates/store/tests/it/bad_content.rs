//! Entries that are no messages, and files that are no inboxes: nothing of them is lost.

use std::fs;

use atm_store::{StoreError, Warning};
use atm_support::{TestTeam, draft};
use atm_wire::message::Flaw;

use crate::scene::{array_team, entry, listed, receipts};

/// An array with everything in it that is no message, and one that is.
fn mixed_array() -> String {
    format!(
        "[\n  null, \"junk\", 42, [],\n  {{\"from\":\"a\"}},\n  {{\"from\":1,\"text\":\"t\",\"timestamp\":\"x\"}},\n  {}\n]",
        entry("whole")
    )
}

/// A file that is no inbox: its bytes, what it is called, and the messages that can be read in it.
struct BrokenFile {
    bytes: Vec<u8>,
    slug: &'static str,
    readable: &'static [&'static str],
}

fn broken_files() -> Vec<BrokenFile> {
    let (one, two) = (entry("one"), entry("two"));
    let file = |bytes: Vec<u8>, slug, readable| BrokenFile { bytes, slug, readable };
    let mut not_utf8 = format!("[{one},{}]", entry("tw?")).into_bytes();
    let odd = not_utf8.iter().position(|byte| *byte == b'?').unwrap();
    not_utf8[odd] = 0xff;
    vec![
        file(Vec::new(), "empty", &[]),
        file(b" \n".to_vec(), "empty", &[]),
        file(format!("[\n  {one},\n  {}", &two[..40]).into(), "truncated", &["one"]),
        file(format!("[\n  {one},\n  {two}").into(), "truncated", &["one", "two"]),
        file(format!("\u{feff}[{one},{two}]").into(), "byte-order-mark", &["one", "two"]),
        file(format!(r#"{{"messages":[{one},{two}]}}"#).into(), "not-an-array", &["one", "two"]),
        file(one.clone().into(), "not-an-array", &["one"]),
        file(format!("\"{}\"", "text").into(), "not-an-array", &[]),
        file(format!("{one}\n{two}\n").into(), "json-lines", &["one", "two"]),
        file(format!("{one}\n{two}\n{}", &one[..20]).into(), "json-lines", &["one", "two"]),
        file(format!("[{one} {two}]").into(), "bad-json", &["one", "two"]),
        file(format!("[{one}]\n<<<<<<< {two}").into(), "bad-json", &["one", "two"]),
        file(not_utf8, "not-utf8", &["one", "tw\u{fffd}"]),
    ]
}

fn team_with(file: &BrokenFile) -> TestTeam {
    let team = array_team();
    team.write_inbox("bob", &file.bytes);
    team
}

#[test]
fn entries_that_are_no_messages_are_skipped_and_said() {
    let team = array_team();
    team.write_inbox("bob", mixed_array());
    let listing = team.mailbox("bob").list().unwrap();
    assert_eq!(listing.messages.len(), 1);
    let skipped: Vec<_> = listing
        .warnings
        .iter()
        .map(|warning| match warning {
            Warning::SkippedEntry { position, flaw, .. } => (*position, flaw.clone()),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(
        skipped,
        [
            (1, Flaw::NotAnObject("null")),
            (2, Flaw::NotAnObject("a string")),
            (3, Flaw::NotAnObject("a number")),
            (4, Flaw::NotAnObject("an array")),
            (5, Flaw::Missing("text")),
            (6, Flaw::WrongType { field: "from", wanted: "a string" }),
        ]
    );
}

#[test]
fn entries_that_are_no_messages_keep_their_bytes() {
    let team = array_team();
    let before = mixed_array();
    team.write_inbox("bob", &before);
    let bob = team.mailbox("bob");

    bob.mark_read(&receipts(&bob, &["whole"])).unwrap();
    let marked = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    assert_eq!(marked, before.replace("\"read\":false", "\"read\":true"));

    let appended = bob.append(&[draft("new")], false).unwrap();
    assert!(appended.warnings.is_empty(), "{:?}", appended.warnings);
    let grown = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    assert!(grown.starts_with(marked.strip_suffix("\n]").unwrap()), "{grown}");
    assert_eq!(listed(&bob), ["whole", "new"]);
}

#[test]
fn a_broken_file_is_set_aside_and_its_messages_are_carried_over() {
    // The next native send would overwrite such a file, and with it all the mail in it.
    for file in broken_files() {
        let team = team_with(&file);
        let appended = team.mailbox("bob").append(&[draft("new")], false).unwrap();

        let expected: Vec<&str> = file.readable.iter().copied().chain(["new"]).collect();
        assert_eq!(team.texts("bob"), expected, "{}", file.slug);
        let [Warning::SetAside { kept, salvaged, .. }] = appended.warnings.as_slice() else {
            panic!("{}: {:?}", file.slug, appended.warnings);
        };
        assert_eq!(*salvaged, file.readable.len(), "{}", file.slug);
        assert_eq!(fs::read(kept).unwrap(), file.bytes, "{}", file.slug);
        assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
    }
}

#[test]
fn what_was_set_aside_says_by_its_name_where_it_is_from_when_and_why() {
    for file in broken_files() {
        let team = team_with(&file);
        team.mailbox("bob").append(&[draft("new")], false).unwrap();
        let [(name, _)] = team.env().set_aside().try_into().unwrap();
        let time = name
            .strip_prefix("demo_inboxes_bob.json.")
            .and_then(|rest| rest.strip_suffix(&format!(".{}", file.slug)))
            .unwrap_or_else(|| panic!("{name} for {}", file.slug));
        // 20261115-184229-139
        assert!(time.len() == 19 && time.bytes().all(|b| b.is_ascii_digit() || b == b'-'), "{name}");
    }
}

#[test]
fn a_large_broken_file_is_set_aside_too() {
    let team = array_team();
    let entries = vec![entry(&"long ".repeat(100)); 5_000];
    for broken in [format!("[{}", entries.join(",")), format!("[{}] x", entries.join(","))] {
        assert!(broken.len() > 2 << 20);
        team.write_inbox("bob", &broken);
        let appended = team.mailbox("bob").append(&[draft("new")], false).unwrap();
        assert!(matches!(appended.warnings.as_slice(), [Warning::SetAside { salvaged: 5_000, .. }]));
        assert_eq!(team.texts("bob").len(), 5_001);
    }
    assert!(team.litter("bob").is_empty(), "{:?}", team.litter("bob"));
}

#[test]
fn two_broken_files_of_one_inbox_are_both_kept() {
    let team = array_team();
    let bob = team.mailbox("bob");
    for broken in ["[1", "[2"] {
        team.write_inbox("bob", broken);
        bob.append(&[draft("new")], false).unwrap();
    }
    let kept: Vec<_> = team.env().set_aside().into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(kept, [b"[1", b"[2"]);
}

#[test]
fn a_strict_append_refuses_a_broken_file_and_changes_not_one_byte() {
    for file in broken_files() {
        let team = team_with(&file);
        let error = team.mailbox("bob").append(&[draft("new")], true).unwrap_err();
        assert!(matches!(error, StoreError::BadContent { .. }), "{}: {error}", file.slug);
        assert_eq!(team.inbox_bytes("bob"), file.bytes, "{}", file.slug);
        assert!(team.env().set_aside().is_empty() && team.litter("bob").is_empty(), "{}", file.slug);
    }
}

#[test]
fn a_strict_append_takes_entries_that_are_no_messages() {
    let team = array_team();
    team.write_inbox("bob", "[null]");
    team.mailbox("bob").append(&[draft("new")], true).unwrap();
    assert_eq!(team.texts("bob"), ["new"]);
}

#[test]
fn looking_at_a_broken_file_shows_what_is_readable_and_changes_nothing() {
    for file in broken_files() {
        let team = team_with(&file);
        let listing = team.mailbox("bob").list().unwrap();
        let texts: Vec<_> = listing.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, file.readable, "{}", file.slug);
        assert!(
            matches!(listing.warnings.as_slice(), [Warning::Unparsable { .. }]),
            "{}: {:?}",
            file.slug,
            listing.warnings
        );
        assert_eq!(team.inbox_bytes("bob"), file.bytes, "{}", file.slug);
        let names: Vec<_> = fs::read_dir(team.folder().join("inboxes")).unwrap().collect();
        assert_eq!(names.len(), 1, "not even a lock file is made: {names:?}");
        assert!(!team.env().state().exists());
    }
}

#[test]
fn what_was_shown_of_a_broken_file_can_be_marked_as_read() {
    for file in broken_files() {
        let team = team_with(&file);
        let bob = team.mailbox("bob");
        assert_eq!(crate::scene::take(&bob, usize::MAX), file.readable, "{}", file.slug);
        assert!(crate::scene::unread(&bob).is_empty(), "{}", file.slug);
    }
}

#[test]
fn looking_for_mail_that_is_not_there_finds_none_and_makes_nothing() {
    let team = array_team();
    let listing = team.mailbox("bob").list().unwrap();
    assert!(listing.messages.is_empty() && listing.warnings.is_empty());
    assert!(!team.inbox("bob").exists() && !team.env().state().exists());
}
