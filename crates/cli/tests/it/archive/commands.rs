//! What is said, and what happens.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::json;

use crate::scene::{World, set_modified, texts, tree};

#[test]
fn what_was_read_goes_and_can_be_looked_at() {
    let world = World::with_mail_read("array");
    assert_snapshot!(world.session(
        "
        atm archive
        atm archive --keep 0 --dry-run
        atm archive --keep 0
        atm inbox bob
        atm inbox bob --archived
        atm archive bob alice --keep 0
        atm archive bob --keep 0 -q
        atm inbox alice --archived
        "
    ), @"
    $ atm archive
    nothing to do
    $ atm archive --keep 0 --dry-run
    bob@dev: 2 would be archived
    $ atm archive --keep 0
    bob@dev: 2 archived, 1 stays, 1 of them unread
    $ atm inbox bob
    alice → bob  just now  unread  [ID]
      three
    $ atm inbox bob --archived
    alice → bob  just now  [ID]
      one
    alice → bob  just now  [ID]
      two
    $ atm archive bob alice --keep 0
    nothing to do
    $ atm archive bob --keep 0 -q
    $ atm inbox alice --archived
    no such mail for alice@dev
    ");
}

#[test]
fn force_takes_unread_mail_too() {
    let world = World::with_mail_read("array");
    assert_snapshot!(world.session("atm archive bob --keep 1 --force\natm archive bob --keep 0 --force\natm archive bob --keep 0 --force\natm inbox bob --archived --unread"), @"
    $ atm archive bob --keep 1 --force
    bob@dev: 2 archived, 1 stays, 1 of them unread
    $ atm archive bob --keep 0 --force
    bob@dev: 1 archived, 0 stay
    $ atm archive bob --keep 0 --force
    nothing to do
    $ atm inbox bob --archived --unread
    alice → bob  just now  unread  [ID]
      three
    ");
}

#[test]
fn one_of_the_two_measures_is_enough_and_both_count_together() {
    for (args, goes) in [
        (&["--older-than", "1h"][..], 0),
        (&["--older-than", "0s"], 2),
        (&["--keep", "2"], 1),
        (&["--keep", "2", "--older-than", "0s"], 1),
        (&["--keep", "0", "--older-than", "1h"], 0),
    ] {
        let world = World::with_mail_read("array");
        let done = world.json(&[&["archive", "bob"][..], args].concat());
        assert_eq!(done[0]["archived"], goes, "{args:?}");
    }
    let old = r#"[{"from": "a", "text": "x", "timestamp": "2024-06-01T00:00:00Z", "read": true}]"#;
    let world = World::with_mail_read("array");
    fs::write(world.root().join("teams/dev/inboxes/bob.json"), old).unwrap();
    assert_eq!(world.json(&["archive", "bob", "--older-than", "9999d"])[0]["archived"], 0);
    assert_eq!(world.json(&["archive", "bob", "--older-than", "400d"])[0]["archived"], 1);
    let world = World::with_mail_read("array");
    world.setting("[archive]\nkeep = 1\nolder_than = \"0s\"\n");
    assert_eq!(world.json(&["archive", "bob"])[0]["archived"], 2, "the settings count");
}

#[test]
fn the_document_has_these_keys() {
    let world = World::with_mail_read("array");
    let done = world.json(&["archive", "bob", "--keep", "0"]);
    let archive = world.state().join("archive/dev/bob.jsonl");
    let told = json!([{
        "team": "dev", "name": "bob", "archived": 2, "left": 1, "unread": 1, "rotated": [], "packed": 0, "swept": 0,
        "archive": archive, "warnings": [], "error": null
    }]);
    assert_eq!(done, told);
    let line: serde_json::Value =
        serde_json::from_str(fs::read_to_string(archive).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["from"], &line["text"], &line["archived"]["to"]),
        (&"alice".into(), &"one".into(), &"bob".into())
    );
}

#[test]
fn every_filter_works_on_the_archive_packed_or_not() {
    let world = World::with_mail_read("array");
    let mail = r#"[
      {"from": "alice", "text": "early", "timestamp": "2026-01-01T06:00:00Z", "read": true},
      {"from": "carol", "text": "{\"type\":\"task_assignment\",\"taskId\":\"7\"}", "timestamp": "2026-01-02T06:00:00Z", "read": true},
      {"from": "alice", "text": "late", "timestamp": "2026-01-03T06:00:00Z", "read": true},
      {"from": "odd", "text": "sometime", "timestamp": "half past ten", "read": true}]"#;
    fs::write(world.root().join("teams/dev/inboxes/bob.json"), mail).unwrap();
    world.ok(&["archive", "bob", "--keep", "0"]);
    let task = "{\"type\":\"task_assignment\",\"taskId\":\"7\"}";
    for _ in 0..2 {
        let cases: [(&[&str], &[&str]); 9] = [
            (&[], &["early", task, "late", "sometime"]),
            (&["--from", "alice"], &["early", "late"]),
            (&["--type", "task_assignment"], &[task]),
            (&["--since", "2026-01-02T06:00:00Z"], &[task, "late"]),
            (&["--until", "2026-01-02T05:00:00Z"], &["early"]),
            (&["--since", "2026-01-01T07:00:00Z", "--until", "2026-01-02T07:00:00Z"], &[task]),
            (&["--last", "2"], &["late", "sometime"]),
            (&["--from", "alice", "--last", "1"], &["late"]),
            (&["--unread"], &[]),
        ];
        for (filter, expected) in cases {
            let found = texts(&world.json(&[&["inbox", "bob", "--archived"], filter].concat()));
            assert_eq!(found, expected, "{filter:?}");
        }
        world.setting("[archive]\nrotate_over = \"0\"\n");
        world.ok(&["clean", "bob"]);
        let packed = tree(&world.state().join("archive/dev"));
        assert!(packed.iter().any(|path| path.to_string_lossy().ends_with(".jsonl.zst")), "{packed:?}");
        assert!(!world.state().join("archive/dev/bob.jsonl").exists());
    }
}

