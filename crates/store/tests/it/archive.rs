//! Moving mail into the archive: nothing is lost, nothing is there twice, and what comes meanwhile stays.

use std::collections::BTreeSet;
use std::fs;

use atm_store::archive::{ALWAYS, Whence};
use atm_store::{Archive, LockTimes, Mailbox, StoreError};
use atm_support::{Foreign, TestTeam, client_inboxes, draft, drafts};
use atm_wire::{MemberName, Message, Stamp};

use crate::scene::{array_team, entry, line, listed, log_team, sorted, take, unread};

pub(crate) fn archive_of(team: &TestTeam) -> Archive {
    let bob = MemberName::parse("bob").unwrap();
    Archive::new(&team.env().store_state(), team.name(), &bob, LockTimes::default())
}

pub(crate) fn whence(team: &TestTeam) -> Whence {
    Whence {
        root: team.env().root().display().to_string(),
        team: team.name().to_string(),
        to: "bob".into(),
        at: Stamp::from_millis(1_794_768_140_463),
    }
}

/// What was read goes, but for the last `keep`.
pub(crate) fn read_ones(keep: usize) -> impl FnMut(&[Message]) -> BTreeSet<usize> {
    move |messages| {
        let candidates = messages.iter().take(messages.len().saturating_sub(keep)).enumerate();
        candidates.filter(|(_, message)| message.read).map(|(at, _)| at).collect()
    }
}

/// Archives what was read; gives the texts that went.
pub(crate) fn archive(team: &TestTeam, keep: usize) -> Vec<String> {
    let bob = team.mailbox("bob");
    let mut writer = archive_of(team).writer(whence(team)).unwrap();
    let moved = bob.archive(&mut writer, &mut read_ones(keep)).unwrap();
    moved.into_iter().map(|message| message.text).collect()
}

/// The archived entries, oldest first.
pub(crate) fn archived_entries(team: &TestTeam) -> Vec<(String, String)> {
    let view = archive_of(team).view(ALWAYS).unwrap();
    let mut warnings = view.warnings().to_vec();
    let found: Vec<_> = view.blocks().into_iter().flat_map(|block| view.read(block, &mut warnings)).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    found.into_iter().map(|archived| (archived.message.text, archived.entry)).collect()
}

pub(crate) fn archived(team: &TestTeam) -> Vec<String> {
    archived_entries(team).into_iter().map(|(text, _)| text).collect()
}

fn mark(mailbox: &Mailbox, texts: &[&str]) {
    mailbox.mark_read(&crate::scene::receipts(mailbox, texts)).unwrap();
}

#[test]
fn only_what_was_chosen_goes_and_the_rest_stays_as_it_is() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 4), false).unwrap();
    mark(&bob, &["m0", "m2"]);
    let before = team.entries("bob");
    assert_eq!(archive(&team, 0), ["m0", "m2"]);
    assert_eq!(team.entries("bob"), [before[1].clone(), before[3].clone()]);
    assert_eq!(archived(&team), ["m0", "m2"]);
    assert!(archive(&team, 0).is_empty(), "a second run finds nothing to do");
    assert!(team.litter("bob").is_empty());
}

#[test]
fn the_bytes_of_every_real_clients_entry_survive() {
    for path in client_inboxes() {
        let text = fs::read_to_string(&path).unwrap();
        let team = array_team();
        team.write_inbox("bob", &text);
        let raw: Vec<Box<serde_json::value::RawValue>> = serde_json::from_str(&text).unwrap();
        let mut writer = archive_of(&team).writer(whence(&team)).unwrap();
        team.mailbox("bob").archive(&mut writer, &mut |messages| (0..messages.len()).collect()).unwrap();
        let entries: Vec<String> = archived_entries(&team).into_iter().map(|(_, entry)| entry).collect();
        let expected: Vec<String> = raw.iter().map(|raw| raw.get().to_owned()).collect();
        assert_eq!(entries, expected, "{}", path.display());
        assert_eq!(team.inbox_bytes("bob"), b"[]");
    }
}

#[test]
fn odd_keys_numbers_and_layouts_survive_and_no_message_stays_where_it_is() {
    let team = array_team();
    let odd = "{\n\t\"from\": \"a\", \"text\": \"\\ud83d x\",\r\n\t\"timestamp\": \"?\", \"read\": true, \"n\": 1E2, \"n\": 12345678901234567890123, \"z\": {}}";
    team.write_inbox("bob", format!("[null, {odd}, {{\"text\": 7}}]"));
    assert_eq!(archive(&team, 0).len(), 1);
    assert_eq!(archived_entries(&team)[0].1, odd);
    assert_eq!(team.inbox_bytes("bob"), b"[null, {\"text\": 7}]");
}

