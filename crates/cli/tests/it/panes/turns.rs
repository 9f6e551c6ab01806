//! Separate-process members between two turns: their client wrote `isActive: false`, and runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use atm_support::wait_until;
use serde_json::{Value, json};

use super::Stage;
use crate::scene::texts;

/// A test double of Claude Code: a program of that name that only runs.
fn client(stage: &Stage) -> PathBuf {
    let program = stage.world.home().join("claude");
    fs::write(&program, "#!/bin/sh\nwhile :; do sleep 0.1; done\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// Starts bob with that client.
fn start(stage: &Stage, verb: &str, more: &[&str]) -> Value {
    let program = client(stage);
    let mut args = more.to_vec();
    args.extend(["--client", "claude", "--", program.to_str().unwrap()]);
    let answer = stage.start(verb, "bob", &args);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    serde_json::from_str(&answer.stdout).unwrap()
}

/// What the client writes at the end of each turn.
fn end_turn(stage: &Stage) {
    edit(stage, |bob| bob["isActive"] = json!(false));
}

fn edit(stage: &Stage, change: impl FnOnce(&mut Value)) {
    let file = stage.world.root().join("teams/dev/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let members = config["members"].as_array_mut().unwrap();
    change(members.iter_mut().find(|member| member["name"] == "bob").unwrap());
    fs::write(&file, config.to_string()).unwrap();
}

/// A process with bob's `--agent-id` that no `atm` started, ended with the test.
struct Foreign(Child);

impl Foreign {
    fn start(root: &Path) -> Self {
        let child = Command::new("sh")
            .args(["-c", "read -r line", "claude", "--agent-id", "bob@dev"])
            .env("CLAUDE_CONFIG_DIR", root)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        atm_support::wait_until_visible(&child);
        Self(child)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn between_two_turns_a_member_is_idle_until_it_is_killed() {
    let stage = Stage::new();
    let world = &stage.world;
    start(&stage, "spawn", &[]);
    end_turn(&stage);
    world.ok(&["--as", "bob", "idle"]);
    assert_eq!(stage.state("bob"), "idle");
    let sent = world.json(&["send", "bob", "mend the build"]);
    assert_eq!((&sent["status"], &sent["warnings"]), (&json!("delivered"), &json!([])));
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["mend the build"]);
    world.ok(&["peek", "bob"]);
    let again = stage.start("respawn", "bob", &[]);
    assert_eq!(again.code, Some(4), "{again:?}");

    world.ok(&["kill", "bob"]);
    assert_eq!(stage.state("bob"), "offline", "though it spoke a moment ago");
    assert_eq!(world.json(&["send", "bob", "and the tests"])["status"], "queued");
    assert_eq!(world.atm(&["peek", "bob"]).code, Some(3));
    start(&stage, "respawn", &[]);
    assert_eq!(stage.state("bob"), "online");
}

#[test]
fn a_client_that_somebody_else_started_is_known_by_its_command_line() {
    let stage = Stage::new();
    let world = &stage.world;
    world.ok(&["member", "add", "bob", "--inactive"]);
    assert_eq!(stage.state("bob"), "offline");
    let elsewhere = Foreign::start(&world.home());
    let here = Foreign::start(&world.root());
    wait_until("it is found", || stage.state("bob") == "idle");
    assert_eq!(world.json(&["send", "bob", "hello"])["status"], "delivered");
    assert_eq!(world.json(&["status", "bob"])["activity"], "idle");
    let again = stage.start("respawn", "bob", &["--", "sh"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    drop(here);
    if cfg!(target_os = "linux") {
        assert_eq!(stage.state("bob"), "offline", "a member of the same name in another tree runs");
        assert_eq!(world.json(&["send", "bob", "hello?"])["status"], "queued");
    }
    drop(elsewhere);
    assert_eq!(stage.state("bob"), "offline");
}

#[test]
fn one_that_returns_to_unread_mail_is_not_told_its_first_prompt_again() {
    let stage = Stage::new();
    let world = &stage.world;
    let unread = || texts(&world.json(&["inbox", "bob", "--unread"]));
    start(&stage, "spawn", &["--prompt", "You test the login."]);
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["kill", "bob"]);
    world.ok(&["send", "bob", "test the logout, too"]);
    start(&stage, "respawn", &[]);
    let waiting = unread();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert!(waiting[0].ends_with("test the logout, too"), "{waiting:?}");

    world.ok(&["kill", "bob"]);
    start(&stage, "respawn", &["--prompt", "Only the logout now."]);
    assert_eq!(unread().last().map(String::as_str), Some("Only the logout now."), "a new one is told");
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["kill", "bob"]);
    start(&stage, "respawn", &[]);
    assert_eq!(unread(), ["Only the logout now."], "with no mail, it begins as before");
}

#[test]
fn a_client_is_started_with_its_permission_mode_and_again_with_the_same() {
    let stage = Stage::new();
    let mode = |started: &Value| {
        let words: Vec<&str> =
            started["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        words.windows(2).find(|pair| pair[0] == "--permission-mode").map(|pair| pair[1].to_owned())
    };
    let started = start(&stage, "spawn", &["--permission-mode", "acceptEdits"]);
    assert_eq!(mode(&started).as_deref(), Some("acceptEdits"));
    stage.world.ok(&["kill", "bob"]);
    let answer = stage.start("respawn", "bob", &[]);
    assert_eq!(mode(&serde_json::from_str(&answer.stdout).unwrap()).as_deref(), Some("acceptEdits"));
    for more in [
        ["--permission-mode", "plan", "--", "sh"].as_slice(),
        &["--permission-mode", "--danger", "--client", "claude"],
        &["--permission-mode", "", "--client", "claude"],
    ] {
        assert_eq!(stage.start("spawn", "eve", more).code, Some(2), "{more:?}");
    }
    assert_eq!(stage.entry("eve"), Value::Null);
}