#[test]
fn the_archive_outlives_the_team() {
    let world = World::with_mail_read("log");
    world.ok(&["archive", "bob", "--keep", "0", "--force"]);
    world.ok(&["team", "delete", "dev", "--force"]);
    assert_snapshot!(world.session(
        "
        atm inbox bob@dev --archived -q
        atm -t dev inbox bob --archived --last 1
        atm -t dev inbox nobody --archived
        atm -t dve inbox bob --archived
        atm inbox bob@dev
        "
    ), @r#"
    $ atm inbox bob@dev --archived -q
    alice → bob  just now  [ID]
      one
    alice → bob  just now  unread  [ID]
      three
    $ atm -t dev inbox bob --archived --last 1
    alice → bob  just now  unread  [ID]
      three
    $ atm -t dev inbox nobody --archived
    no such mail for nobody@dev
    $ atm -t dve inbox bob --archived
    2> error: there is no team "dve"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    $ atm inbox bob@dev
    2> error: there is no team "dev"
    2>   hint: `atm team list` shows the teams
    [exit 3]
    "#);
}

#[test]
fn a_large_array_gives_what_was_read_and_a_large_log_gets_another_name() {
    let world = World::with_mail_read("array");
    assert_snapshot!(world.session("atm archive --over 10MB\natm archive --over 1KB\natm archive --over 10\natm archive bob --over 10 --force"), @"
    $ atm archive --over 10MB
    nothing to do
    $ atm archive --over 1KB
    nothing to do
    $ atm archive --over 10
    bob@dev: 2 archived, 1 stays, 1 of them unread
    2> warning: bob@dev: [ROOT]/teams/dev/inboxes/bob.json: is still as large: 1 unread message in it; read first, or use --force
    $ atm archive bob --over 10 --force
    bob@dev: 1 archived, 0 stay
    ");
    let world = World::with_mail_read("log");
    assert_snapshot!(world.session("atm archive --over 1KB\natm archive --over 10"), @"
    $ atm archive --over 1KB
    nothing to do
    $ atm archive --over 10
    nothing to do
    2> warning: bob@dev: [ROOT]/teams/dev/members/bob/inbox: is still as large: 1 unread message in it; read first, or use --force
    ");
    world.ok(&["--as", "bob", "read"]);
    let rotated =
        world.json(&["archive", "bob", "--over", "10"])[0]["rotated"][0].as_str().unwrap().to_owned();
    let (start, time) = rotated.split_at(rotated.len() - 15);
    assert!(start.ends_with("/members/bob/inbox.") && time.as_bytes()[8] == b'-', "{rotated}");
    assert_eq!(world.inbox_texts(), ["one", "two", "three"]);
    world.ok(&["send", "bob", "four"]);
    assert_eq!(texts(&world.json(&["--as", "bob", "read"])), ["four"]);
}

#[test]
fn clean_takes_old_mail_old_archives_and_what_dead_processes_left() {
    let world = World::with_mail_read("log");
    let folder = world.root().join("teams/dev/members/bob");
    let old = |text: &str| {
        format!(
            r#"{{"type":"message","from":"c","to":"bob","timestamp":"2025-01-01T00:00:00Z","content":{{"text":"{text}"}}}}"#
        )
    };
    fs::write(folder.join("inbox.20250101-000000"), format!("{}\n", old("ancient"))).unwrap();
    fs::write(folder.join("inbox-archive"), format!("{}\n{}\n", old("a"), old("b"))).unwrap();
    let left = folder.join(".inbox.atm-0123456789abcdef0123456789abcdef");
    let young = folder.join(".inbox.atm-1123456789abcdef0123456789abcdef");
    fs::write(&left, "x").unwrap();
    fs::write(&young, "x").unwrap();
    set_modified(&left, SystemTime::now() - Duration::from_secs(120));
    assert_eq!(world.archived_texts(), ["a", "b"], "the layout's own archive is read");
    assert_snapshot!(world.session("atm clean --dry-run\natm clean\natm clean\natm clean --older-than 0s"), @"
    $ atm clean --dry-run
    bob@dev: 3 would be archived
    $ atm clean
    bob@dev: 3 archived; 1 temporary file of dead processes removed
    $ atm clean
    nothing to do
    $ atm clean --older-than 0s
    bob@dev: 1 archived
    ");
    assert!(!left.exists() && young.exists() && !folder.join("inbox-archive").exists());
    assert_eq!(world.archived_texts(), ["ancient", "a", "b", "one"]);
    assert_eq!(world.inbox_texts(), ["two", "three"]);
    assert_eq!(texts(&world.json(&["--as", "bob", "read"])), ["three"]);
}

#[test]
fn damage_is_named_and_the_rest_is_shown() {
    let world = World::with_mail_read("array");
    world.ok(&["archive", "bob", "--keep", "0"]);
    let file = world.state().join("archive/dev/bob.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "#", 1)).unwrap();
    assert_snapshot!(world.session("atm inbox bob --archived"), @"
    $ atm inbox bob --archived
    alice → bob  just now  [ID]
      two
    2> warning: [STATE]/archive/dev/bob.jsonl: line at byte 0: is not valid JSON: expected value at line 1 column 1; left out
    ");
    world.setting("[archive]\nrotate_over = \"0\"\n");
    world.ok(&["clean", "bob"]);
    let part = tree(&world.state().join("archive/dev")).remove(0);
    let mut bytes = fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&part, bytes).unwrap();
    let answer = world.atm(&["inbox", "bob", "--archived"]);
    assert_eq!(answer.code, Some(0));
    assert!(
        answer.stderr.contains(&format!("{}: block at byte 0: cannot be read", part.display())),
        "{answer:?}"
    );
}
