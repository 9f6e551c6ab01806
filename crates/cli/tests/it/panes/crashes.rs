//! A starter that dies at any step leaves nothing that the next command cannot mend.

use std::process::Stdio;

use atm_support::wait_until;
use serde_json::json;

use super::Stage;
use crate::scene::texts;

/// Starts bob and dies there.
fn die_at(stage: &Stage, verb: &str, point: &str) {
    let socket = stage.socket();
    let args =
        [verb, "bob", "--prompt", "You test.", "--socket", socket.to_str().unwrap(), "--", "sleep", "600"];
    let mut command = stage.world.command(&args);
    let status = command.env("ATM_TEST_DIE_AT", point).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), None, "it did not die at {point}");
}

#[test]
fn before_the_member_is_entered_there_is_none() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    die_at(&stage, "spawn", "opened");
    assert_eq!(stage.entry("bob"), json!(null));
    assert!(!stage.world.root().join("teams/dev/inboxes/bob.json").exists());
    // What it opened closes itself: nothing runs there but a wait for its starter.
    let commands = stage.tmux(&["list-panes", "-a", "-F", "#{@atm_member} #{pane_start_command}"]);
    assert!(commands.contains("bob@dev sleep 60"), "{commands}");
    stage.spawn("bob", &["--", "sleep", "600"]);
    assert_eq!(stage.state("bob"), "online");
}

#[test]
fn one_that_was_entered_and_not_started_is_off_at_the_next_look_and_can_be_started() {
    for point in ["registered", "mailed"] {
        let stage = Stage::new();
        stage.spawn("eve", &["--", "sleep", "600"]);
        die_at(&stage, "spawn", point);
        assert_eq!(stage.entry("bob")["isActive"], true);
        assert_eq!(stage.state("bob"), "offline", "{point}");
        assert_eq!(stage.entry("bob")["metadata"]["atm"]["spawn"]["exit"], "it was never started");
        wait_until("its pane is closed", || stage.panes() == 1);

        assert_eq!(stage.start("respawn", "bob", &[]).code, Some(0));
        assert_eq!(stage.state("bob"), "online");
        assert_eq!(texts(&stage.world.json(&["inbox", "bob"])), ["You test."], "{point}: told once");
    }
}

#[test]
fn one_whose_starter_died_behind_the_last_step_runs() {
    let stage = Stage::new();
    die_at(&stage, "spawn", "started");
    assert_eq!(stage.state("bob"), "online");
    assert_eq!(texts(&stage.world.json(&["inbox", "bob"])), ["You test."]);
    assert_eq!(stage.world.json(&["kill", "bob"])["killed"], true);
}

#[test]
fn one_that_returns_is_off_again_wherever_its_starter_died() {
    for point in ["opened", "registered", "mailed"] {
        let stage = Stage::new();
        stage.spawn("eve", &["--", "sleep", "600"]);
        stage.spawn("bob", &["--", "sleep", "600"]);
        stage.world.ok(&["kill", "bob"]);
        die_at(&stage, "respawn", point);
        assert_eq!(stage.state("bob"), "offline", "{point}");
        assert_eq!(stage.start("respawn", "bob", &[]).code, Some(0), "{point}");
        assert_eq!(stage.state("bob"), "online", "{point}");
    }
}

#[test]
fn two_who_start_the_same_name_start_one() {
    let stage = Stage::new();
    stage.spawn("eve", &["--", "sleep", "600"]);
    let codes: Vec<Option<i32>> = std::thread::scope(|scope| {
        let start = || stage.start("spawn", "bob", &["--", "sleep", "600"]).code;
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Some(4)).count(), 2, "{codes:?}");
    assert_eq!(stage.panes(), 2);
    assert_eq!(stage.state("bob"), "online");
}
