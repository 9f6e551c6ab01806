//! Adding to an array inbox: what was there stays, byte for byte.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::thread;

use atm_store::StoreError;
use atm_support::{TestTeam, client_inboxes, draft, drafts, wait_until};

use crate::scene::{array_team, entry};

/// What an append put into the file, which must be all that it did: the old bytes stand around it.
fn added(team: &TestTeam, before: &str) -> String {
    team.mailbox("bob").append(&[draft("new")], false).unwrap();
    let after = String::from_utf8(team.inbox_bytes("bob")).unwrap();
    let last_entry_ends = before.trim_end().strip_suffix(']').unwrap().trim_end().len();
    let (kept, rest) = before.split_at(last_entry_ends);
    let added = after.strip_prefix(kept).and_then(|tail| tail.strip_suffix(rest));
    added.unwrap_or_else(|| panic!("more than an entry changed:\n{before}\nbecame\n{after}")).to_owned()
}

/// The inbox with its one entry repeated until it is more than two megabytes.
fn enlarged(inbox: &str, beginning: &str) -> String {
    let (start, end) = (inbox.find('{').unwrap(), inbox.rfind('}').unwrap() + 1);
    let entry = &inbox[start..end];
    let separator = beginning.split('{').next().unwrap();
    let entries = vec![entry; (2 << 20) / entry.len() + 1].join(separator);
    format!("{}{entries}{}", &inbox[..start], &inbox[end..])
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn inboxes_of_real_clients_keep_every_byte_and_their_layout() {
    for inbox in client_inboxes() {
        let team = array_team();
        let before = fs::read_to_string(&inbox).unwrap();
        team.write_inbox("bob", &before);
        let count = team.entries("bob").len();
        let added = added(&team, &before);
        assert!(added.starts_with(",\n  {\n    \"from\": \"team-lead\",\n"), "{}: {added}", inbox.display());
        assert!(added.ends_with("    \"read\": false\n  }"), "{}: {added}", inbox.display());
        assert_eq!(team.entries("bob").len(), count + 1);
    }
}

#[test]
fn every_style_is_followed_and_its_bytes_are_kept() {
    // Each has what a parser and printer would change: number spelling, escapes, duplicate keys, odd spaces.
    let odd = r#""n":1E2,"big":12345678901234567890.10,"e":"\u00e9\/","twice":1,"twice":2"#;
    let compact = entry("old").replace('}', &format!(",{odd}}}"));
    let cases = [
        (format!("[{compact}]"), r#",{"from":"team-lead","text":"new","#),
        (format!("[{compact}]\n"), r#",{"from":"team-lead","text":"new","#),
        (format!("  [ {compact} ] "), r#",{"from":"team-lead","text":"new","#),
        (
            r#"[{"from": "a", "text": "old", "timestamp": "2026-01-01T00:00:00Z", "read": false}]"#.to_owned(),
            r#", {"from": "team-lead", "text": "new", "#,
        ),
        (format!("[\n{compact}\n]\n"), ",\n{\"from\":\"team-lead\","),
        (
            "[\n\t{\n\t\t\"from\": \"a\",\n\t\t\"text\": \"old\",\n\t\t\"timestamp\": \"2026-01-01T00:00:00Z\"\n\t}\n]\n"
                .to_owned(),
            ",\n\t{\n\t\t\"from\": \"team-lead\",\n",
        ),
        (
            "[\r\n  {\r\n    \"from\": \"a\",\r\n    \"text\": \"old\",\r\n    \"timestamp\": \"2026-01-01T00:00:00Z\"\r\n  }\r\n]\r\n"
                .to_owned(),
            ",\r\n  {\r\n    \"from\": \"team-lead\",\r\n",
        ),
        (
            "[\n    {\n        \"from\": \"a\",\n        \"text\": \"old\",\n        \"timestamp\": \"2026-01-01T00:00:00Z\"\n    }\n]"
                .to_owned(),
            ",\n    {\n        \"from\": \"team-lead\",\n",
        ),
    ];
    for (before, beginning) in cases {
        let team = array_team();
        team.write_inbox("bob", &before);
        let added = added(&team, &before);
        assert!(added.starts_with(beginning), "{before}\ngot\n{added}");
        assert_eq!(team.texts("bob"), ["old", "new"]);

        // Large files take another way.
        let large = enlarged(&before, beginning);
        team.write_inbox("bob", &large);
        let added_to_large = self::added(&team, &large);
        assert!(added_to_large.starts_with(beginning), "{before}\ngot\n{added_to_large}");
        assert_eq!(team.texts("bob").last().unwrap(), "new");
    }
}

#[test]
fn a_drained_inbox_looks_as_if_a_client_had_filled_it() {
    for drained in ["[]", "[ ]\n", "[\n]"] {
        let team = array_team();
        team.write_inbox("bob", drained);
        team.mailbox("bob").append(&drafts("m", 2), false).unwrap();
        let text = String::from_utf8(team.inbox_bytes("bob")).unwrap();
        assert!(text.starts_with("[\n  {\n    \"from\": \"team-lead\",\n"), "{text}");
        assert!(text.trim_end().ends_with("\n  }\n]"), "{text}");
        assert_eq!(team.texts("bob"), ["m0", "m1"]);
    }
}

#[test]
fn an_entry_has_all_that_new_clients_demand_before_they_show_it() {
    let team = array_team();
    team.mailbox("bob").append(&[draft("hi")], false).unwrap();
    let entry = &team.entries("bob")[0];
    for field in ["from", "text", "timestamp"] {
        assert!(entry[field].is_string(), "{entry}");
    }
    assert_eq!(entry["read"], false);
}

#[test]
fn an_id_that_is_there_already_is_not_written_again() {
    // A sender that does not know whether its first try came through tries again.
    let team = array_team();
    let bob = team.mailbox("bob");
    // Few and many take different ways through the file.
    for count in [3, 20] {
        let batch = drafts("m", count);
        bob.append(&batch[..count - 1], false).unwrap();
        let again = bob.append(&batch, false).unwrap();
        assert_eq!(again.known, batch[..count - 1].iter().map(|draft| draft.id.clone()).collect::<Vec<_>>());

        let before = (team.inbox_bytes("bob"), fs::metadata(team.inbox("bob")).unwrap().ino());
        let third = bob.append(&batch, false).unwrap();
        assert_eq!(third.known.len(), count);
        assert_eq!(before, (team.inbox_bytes("bob"), fs::metadata(team.inbox("bob")).unwrap().ino()));
    }
    assert_eq!(team.entries("bob").len(), 3 + 20);
}

#[test]
fn an_id_that_is_in_a_large_inbox_already_is_not_written_again() {
    let team = array_team();
    let bob = team.mailbox("bob");
    let batch = drafts(&"long ".repeat(100), 2_000);
    bob.append(&batch, false).unwrap();
    let before = team.inbox_bytes("bob");
    assert!(before.len() > 2 << 20);
    for draft in [&batch[0], &batch[999], &batch[1_999]] {
        assert_eq!(bob.append(std::slice::from_ref(draft), false).unwrap().known, [draft.id.as_str()]);
    }
    assert_eq!(team.inbox_bytes("bob"), before);
}

#[test]
fn the_id_of_a_new_client_counts_as_an_id() {
    let team = array_team();
    let sent = draft("m");
    team.write_inbox(
        "bob",
        format!("[{}]", entry("m").replace("\"read\"", &format!("\"msg_id\":\"{}\",\"read\"", sent.id))),
    );
    assert_eq!(team.mailbox("bob").append(std::slice::from_ref(&sent), false).unwrap().known, [sent.id]);
    assert_eq!(team.entries("bob").len(), 1);
}

#[test]
fn an_id_that_somebody_only_mentions_is_no_id() {
    let team = array_team();
    let sent = draft("m");
    team.write_inbox("bob", format!("[{}]", entry(&format!("have you seen {}?", sent.id))));
    assert!(team.mailbox("bob").append(&[sent], false).unwrap().known.is_empty());
    assert_eq!(team.entries("bob").len(), 2);
}

#[test]
fn a_link_stays_a_link_and_the_file_behind_it_is_replaced() {
    let team = array_team();
    let elsewhere = team.env().home().join("mail");
    fs::create_dir(&elsewhere).unwrap();
    let real = elsewhere.join("bob.json");
    symlink("../../../../home/mail/bob.json", team.inbox("bob")).unwrap();
    let bob = team.mailbox("bob");
    // First a link whose file is yet to be made, then one whose file is there.
    for expected in [vec!["m0"], vec!["m0", "m1"]] {
        let text = expected.last().unwrap();
        bob.append(&[draft(text)], false).unwrap();
        assert!(team.inbox("bob").is_symlink() && !real.is_symlink());
        assert_eq!(team.texts("bob"), expected);
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "no temp file is left beside it");
}

#[test]
fn what_a_link_leads_to_and_is_no_inbox_stays_as_it_is() {
    let team = array_team();
    let precious = team.env().home().join(".profile");
    fs::write(&precious, "export PATH=/bin").unwrap();
    symlink(&precious, team.inbox("bob")).unwrap();
    let error = team.mailbox("bob").append(&[draft("m")], false).unwrap_err();
    assert!(matches!(error, StoreError::BadContent { .. }), "{error}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "export PATH=/bin");
}

#[test]
fn modes_are_kept_and_new_files_are_private() {
    let team = array_team();
    fs::remove_dir(team.folder().join("inboxes")).unwrap();
    let bob = team.mailbox("bob");
    bob.append(&[draft("m")], false).unwrap();
    assert_eq!(mode(&team.folder().join("inboxes")), 0o700);
    assert_eq!(mode(&team.inbox("bob")), 0o600);
    for wanted in [0o644, 0o640, 0o444] {
        fs::set_permissions(team.inbox("bob"), Permissions::from_mode(wanted)).unwrap();
        bob.append(&[draft("m")], false).unwrap();
        assert_eq!(mode(&team.inbox("bob")), wanted);
    }
}

#[test]
fn a_deleted_team_is_not_brought_back_to_life() {
    // Clients delete a team's folder when they end; a late message must fail and not make a phantom.
    let team = array_team();
    let bob = team.mailbox("bob");
    fs::remove_dir_all(team.folder()).unwrap();
    assert!(matches!(bob.append(&[draft("late")], false), Err(StoreError::Io { .. })));
    assert!(matches!(bob.create(), Err(StoreError::Io { .. })));
    assert!(!team.folder().exists());
}

#[test]
fn a_name_with_odd_characters_has_the_file_that_clients_look_into() {
    let team = array_team();
    for (name, file) in [("Léa.B 🦀", "L-a-B---.json"), ("x_y-Z9", "x_y-Z9.json"), ("a:b*c", "a-b-c.json")]
    {
        team.mailbox(name).append(&[draft("hi")], false).unwrap();
        assert!(team.folder().join("inboxes").join(file).is_file(), "{name}");
    }
}

#[test]
fn creating_makes_an_empty_inbox_once() {
    let team = array_team();
    let bob = team.mailbox("bob");
    bob.create().unwrap();
    assert_eq!(team.inbox_bytes("bob"), b"[]");
    bob.append(&[draft("m")], false).unwrap();
    bob.create().unwrap();
    assert_eq!(team.texts("bob"), ["m"]);
}

#[test]
fn something_that_is_no_file_is_reported_and_not_waited_for() {
    // Opening a pipe to read it waits for a writer, which may never come.
    let team = array_team();
    let made = std::process::Command::new("mkfifo").arg(team.inbox("bob")).status().unwrap();
    assert!(made.success());
    let (bob, carol) = (team.mailbox("bob"), team.mailbox("carol"));
    fs::create_dir(team.inbox("carol")).unwrap();
    let asked = thread::spawn(move || {
        for mailbox in [bob, carol] {
            assert!(matches!(mailbox.list(), Err(StoreError::BadContent { .. })));
            assert!(matches!(mailbox.append(&[draft("m")], false), Err(StoreError::BadContent { .. })));
        }
    });
    wait_until("the store has looked at a pipe", || asked.is_finished());
    asked.join().unwrap();
    assert!(team.litter("bob").is_empty());
}
