//! Codex: `codex queue`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::{env, thread};

use atm_support::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{document, evidence, ladder, refused};
use crate::scene::{Answer, Started, World};

/// A world in which `codex` is a test double that logs its arguments: the real one needs an account and a terminal.
pub(super) struct Codex {
    pub(super) world: World,
    folder: PathBuf,
}

impl Codex {
    /// With bob, who has a conversation, said that he is idle, and has mail from alice.
    fn new(script: &str) -> Self {
        let world = World::with_team();
        let folder = world.home().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("codex");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        world.ok(&["member", "set", "bob", "--wake", "codex", "--session", "s-1"]);
        world.ok(&["--as", "bob", "idle"]);
        world.ok(&["--as", "alice", "send", "bob", "the $(secret) plan"]);
        Self { world, folder }
    }

    pub(super) fn logging() -> Self {
        Self::new("printf '%s|' \"$@\" >> \"$HOME/codex.log\"; echo >> \"$HOME/codex.log\"")
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.clone()].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).unwrap());
        command
    }

    fn wake(&self, more: &[&str]) -> Answer {
        let args = [&["wake", "bob", "--json"], more].concat();
        Answer::of(&self.world, &self.command(&args).output().unwrap())
    }

    /// What became of bob's first message.
    fn track(&self) -> Value {
        let id = self.world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
        self.world.json(&["track", &id])
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(self.world.home().join("codex.log")).unwrap_or_default()
    }
}

/// `codex queue` ends well for a thread that nobody has open, and keeps the line: that is no wake-up.
#[test]
#[cfg(target_os = "linux")]
fn codex_is_told_only_while_its_thread_is_open_unless_somebody_wants_it_queued() {
    const THREAD: &str = "0199a0b1-0000-7000-8000-000000000001";
    let codex = Codex::logging();
    let world = &codex.world;
    world.ok(&["member", "set", "bob", "--session", THREAD]);
    let home = world.home().join(".codex");
    let rollout = home.join(format!("sessions/2026/11/17/rollout-2026-11-17T10-00-00-{THREAD}.jsonl"));
    fs::create_dir_all(rollout.parent().unwrap()).unwrap();
    fs::write(&rollout, "").unwrap();
    fs::create_dir_all(home.join("thread-writer-locks")).unwrap();
    let lock = fs::File::create(home.join(format!("thread-writer-locks/{THREAD}.lock"))).unwrap();
    let input = json!({ "session_id": THREAD, "turn_id": "1", "transcript_path": rollout }).to_string();
    let hook = world.pipe(&["hook", "SessionEnd", "--client", "codex", "--as", "bob", "-t", "dev"], &input);
    assert_eq!(hook.code, Some(0), "{hook:?}");
    let why = refused(&codex.wake(&[]), 4, "not_open");
    assert!(why.contains("codex queue would keep the line"), "{why}");
    assert_eq!(codex.log(), "", "nothing was stored");
    let queued = document(&codex.wake(&["--queue"]));
    assert_eq!((&queued["woken"], &queued["why"]), (&json!(false), &Value::Null), "{queued}");
    assert!(queued["evidence"].as_str().unwrap().starts_with("queued by codex queue"), "{queued}");
    assert_eq!(codex.log().lines().count(), 1);
    assert_eq!(codex.track()["stage"], "queued");
    // Open, it is told.
    lock.lock().unwrap();
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["--as", "bob", "idle"]);
    world.ok(&["send", "bob", "second"]);
    assert_eq!(document(&codex.wake(&[]))["woken"], true);
}

#[test]
fn codex_is_told_once_for_each_mail_and_nothing_of_what_it_says() {
    let codex = Codex::logging();
    let woken = document(&codex.wake(&["--dry-run"]));
    assert_eq!((&woken["woken"], &woken["evidence"]), (&json!(true), &Value::Null));
    assert_eq!(codex.log(), "", "a dry run does nothing");

    let woken = document(&codex.wake(&[]));
    assert_eq!(
        (&woken["way"], &woken["woken"], &woken["unread"]),
        (&json!("codex"), &json!(true), &json!(1))
    );
    let line = "You have 1 unread message from alice. \
                Read your mail, with `atm read` if it does not come by itself.";
    assert_eq!(codex.log(), format!("queue|--thread|s-1|--message|{line}|\n"));
    assert!(evidence(&codex.world).contains("woken by codex queue; not confirmed"));
    assert_eq!(codex.track()["stage"], "written", "that it was called is no success");

    for _ in 0..3 {
        assert_eq!(document(&codex.wake(&[]))["woken"], false);
    }
    codex.world.ok(&["--as", "bob", "read"]);
    assert_eq!(codex.track()["stage"], "seen", "what became of it tells whether it helped");
    codex.world.ok(&["--as", "bob", "idle"]);
    codex.world.ok(&["send", "bob", "second"]);
    assert_eq!(document(&codex.wake(&[]))["unread"], 1);
    assert_eq!(codex.log().lines().count(), 2);
}

/// A storm of wakes that the first one had made needless: its hearer would read everything.
#[test]
fn while_a_wake_was_not_heard_yet_more_mail_makes_no_more_of_them() {
    let codex = Codex::logging();
    assert_eq!(document(&codex.wake(&[]))["woken"], true);
    for text in ["second", "third", "fourth"] {
        codex.world.ok(&["send", "bob", text]);
        assert_eq!(document(&codex.wake(&[]))["why"], "it was woken for this mail, or it is not time yet");
    }
    assert_eq!(codex.log().lines().count(), 1);
}

