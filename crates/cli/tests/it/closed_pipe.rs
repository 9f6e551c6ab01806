//! The reader of our output may close it before the end. That is no error, and nothing counts as read that was not shown.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::process::Stdio;

use atm_store::Layout;
use atm_support::{TestTeam, drafts};
use serde_json::Value;

use crate::scene::{Answer, Started, World, foreign_team};

/// More than a pipe holds.
fn full_inbox(layout: Layout) -> (World, TestTeam) {
    let (world, team) = foreign_team(layout);
    team.mailbox("bob").append(&drafts(&"long ".repeat(100), 400), false).unwrap();
    (world, team)
}

/// Runs a command whose reader is gone before it starts.
fn with_closed_pipe(world: &World, args: &[&str]) -> Answer {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    Answer::of(world, &world.command(args).stdout(writer).output().unwrap())
}

fn unread(world: &World) -> usize {
    world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len()
}

#[test]
fn a_reader_that_takes_one_line_and_goes_is_no_error() {
    let (world, _team) = full_inbox(Layout::Array);
    for args in [
        &["inbox", "bob"][..],
        &["inbox", "bob", "--json"],
        &["watch", "bob", "--all"],
        &["watch", "bob", "--all", "--json"],
    ] {
        let mut child = world.command(args).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(!lines.next().unwrap().unwrap().is_empty());
        drop(lines);
        let answer = Started::of(child, &world).finish();
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    let session = world.session("atm inbox bob | head -n 1 | wc -l | tr -d ' '");
    assert!(session.ends_with("\n1\n"), "{session}");
}

#[test]
fn every_answer_may_go_nowhere() {
    let (world, _team) = full_inbox(Layout::Array);
    for args in [
        &["inbox", "bob"][..],
        &["members"],
        &["team", "list"],
        &["team", "show", "--json"],
        &["config"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
        &["send", "bob", "hello"],
        &["demo"],
    ] {
        let answer = with_closed_pipe(&world, args);
        assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn mail_that_could_not_be_shown_stays_unread() {
    for layout in [Layout::Array, Layout::Log] {
        let (world, _team) = full_inbox(layout);
        for format in ["text", "json", "context"] {
            let answer = with_closed_pipe(&world, &["--as", "bob", "read", "--format", format]);
            assert_eq!(answer.stderr, "", "{layout:?} {format}");
            assert_eq!(unread(&world), 400, "{layout:?} {format}");
        }
        // One message is less than a buffer: it is written at the end only.
        let answer = with_closed_pipe(&world, &["--as", "bob", "read", "--limit", "1"]);
        assert_eq!(answer.stderr, "", "{layout:?}");
        assert_eq!(unread(&world), 400, "{layout:?}");
    }
}

#[test]
fn mail_whose_reader_went_in_the_middle_stays_unread() {
    let (world, _team) = full_inbox(Layout::Array);
    let mut child = world.command(&["--as", "bob", "read"]).spawn().unwrap();
    let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    drop(lines);
    let answer = Started::of(child, &world).finish();
    assert_eq!(answer.stderr, "");
    assert_eq!(unread(&world), 400);
}

#[test]
fn mail_that_went_to_a_full_disk_stays_unread_and_that_is_an_error() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return eprintln!("skipped: this system has no /dev/full");
    };
    let (world, _team) = full_inbox(Layout::Array);
    for format in ["text", "json", "context"] {
        let mut command =
            world.command(&["--as", "bob", "--json", "read", "--limit", "2", "--format", format]);
        let output = command.stdout(full.try_clone().unwrap()).output().unwrap();
        let answer = Answer::of(&world, &output);
        assert_eq!(answer.code, Some(7), "{answer:?}");
        assert_eq!(answer.error()["code"], Value::from("io"));
        assert_eq!(unread(&world), 400);
    }
}

#[test]
fn a_send_whose_answer_cannot_be_written_is_sent_once_all_the_same() {
    let world = World::with_team();
    let answer = with_closed_pipe(&world, &["send", "bob", "hello"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(0), ""));
    assert_eq!(unread(&world), 1);
}

#[test]
fn nobody_at_all_to_talk_to_does_not_stop_a_send() {
    let world = World::with_team();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = world.command(&["--as", "stranger", "send", "bob", "hello", "--create"]);
    let status = command.stdout(writer.try_clone().unwrap()).stderr(writer).stdin(Stdio::null()).status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert_eq!(unread(&world), 1);
}

#[test]
fn a_warning_that_nobody_hears_does_not_cost_the_answer() {
    let (world, team) = foreign_team(Layout::Array);
    team.write_inbox(
        "bob",
        r#"[null, {"from": "alice", "text": "hi", "timestamp": "2026-11-15T06:00:00Z", "read": false}]"#,
    );
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut read = world.command(&["--as", "bob", "read", "--json"]);
    let answer = Answer::of(&world, &read.stderr(writer).output().unwrap());
    assert_eq!(answer.code, Some(0));
    let mail: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(mail[0]["text"], "hi");
    assert_eq!(unread(&world), 0);
}