#[test]
fn an_inbox_that_does_not_parse_is_an_error_and_nothing_happens() {
    let team = array_team();
    team.write_inbox("bob", format!("[{}", entry("torn")));
    let mut writer = archive_of(&team).writer(whence(&team)).unwrap();
    let error = team.mailbox("bob").archive(&mut writer, &mut read_ones(0)).unwrap_err();
    assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
    assert_eq!(team.inbox_bytes("bob"), format!("[{}", entry("torn")).as_bytes());
    assert!(!archive_of(&team).exists() && team.env().set_aside().is_empty());
}

#[test]
fn a_message_that_somebody_put_back_is_not_archived_twice() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 3), false).unwrap();
    take(&bob, 9);
    let before = team.inbox_bytes("bob");
    archive(&team, 0);
    // As `jq … > tmp; mv` does that began to read before.
    team.write_inbox("bob", before);
    assert_eq!(archive(&team, 0).len(), 3);
    assert_eq!((archived(&team), listed(&bob)), (vec!["m0".into(), "m1".into(), "m2".into()], vec![]));
}

#[test]
fn a_torn_last_line_is_mended_by_the_next_run_and_no_message_till_then() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 2), false).unwrap();
    take(&bob, 1);
    archive(&team, 0);
    let file = archive_of(&team).file();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
    assert_eq!(archived(&team), ["m0"]);
    take(&bob, 1);
    archive(&team, 0);
    assert_eq!(archived(&team), ["m0", "m1"]);
    assert!(fs::read(&file).unwrap().starts_with(&whole));
}

#[test]
fn a_log_gives_what_was_read_and_its_cursor_stays_right() {
    let team = log_team();
    let bob = team.mailbox("bob");
    bob.append(&drafts("m", 6), false).unwrap();
    assert_eq!(take(&bob, 4), ["m0", "m1", "m2", "m3"]);
    assert_eq!(archive(&team, 0), ["m0", "m1", "m2"], "the last one read is what the cursor is on");
    assert_eq!(team.texts("bob"), ["m3", "m4", "m5"]);
    assert_eq!(unread(&bob), ["m4", "m5"]);
    // A recipe that counts lines finds the same place.
    let state = team.inbox("bob").with_file_name("state.json");
    let said = Foreign::shell_reader(&team.inbox("bob"), &state).run();
    assert_eq!(said.texts(), ["m4", "m5"]);
    assert!(unread(&bob).is_empty());
    assert_eq!(archive(&team, 1), ["m3", "m4"]);
    bob.append(&[draft("m6")], false).unwrap();
    assert_eq!(take(&bob, 9), ["m6"]);
    assert_eq!(archived(&team), ["m0", "m1", "m2", "m3", "m4"]);
}

#[test]
fn a_place_that_a_recipe_noted_stays_right_too() {
    let team = log_team();
    let lines: String = (0..5).map(|number| line(&format!("m{number}")) + "\n").collect();
    team.write_inbox("bob", format!("{lines}not json\n{}\n", line("m5")));
    let state = team.inbox("bob").with_file_name("state.json");
    fs::write(&state, r#"{"lastProcessedLine": 6, "mine": 1}"#).unwrap();
    let bob = team.mailbox("bob");
    assert_eq!(unread(&bob), ["m5"]);
    assert_eq!(archive(&team, 0), ["m0", "m1", "m2", "m3"]);
    assert_eq!(
        fs::read_to_string(team.inbox("bob")).unwrap(),
        format!("{}\nnot json\n{}\n", line("m4"), line("m5"))
    );
    assert_eq!(unread(&bob), ["m5"]);
    let cursor: serde_json::Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    assert_eq!((&cursor["lastProcessedLine"], &cursor["mine"]), (&2.into(), &1.into()));
    assert_eq!(Foreign::shell_reader(&team.inbox("bob"), &state).run().texts(), ["m5"]);
}

#[test]
fn rotated_logs_are_archived_and_go_when_nothing_stays() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let inbox = team.inbox("bob");
    for round in 0..3 {
        bob.append(&drafts(&format!("r{round} "), 2), false).unwrap();
        if round < 2 {
            fs::rename(&inbox, inbox.with_file_name(format!("inbox.20260101-00000{round}"))).unwrap();
        }
    }
    assert_eq!(take(&bob, 5).len(), 5);
    assert_eq!(archive(&team, 0), ["r0 0", "r0 1", "r1 0", "r1 1"]);
    let names: Vec<_> = fs::read_dir(inbox.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("2026"))
        .collect();
    assert!(names.is_empty(), "{names:?}");
    assert_eq!(unread(&bob), ["r2 1"]);
}

