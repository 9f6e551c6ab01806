//! Dying between any two steps of a conversion: the team works, all mail is there once, and the next run finishes.

use std::fs;

use atm_store::{Layout, points};

use super::{mail, other, stages, team_with_mail};
use crate::scene::{World, foreign_team, texts, tree};

fn dies_at(world: &World, to: &str, point: &str) {
    let command = ["team", "convert", "dev", "--to", to];
    let ended = world.command(&command).env("ATM_TEST_DIE_AT", point).output().unwrap();
    assert!(ended.status.code().is_none(), "{to}: it got past {point}: {ended:?}");
}

/// What nobody but a conversion leaves in the tree.
fn litter(world: &World) -> Vec<std::path::PathBuf> {
    let is_litter = |name: &str| name.contains(".atm-") || name.ends_with(".json.lock");
    let all = tree(&world.root().join("teams")).into_iter();
    all.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_litter)).collect()
}

fn assert_it_is_finished(from: &str, point: &str) {
    let to = other(from);
    let (world, ids) = team_with_mail(from);
    let before = mail(&world, "bob");
    let known: Vec<_> = ids.iter().map(|id| stages(&world, id)).collect();
    dies_at(&world, to, point);
    assert_eq!(mail(&world, "bob"), before, "{from} {point}");
    // Somebody looks, and is not misled.
    world.ok(&["log"]);
    assert_eq!(mail(&world, "bob"), before, "{from} {point}");
    // The team goes on as it is: mail comes, is read, and comes again by a shell that knows the log.
    world.ok(&["--as", "alice", "send", "bob", "four"]);
    world.ok(&["--as", "bob", "read", "--limit", "1"]);
    let log = world.root().join("teams/dev/members/bob/inbox");
    let mut count = before.len() + 1;
    if log.is_file() {
        let line = r#"{"type":"message","from":"sh","to":"bob","timestamp":"2026-11-17T00:00:00Z","content":{"text":"by hand"}}"#;
        let text = fs::read_to_string(&log).unwrap() + line + "\n";
        fs::write(&log, text).unwrap();
        count += 1;
    }
    let before = mail(&world, "bob");
    assert_eq!(before.len(), count, "{from} {point}: {before:?}");
    world.ok(&["team", "convert", "dev", "--to", to]);
    assert_eq!(mail(&world, "bob"), before, "{from} {point}");
    assert_eq!(world.json(&["team", "show"])["layout"], to);
    assert_eq!(litter(&world), [""; 0].map(std::path::PathBuf::from), "{from} {point}");
    for (id, known) in ids.iter().zip(known) {
        let now = stages(&world, id);
        let (now, known) = (now.as_array().unwrap(), known.as_array().unwrap());
        assert_eq!(&now[..known.len()], known, "{from} {point}: what was known is known");
        for stage in &now[known.len()..] {
            // Of the four, one was read since.
            assert!(stage["stage"] == "taken" || stage["stage"] == "seen", "{from} {point}: {now:?}");
        }
        let likely = now.iter().any(|stage| stage["evidence"]["what"].as_str().unwrap().contains("client"));
        assert!(!likely, "{from} {point}: nobody's client took it: {now:?}");
    }
    let mut unread = before.iter().filter(|(_, _, read)| !read).count();
    while unread > 0 {
        assert_eq!(world.json(&["--as", "bob", "read", "--limit", "1"]).as_array().unwrap().len(), 1);
        unread -= 1;
    }
    assert_eq!(world.json(&["--as", "bob", "read"]).as_array().unwrap().len(), 0, "{from} {point}");
}

#[test]
fn an_array_becomes_a_log_wherever_it_died() {
    // Of alice, who has no mail, and of bob.
    for point in points::TO_LOG {
        for turn in [1, 2] {
            assert_it_is_finished("array", &format!("{point}:{turn}"));
        }
    }
    assert_it_is_finished("array", "convert_left");
}

#[test]
fn a_log_becomes_an_array_wherever_it_died() {
    for point in points::TO_ARRAY {
        for turn in [1, 2] {
            assert_it_is_finished("log", &format!("{point}:{turn}"));
        }
    }
    assert_it_is_finished("log", "convert_left");
}

#[test]
fn a_log_becomes_an_array_if_it_died_in_the_commit() {
    // Alice's array is the first that is put in place, bob's the second; cursors are put in place after each.
    for point in ["staged", "locked", "noted", "renamed", "released", "recorded"] {
        for turn in 1..5 {
            assert_it_is_finished("log", &format!("{point}:{turn}"));
        }
    }
}

#[test]
fn a_mark_of_a_log_that_never_came_counts_for_nothing() {
    let (world, team) = foreign_team(Layout::Array);
    let (from, time, text) = ("shell", "2026-11-15T10:00:00Z", "in both");
    team.write_inbox(
        "bob",
        format!(r#"[{{"from":"{from}","text":"{text}","timestamp":"{time}","read":true}}]"#),
    );
    let folder = world.root().join("teams/dev/members/bob");
    fs::create_dir_all(&folder).unwrap();
    let line = format!(
        r#"{{"type":"message","from":"{from}","to":"bob","timestamp":"{time}","content":{{"text":"{text}"}}}}"#
    );
    fs::write(folder.join("inbox"), format!("{line}\n")).unwrap();
    fs::write(folder.join(".atm-converting"), r#"{"in_array":[{"inode":1,"bytes":999}]}"#).unwrap();
    assert_eq!(texts(&world.json(&["inbox", "bob"])), [text]);
    world.ok(&["team", "convert", "dev", "--to", "array"]);
    assert_eq!(texts(&world.json(&["inbox", "bob"])), [text]);
    assert!(!folder.join("inbox").exists() && !folder.join(".atm-converting").exists());
}
