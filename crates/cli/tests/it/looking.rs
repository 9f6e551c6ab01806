//! Looking changes nothing: not a byte, not a time, not a file, neither in the shared tree nor in our state.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_store::Layout;
use atm_support::{TestTeam, client_fixtures};

use crate::scene::{World, foreign_team, tree};

/// Everything that can be told of a file from outside, but for when it was last read.
#[derive(Debug, PartialEq)]
struct Trace {
    path: PathBuf,
    inode: u64,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
    content: Option<String>,
}

fn traces(world: &World) -> Vec<Trace> {
    let folder = world.root().parent().unwrap().to_owned();
    // Who opens the ledger to read makes the files beside it that its readers coordinate by.
    let coordinates = |path: &Path| {
        *path == world.state()
            // What was in the inboxes, so that they need not be read again: it may be deleted, too.
            || (path.starts_with(world.state().join("mail")) && world.state().join("log.db").exists())
            || path.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                // Readers create or complete the index, which may be deleted.
                name.starts_with("log.db-") || name.starts_with("index.db")
            })
    };
    tree(&folder).iter().filter(|path| !coordinates(path)).map(|path| trace(path)).collect()
}

fn trace(path: &Path) -> Trace {
    let found = fs::symlink_metadata(path).unwrap();
    Trace {
        path: path.to_owned(),
        inode: found.ino(),
        mode: found.mode(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
        content: fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// Every way to look, and every way to be wrong.
const LOOKS: [&[&str]; 28] = [
    &["inbox", "bob"],
    &["inbox", "bob", "--unread", "--json"],
    &["inbox", "alice"],
    &["--as", "bob", "inbox", "--last", "1"],
    &["inbox", "user"],
    &["members"],
    &["members", "--json"],
    &["team", "list"],
    &["team", "show"],
    &["team", "show", "dev", "--json"],
    &["watch", "bob", "--all", "--count", "1"],
    &["watch", "--all", "--for", "20ms"],
    &["--as", "bob", "read", "--peek"],
    &["--as", "bob", "read", "--peek", "--wait", "1s", "--json"],
    &["--as", "bob", "read", "--peek", "--format", "context"],
    &["config"],
    &["config", "--json"],
    &["completions", "bash"],
    &["man"],
    &["inbox", "bobb"],
    &["--as", "bobb", "read"],
    &["--as", "bobb", "read", "--wait", "1s"],
    &["watch", "bobb"],
    &["send", "bobb", "hello"],
    &["-t", "dve", "send", "bob", "hello"],
    &["--as", "bob", "reply", "no-such-id", "hello"],
    &["broadcast", "hello", "--to", "bob,bobb"],
    &["member", "remove", "bobb"],
];

fn assert_looking_changes_nothing(world: &World) {
    let before = traces(world);
    for look in LOOKS {
        let answer = world.atm(look);
        assert!(matches!(answer.code, Some(0 | 3)), "{look:?}: {answer:?}");
        assert_eq!(traces(world), before, "{look:?}");
    }
}

fn fill(team: &TestTeam, world: &World) {
    for text in ["one", "two", "three"] {
        world.ok(&["send", "bob", text]);
    }
    world.ok(&["--as", "bob", "read", "--limit", "1"]);
    assert!(!team.inbox_bytes("bob").is_empty());
}

#[test]
fn in_the_array_layout() {
    let (world, team) = foreign_team(Layout::Array);
    fill(&team, &world);
    assert_looking_changes_nothing(&world);
}

#[test]
fn in_the_log_layout() {
    let (world, team) = foreign_team(Layout::Log);
    fill(&team, &world);
    assert_looking_changes_nothing(&world);
}

#[test]
fn where_we_have_never_written() {
    // No state folder, no cursor, no lock files: none of it is made for a look.
    for layout in [Layout::Array, Layout::Log] {
        let (world, team) = foreign_team(layout);
        let line = r#"{"from":"alice","to":"bob","text":"hi","content":{"text":"hi"},"timestamp":"2026-11-15T06:00:00Z","type":"message","read":false}"#;
        let mail = if layout == Layout::Array { format!("[{line}]") } else { format!("{line}\n") };
        team.write_inbox("bob", mail);
        assert_looking_changes_nothing(&world);
        assert!(!world.state().exists());
    }
}

#[test]
fn where_the_files_are_broken() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        "[{\"from\":\"alice\",\"text\":\"hi\",\"timestamp\":\"2026-11-15T06:00:00Z\",\"read\":false},null,{",
    );
    team.write_inbox("alice", "");
    assert_looking_changes_nothing(&world);
}

#[test]
fn where_only_clients_have_written() {
    let world = World::new();
    for client in ["claude-code-2.1.77", "claude-code-2.1.197", "claude-code-2.1.325"] {
        let from = client_fixtures().join(client);
        for path in tree(&from).iter().filter(|path| path.is_file()) {
            let target = world.root().join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(path, target).unwrap();
        }
    }
    let before = traces(&world);
    for team in ["demo", "session-4492fd52", "session-ed8ca403"] {
        for look in
            [&["inbox", "alice"][..], &["inbox", "team-lead", "--json"], &["members"], &["team", "show"]]
        {
            world.ok(&[&["-t", team], look].concat());
        }
        world.ok(&["-t", team, "watch", "--all", "--for", "20ms", "--json"]);
        world.ok(&["-t", team, "--as", "alice", "read", "--peek"]);
    }
    assert_eq!(traces(&world), before);
}