/// Ids are other programs' texts. One with a line break was a new one at every look.
#[test]
fn an_id_of_two_lines_is_one_message() {
    let codex = Codex::logging();
    codex.world.ok(&["--as", "bob", "read"]);
    codex.world.ok(&["--as", "bob", "idle"]);
    let entry = json!([{
        "from": "eve", "text": "x", "timestamp": "2026-11-15T06:00:00.000Z", "read": false, "messageId": "a\nb\t1\t2",
    }]);
    fs::write(codex.world.root().join("teams/dev/inboxes/bob.json"), entry.to_string()).unwrap();
    let woken: Vec<Value> = (0..3).map(|_| document(&codex.wake(&[]))["woken"].clone()).collect();
    assert_eq!(woken, [true, false, false]);
}

#[test]
fn a_wake_whose_waker_dies_in_the_middle_of_it_counts() {
    let codex = Codex::new("echo $$ > \"$HOME/pid\"; echo called >> \"$HOME/codex.log\"; exec sleep 60");
    let waking = Started::of(codex.command(&["wake", "bob"]).spawn().unwrap(), &codex.world);
    wait_until("it is called", || !codex.log().is_empty());
    drop(waking); // killed, without a chance to put anything down
    let pid: i32 = fs::read_to_string(codex.world.home().join("pid")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    assert_eq!(document(&codex.wake(&[]))["woken"], false);
    assert_eq!(codex.log(), "called\n");
}

#[test]
fn of_eight_that_wake_at_once_one_does() {
    let codex = Codex::logging();
    let woken: Vec<bool> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..8).map(|_| scope.spawn(|| document(&codex.wake(&[]))["woken"] == true)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(woken.iter().filter(|woken| **woken).count(), 1, "{woken:?}");
    assert_eq!(codex.log().lines().count(), 1);
}

#[test]
fn who_has_read_is_not_woken_and_who_works_neither() {
    let codex = Codex::logging();
    codex.world.ok(&["--as", "bob", "heartbeat"]);
    refused(&codex.wake(&[]), 4, "busy_member");
    codex.world.ok(&["--as", "bob", "idle"]);
    codex.world.ok(&["--as", "bob", "read"]);
    assert_eq!(document(&codex.wake(&[]))["why"], "it has read all its mail");
    codex.world.ok(&["send", "bob", "second"]);
    refused(&codex.wake(&[]), 4, "busy_member");
    assert_eq!(codex.log(), "");
}

#[test]
fn a_wake_that_fails_is_told_and_counts() {
    let codex = Codex::new("echo no such thread >&2; exit 1");
    let why = refused(&codex.wake(&[]), 7, "not_woken");
    assert!(why.contains("no such thread"), "{why}");
    assert!(evidence(&codex.world).contains("not woken: "));
    assert_eq!(document(&codex.wake(&[]))["woken"], false, "not before the next step of the ladder");

    let without = Codex::logging();
    fs::remove_file(without.folder.join("codex")).unwrap();
    let mut command = without.world.command(&["wake", "bob", "--json"]);
    let answer = Answer::of(&without.world, &command.env("PATH", &without.folder).output().unwrap());
    refused(&answer, 3, "no_such_program");
}

#[test]
fn the_ladder_is_in_the_settings() {
    let codex = Codex::logging();
    ladder(&codex.world, r#"["1h"]"#);
    assert_eq!(document(&codex.wake(&[]))["woken"], false, "it has not waited long enough");
    ladder(&codex.world, r#"["0s", "0s"]"#);
    let woken: Vec<bool> = (0..4).map(|_| document(&codex.wake(&[]))["woken"] == true).collect();
    assert_eq!(woken, [true, true, false, false]);
    ladder(&codex.world, r#"["soon"]"#);
    refused(&codex.wake(&[]), 6, "bad_settings");
}

/// Agents with hooks need not say that they are idle: their client does.
#[test]
fn its_hooks_tell_when_a_turn_begins_and_ends() {
    let codex = Codex::logging();
    let world = &codex.world;
    world.ok(&["--as", "bob", "heartbeat"]);
    let hook = |event: &str, session: &str| {
        let input = json!({ "hook_event_name": event, "session_id": session, "turn_id": "t" }).to_string();
        let hook = ["--as", "bob", "--team", "dev", "hook", "--client", "codex"];
        assert_eq!(world.pipe(&hook, input).code, Some(0));
    };
    hook("Stop", "another");
    refused(&codex.wake(&[]), 4, "busy_member");
    for text in ["second", "third"] {
        hook("Stop", "s-1");
        world.ok(&["send", "bob", text]);
        assert_eq!(document(&codex.wake(&["--dry-run"]))["woken"], true);
        hook("UserPromptSubmit", "s-1");
        world.ok(&["send", "bob", "in the middle of a turn"]);
        refused(&codex.wake(&[]), 4, "busy_member");
        hook("PostToolUse", "s-1");
        refused(&codex.wake(&[]), 4, "busy_member");
    }
    assert_eq!(codex.log(), "");
    hook("Stop", "s-1");
    world.ok(&["send", "bob", "fourth"]);
    assert_eq!(document(&codex.wake(&[]))["woken"], true);
    hook("SessionEnd", "s-1");
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["send", "bob", "fifth"]);
    refused(&codex.wake(&[]), 4, "busy_member");
}
