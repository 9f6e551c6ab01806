//! Claude Code outside of teams: a hook that waits.

use std::thread;

use atm_support::wait_until;
use serde_json::{Value, json};

use super::{evidence, ladder};
use crate::scene::{ATM, Started, World, tree};
use crate::session::Session;

#[test]
fn a_hook_that_waits_is_told_once_for_each_mail() {
    let world = World::with_team();
    let wait = ["--as", "bob", "wake", "wait", "--for", "30s"];
    let waiting = world.start(&wait);
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    let answer = waiting.finish();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""));
    assert!(answer.stderr.starts_with("You have 1 unread message from alice."), "{answer:?}");
    assert!(evidence(&world).contains("woken by a hook of its client; not confirmed"));
    let again = world.atm(&["--as", "bob", "wake", "wait", "--for", "1ms"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "the woken turn runs the hook again");

    world.ok(&["--as", "bob", "read"]);
    world.ok(&["send", "bob", "second"]);
    let codes: Vec<Option<i32>> = thread::scope(|scope| {
        let wait = || world.atm(&["--as", "bob", "wake", "wait", "--for", "1s"]).code;
        let all: Vec<_> = (0..8).map(|_| scope.spawn(wait)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 1, "{codes:?}");
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["send", "bob", "third"]);
    let told = world.atm(&["--as", "bob", "wake", "wait", "--json"]);
    let document: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((told.code, &document["name"]), (Some(2), &json!("bob")));
}

#[test]
fn it_takes_the_steps_of_the_ladder_and_no_more() {
    let world = World::with_team();
    ladder(&world, r#"["0s", "0s"]"#);
    world.ok(&["send", "bob", "hello"]);
    let codes = (0..4).map(|_| world.atm(&["--as", "bob", "wake", "wait", "--for", "1ms"]).code);
    assert_eq!(codes.collect::<Vec<_>>(), [Some(2), Some(2), Some(0), Some(0)]);
}

fn wait_for_bob(world: &World) -> Started {
    let mut waiting = world.start(&["--as", "bob", "wake", "wait", "--for", "60s"]);
    waiting.wait_until_it_watches();
    waiting
}

/// Clients start one at the end of every turn, and end none.
#[test]
fn the_last_one_that_waits_is_the_only_one() {
    let world = World::with_team();
    let first = wait_for_bob(&world);
    let second = wait_for_bob(&world);
    assert_eq!(first.finish().code, Some(0));
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(second.finish().code, Some(2));
    let seats = world.state().join("seats");
    let left = tree(&seats).into_iter().filter(|path| path.is_file()).count();
    assert_eq!(left, 0, "it leaves nothing behind");
}

#[test]
fn it_ends_when_a_turn_begins_and_nothing_is_said_into_it() {
    let world = World::with_team();
    let waiting = wait_for_bob(&world);
    let prompt = json!({ "hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "go on" });
    let hook = ["--as", "bob", "--team", "dev", "hook", "--client", "claude"];
    assert_eq!(world.pipe(&hook, prompt.to_string()).code, Some(0));
    assert_eq!(waiting.finish().code, Some(0));
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(world.atm(&["--as", "bob", "wake", "wait"]).code, Some(2), "the turn's end has its own");
}

/// A client that is gone would have heard nothing, and the wake would have been its last for this mail.
#[test]
fn it_ends_when_nobody_would_hear_it() {
    let world = World::with_team();
    let mut command = world.command(&["--as", "bob", "wake", "wait", "--for", "60s"]);
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    let mut waiting = Started::of(child, &world);
    wait_until("it has ended", || !waiting.is_running());
    assert_eq!(waiting.finish().code, Some(0));
    world.ok(&["send", "bob", "hello"]);
    assert_eq!(world.atm(&["--as", "bob", "wake", "wait"]).code, Some(2));
}

/// The hooks of a turn's end run side by side: the one that marks what the model was shown, and the one that waits.
#[test]
fn mail_that_is_before_the_model_does_not_wake_it() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let hook = |event: &str| {
        let said = json!({ "hook_event_name": event, "session_id": "s" }).to_string();
        world.pipe(&["--as", "bob", "--team", "dev", "hook", "--client", "claude"], said).stdout
    };
    assert!(hook("PostToolUse").contains("hello"));
    let waiting = wait_for_bob(&world);
    assert_eq!(hook("Stop"), "");
    assert_eq!(world.json(&["inbox", "bob", "--unread"]), json!([]));
    world.ok(&["--as", "alice", "send", "bob", "more"]);
    let answer = waiting.finish();
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.starts_with("You have 1 unread message from alice."), "{answer:?}");
}

/// Nobody waited in a session that is no member's: its mail lay until its user said something.
#[test]
fn a_session_that_is_no_members_waits_for_the_mail_of_its_folder() {
    let world = World::new();
    let mut shop = Session::start(&world, "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a", "shop");
    let wait = [ATM, "wake", "wait", "--for", "1ms"];
    assert_eq!(shop.run(&wait, "Stop"), (0, String::new(), String::new()), "nobody has written");
    assert!(!world.root().join("teams").exists(), "nothing is made for one that waits");
    world.ok(&["send", "shop", "hello"]);
    // Where its client hands out a socket, somebody may push.
    let said = json!({ "session_id": shop.id, "cwd": shop.folder, "hook_event_name": "Stop" });
    let handed = json!({ "CLAUDE_CODE_SESSION_ID": shop.id, "CLAUDE_CODE_MESSAGING_SOCKET": "/run/s.sock" });
    assert_eq!(shop.process.call(&wait, &said, (&handed, None)).0, 0);
    let (code, stdout, stderr) = shop.run(&wait, "Stop");
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert!(stderr.starts_with("You have 1 unread message from user."), "{stderr}");
    assert_eq!(shop.run(&wait, "Stop").0, 0, "the woken turn runs the hook again");
    assert!(shop.hook("PostToolUse").contains("hello"));
}

/// A socket in which nobody pushes, since its user turned the server off, kept the session from being woken.
#[test]
fn a_session_with_a_socket_is_woken_where_no_server_pushes() {
    let world = World::new();
    let mut shop = Session::start(&world, "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a", "shop");
    world.ok(&["send", "shop", "hello"]);
    let said = json!({ "session_id": shop.id, "cwd": shop.folder, "hook_event_name": "Stop" });
    let handed = json!({ "CLAUDE_CODE_SESSION_ID": shop.id, "CLAUDE_CODE_MESSAGING_SOCKET": "/run/s.sock" });
    let wait = [ATM, "wake", "wait", "--for", "60s"];
    let (code, _, stderr) = shop.process.call(&wait, &said, (&handed, None));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.starts_with("You have 1 unread message from user."), "{stderr}");
    assert!(shop.hook("UserPromptSubmit").contains("hello"), "the hooks have it, once");
    assert_eq!(shop.hook("PostToolUse"), "");
}
