//! Whatever goes wrong: exit 0, nothing that the client would have to understand, and the reason in our log.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{Bob, nothing};
use crate::scene::World;

/// Silent, and the reason is in the log.
fn fails_softly(world: &World, args: &[&str], stdin: &str, why: &str) {
    let answer = world.pipe(args, stdin);
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{args:?}");
    let log = fs::read_to_string(world.state().join("hook.log")).unwrap_or_default();
    assert!(log.lines().last().is_some_and(|line| line.contains(why)), "{args:?}: {log}");
}

#[test]
fn nonsense_is_logged_and_breaks_nothing() {
    let world = World::with_team();
    let bob = |event| ["--as", "bob", "hook", event];
    fails_softly(&world, &bob("Stop"), "no json", "stdin is not what a client says");
    fails_softly(&world, &bob("Stop"), r#"{"session_id":7}"#, "stdin is not what a client says");
    fails_softly(&world, &bob("Frobnicate"), "{}", "no such event: \"Frobnicate\"");
    fails_softly(&world, &["--as", "bob", "hook"], "", "no such event");
    fails_softly(&world, &["--as", "bobb", "hook", "Stop"], "{}", "team dev has no member \"bobb\"");
    fails_softly(&world, &["--as", "../bob", "hook", "Stop"], "{}", "member name");
    fails_softly(&world, &["--as", "bob", "-t", "nope", "hook", "Stop"], "{}", "no team \"nope\"");
    let evil = r#"{"teammate_name":"../../etc","team_name":"dev"}"#;
    fails_softly(&world, &["--as", "team-lead", "hook", "TeammateIdle"], evil, "member name");
}

#[test]
fn a_wrong_command_line_is_no_order_to_go_on() {
    let world = World::with_team();
    for args in [
        &["hook", "Stop", "--nonsense"][..],
        &["--as", "bob", "hook", "Stop", "--client", "emacs"],
        &["wake", "wait", "--nonsense"],
        &["wake", "wait"],
        &["--as", "../bob", "wake", "wait"],
    ] {
        let answer = world.pipe(args, "{}");
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""));
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
    assert_eq!(world.atm(&["inbox", "hook", "--nonsense"]).code, Some(2), "only where it is the hook");
    assert_eq!(world.atm(&["hook", "--help"]).code, Some(0));
}

#[test]
fn bad_settings_are_logged() {
    let world = World::with_team();
    fs::write(world.home().join(".atm.toml"), "frobnicate = 1").unwrap();
    fails_softly(&world, &["--as", "bob", "hook", "Stop"], "{}", "frobnicate");
}

#[test]
fn without_a_state_folder_it_stays_silent() {
    let bob = Bob::new("claude");
    bob.send_urgent("stop the release");
    let state = bob.world.state();
    let kept = bob.world.home().join("kept");
    fs::rename(&state, &kept).unwrap();
    fs::write(&state, "a file where a folder should be").unwrap();
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"] {
        bob.is_silent(event, &nothing());
    }
    fs::remove_file(&state).unwrap();
    fs::rename(&kept, &state).unwrap();
    assert_eq!(bob.says("Stop", &nothing())["decision"], "block", "and goes on when it is back");
}

#[test]
fn a_damaged_ledger_is_logged_and_the_mail_is_read_all_the_same() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    for name in ["log.db-wal", "log.db-shm"] {
        let _ = fs::remove_file(bob.world.state().join(name));
    }
    fs::write(bob.world.state().join("log.db"), "no database at all, but long enough to be one").unwrap();
    bob.says("UserPromptSubmit", &nothing());
    bob.is_silent("Stop", &nothing());
    assert!(bob.unread().is_empty());
    assert!(bob.log().contains("the mail is read without it"), "{}", bob.log());
}

#[test]
fn a_note_that_makes_no_sense_costs_a_second_showing() {
    let bob = Bob::new("claude");
    bob.send("the build is red");
    bob.says("UserPromptSubmit", &nothing());
    let notes = crate::scene::tree(&bob.world.state().join("hooks"));
    let note = notes.iter().find(|path| path.is_file()).unwrap();
    assert_eq!(fs::metadata(note).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(note, [0xff, b'{']).unwrap();
    assert!(bob.says("PostToolUse", &nothing()).is_object());
    bob.is_silent("PostToolUse", &nothing());
}

#[test]
fn an_inbox_that_does_not_parse_says_what_can_be_read() {
    let bob = Bob::new("claude");
    let inbox = bob.world.root().join("teams/dev/inboxes/bob.json");
    let entry =
        json!({ "from": "alice", "text": "hi", "timestamp": "2026-11-15T06:00:00.000Z", "read": false });
    fs::write(&inbox, format!("[{entry}, null, ")).unwrap();
    assert!(bob.says("UserPromptSubmit", &nothing()).is_object());
    bob.is_silent("Stop", &nothing());
    assert_eq!(bob.unread(), Vec::<String>::new());
}