#[test]
fn bytes_that_are_no_text_stay_where_they_are() {
    let team = log_team();
    let odd = [line("odd ").into_bytes(), b"\n".to_vec()].concat();
    let odd: Vec<u8> =
        odd.iter().flat_map(|byte| if *byte == b'd' { vec![b'd', 0xff] } else { vec![*byte] }).collect();
    team.write_inbox(
        "bob",
        [&odd[..], line("fine").as_bytes(), b"\n", line("last").as_bytes(), b"\n"].concat(),
    );
    let bob = team.mailbox("bob");
    fs::write(team.inbox("bob").with_file_name("state.json"), r#"{"lastProcessedLine": 3}"#).unwrap();
    assert_eq!(archive(&team, 0), ["fine"]);
    assert_eq!(team.inbox_bytes("bob"), [&odd[..], line("last").as_bytes(), b"\n"].concat());
    assert!(unread(&bob).is_empty());
}

#[test]
fn a_cursor_that_does_not_parse_says_nothing_of_what_was_read() {
    let team = log_team();
    team.mailbox("bob").append(&drafts("m", 2), false).unwrap();
    let state = team.inbox("bob").with_file_name("state.json");
    fs::write(&state, "{oops").unwrap();
    let mut writer = archive_of(&team).writer(whence(&team)).unwrap();
    let error = team.mailbox("bob").archive(&mut writer, &mut read_ones(0)).unwrap_err();
    assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
    assert_eq!((fs::read(&state).unwrap(), team.texts("bob").len()), (b"{oops".to_vec(), 2));
}

#[test]
fn rotation_keeps_the_place_and_every_line() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let now = Stamp::from_millis(1_794_768_140_463);
    bob.append(&drafts("a", 3), false).unwrap();
    take(&bob, 2);
    let stays = bob.rotate(0, now, false).unwrap().unwrap();
    assert!(stays.files.is_empty());
    assert_eq!(stays.stays, [(team.inbox("bob"), 1)], "one is unread");
    take(&bob, 1);
    assert!(bob.rotate(1 << 20, now, false).unwrap().unwrap().files.is_empty(), "it is not that large");
    for _ in 0..2 {
        let rotated = bob.rotate(0, now, false).unwrap().unwrap();
        assert_eq!(rotated.files.len(), 1);
        assert!(team.inbox_bytes("bob").is_empty());
        bob.append(&drafts("b", 2), false).unwrap();
        assert_eq!(unread(&bob), ["b0", "b1"]);
        let state = team.inbox("bob").with_file_name("state.json");
        assert_eq!(Foreign::shell_reader(&team.inbox("bob"), &state).run().texts(), ["b0", "b1"]);
        assert!(unread(&bob).is_empty());
    }
    bob.append(&drafts("c", 1), false).unwrap();
    assert_eq!(bob.rotate(0, now, true).unwrap().unwrap().files.len(), 1, "by force");
    assert_eq!(unread(&bob), ["c0"]);
    let rotated: BTreeSet<_> = fs::read_dir(team.inbox("bob").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("2026"))
        .collect();
    let expected = ["inbox.20261115-184220", "inbox.20261115-184221", "inbox.20261115-184222"];
    assert_eq!(rotated, expected.map(str::to_owned).into());
    assert_eq!(archive(&team, 0).len(), 6);
    assert_eq!(sorted(listed(&bob)), ["b1", "c0"]);
}

#[test]
fn the_layouts_own_archive_is_read_and_moved_into_ours() {
    let team = log_team();
    let bob = team.mailbox("bob");
    let old = team.inbox("bob").with_file_name("inbox-archive");
    fs::write(&old, format!("{}\nnot json\n{}\n", line("old 0"), line("old 1"))).unwrap();
    let listing = bob.old_archive().unwrap();
    assert_eq!((listing.messages.len(), listing.warnings.len()), (2, 1));
    let mut writer = archive_of(&team).writer(whence(&team)).unwrap();
    assert_eq!(bob.absorb_old_archive(&mut writer).unwrap().len(), 2);
    assert_eq!(fs::read_to_string(&old).unwrap(), "not json\n");
    fs::write(&old, line("old 2") + "\n").unwrap();
    assert_eq!(bob.absorb_old_archive(&mut writer).unwrap().len(), 1);
    assert!(!old.exists(), "nothing stayed in it");
    assert_eq!(archived(&team), ["old 0", "old 1", "old 2"]);
}
