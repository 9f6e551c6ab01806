//! Waiting for mail: the reader wakes, whatever program writes it, and in whatever way.

use std::fs;

use atm_store::Layout;
use atm_support::{Foreign, TestTeam};
use serde_json::Value;

use crate::scene::{World, foreign_team, texts};

/// Starts a reader, waits until it sleeps, lets `write` happen, and gives what the reader was woken with.
fn woken_by(layout: Layout, write: impl FnOnce(&World, &TestTeam)) -> Vec<String> {
    let (world, team) = foreign_team(layout);
    let mut reader = world.start(&["--as", "bob", "read", "--wait", "30s", "--json"]);
    reader.wait_until_it_watches();
    write(&world, &team);
    let answer = reader.finish();
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    let mail: Value = serde_json::from_str(&answer.stdout).unwrap();
    let left = world.json(&["inbox", "bob", "--unread"]);
    assert_eq!(left, serde_json::json!([]), "what was given out is marked");
    texts(&mail)
}

#[test]
fn by_our_own_send() {
    for layout in [Layout::Array, Layout::Log] {
        let texts = woken_by(layout, |world, _| drop(world.ok(&["send", "bob", "hello"])));
        assert_eq!(texts, ["hello"]);
    }
}

#[test]
fn by_a_client_that_renames() {
    let texts = woken_by(Layout::Array, |_, team| {
        Foreign::client(&team.inbox("bob")).sending("m", 1).renaming().flag("--gen3").run();
    });
    assert_eq!(texts, ["m0"]);
}

#[test]
fn by_a_client_that_writes_in_place() {
    let texts = woken_by(Layout::Array, |_, team| {
        Foreign::client(&team.inbox("bob")).sending("m", 1).run();
    });
    assert_eq!(texts, ["m0"]);
}

#[test]
fn by_a_python_tool() {
    let texts = woken_by(Layout::Array, |_, team| {
        Foreign::python(&team.inbox("bob")).sending("m", 1).run();
    });
    assert_eq!(texts, ["m0"]);
}

#[test]
fn by_a_shell_that_appends() {
    let texts = woken_by(Layout::Log, |_, team| {
        Foreign::shell(&team.inbox("bob")).sending("m", 1).run();
    });
    assert_eq!(texts, ["m0"]);
}

#[test]
fn by_mail_in_an_inbox_that_was_not_there() {
    let texts = woken_by(Layout::Array, |world, team| {
        fs::remove_file(team.inbox("bob")).unwrap();
        world.ok(&["send", "bob", "hello"]);
    });
    assert_eq!(texts, ["hello"]);
}

#[test]
fn but_not_by_somebody_elses_mail() {
    let (world, _team) = foreign_team(Layout::Array);
    let mut reader = world.start(&["--as", "bob", "read", "--wait", "30s", "--json"]);
    reader.wait_until_it_watches();
    world.ok(&["send", "alice", "for alice"]);
    world.ok(&["send", "bob", "for bob"]);
    let mail: Value = serde_json::from_str(&reader.finish().stdout).unwrap();
    assert_eq!(texts(&mail), ["for bob"]);
    assert_eq!(world.json(&["inbox", "alice", "--unread"]).as_array().unwrap().len(), 1);
}

#[test]
fn without_mail_the_wait_ends_and_says_so() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team) = foreign_team(layout);
        let answer = world.atm(&["--as", "bob", "read", "--wait", "1s", "--json"]);
        assert_eq!((answer.code, answer.stdout.as_str(), answer.stderr.as_str()), (Some(0), "[]\n", ""));
    }
}
