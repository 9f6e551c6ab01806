//! `atm wake`: by each client's own way, once for each mail, and nobody who is awake.

mod codex;
mod opencode;
mod rewake;
mod watching;

use std::fs;

use serde_json::{Value, json};

use crate::panes::Stage;
use crate::scene::{Answer, World};

fn document(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{answer:?}");
    serde_json::from_str(&answer.stdout).unwrap()
}

fn refused(answer: &Answer, exit: i32, code: &str) -> String {
    let error = answer.error();
    assert_eq!((answer.code, error["code"].as_str()), (Some(exit), Some(code)), "{answer:?}");
    error["message"].as_str().unwrap().to_owned()
}

/// With this ladder in the settings.
fn ladder(world: &World, steps: &str) {
    let folder = world.home().join(".config/atm");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("[wake]\nafter = {steps}\n")).unwrap();
}

/// The evidence of bob's first message.
fn evidence(world: &World) -> String {
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    world.json(&["track", &id])["stages"].to_string()
}

#[test]
fn one_in_a_pane_gets_a_line_and_nudges_count() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.script("bob", "stty -echo; echo ready; while read -r line; do echo \"got <$line>\"; done");
    stage.wait_for_screen("bob", "ready");
    world.ok(&["send", "bob", "first"]);
    let answer = world.atm(&["wake", "bob", "--json"]);
    assert_eq!(answer.code, Some(4), "it did not say that it is idle: {answer:?}");
    world.ok(&["--as", "bob", "idle"]);
    let woken = world.json(&["wake", "bob"]);
    assert_eq!((&woken["way"], &woken["woken"]), (&json!("pane"), &json!(true)));
    stage.wait_for_screen("bob", "got <You have 1 unread message from user.");
    assert_eq!(world.json(&["wake", "bob", "--type"])["woken"], false, "they share their memory");
}

#[test]
fn who_wakes_by_itself_is_left_alone() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    for (way, why) in [("poll", "by itself"), ("rewake", "hook"), ("none", "not to be woken")] {
        world.ok(&["member", "set", "bob", "--wake", way]);
        let woken = world.json(&["wake", "bob"]);
        assert_eq!((&woken["way"], &woken["woken"]), (&json!(way), &json!(false)));
        assert!(woken["why"].as_str().unwrap().contains(why), "{woken}");
    }
    let all = world.json(&["wake", "--all", "--dry-run"]);
    let names: Vec<&str> = all.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["team-lead", "alice", "bob"]);
    assert!(all[1]["why"].as_str().unwrap().contains("nothing says how"), "{all}");
    assert!(world.ok(&["wake", "bob"]).contains("bob@dev was not woken: it is not to be woken"));
}

#[test]
fn what_is_refused() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let wake = |name: &str| world.atm(&["wake", name, "--json"]);
    refused(&wake("bob"), 4, "no_way");
    refused(&wake("bobb"), 3, "no_such_member");
    assert_eq!(world.atm(&["wake"]).code, Some(2));
    assert_eq!(world.atm(&["wake", "bob", "--all"]).code, Some(2));
    let nobody = world.atm(&["wake", "wait"]);
    assert_eq!(nobody.code, Some(0), "exit 2 would wake the client, whose hook would fail again, for ever");
    assert!(nobody.stderr.contains("--as"), "{nobody:?}");
    assert_eq!(world.atm(&["--as", "nobody", "wake", "wait"]).code, Some(3));
    let set = |key: &str, value: &str| world.atm(&["member", "set", "bob", key, value, "--json"]);
    assert_eq!(set("--wake", "trumpet").code, Some(2));
    refused(&set("--session", "../x"), 2, "bad_session");
    refused(&set("--server", "http://example.org:80"), 2, "bad_server");
    world.ok(&["member", "set", "bob", "--wake", "codex"]);
    let why = refused(&wake("bob"), 4, "not_known");
    assert!(why.contains("session"), "{why}");
    world.ok(&["member", "set", "bob", "--wake", "opencode", "--session", "s1"]);
    let why = refused(&wake("bob"), 4, "not_known");
    assert!(why.contains("server"), "{why}");
    world.ok(&["member", "set", "bob", "--wake", "pane"]);
    refused(&wake("bob"), 4, "not_started_here");
    world.ok(&["member", "set", "bob", "--active", "false"]);
    refused(&wake("bob"), 3, "off");
}
