//! Files of real clients, and of ours.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{hold, schema};
use crate::scene::{World, tree};

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The schema that a file of the tree has.
fn name_of(path: &Path) -> Option<&'static str> {
    let text = path.to_str()?;
    let file = path.file_name()?.to_str()?;
    match path.extension()?.to_str()? {
        "json" if file == "config.json" => Some("team"),
        "json" if text.contains("/inboxes/") => Some("inbox-file"),
        "json" if file == "task-status.json" => Some("task-status"),
        "json" if file == "state.json" => Some("cursor"),
        "json" if text.contains("/tasks/") => Some("task"),
        _ => None,
    }
}

/// Holds all files below a folder against their schemas; says which schemas there was a file for.
fn hold_all(world: &World, folder: &Path) -> Vec<&'static str> {
    let mut held = Vec::new();
    for path in tree(folder) {
        let Some(name) = name_of(&path).filter(|_| path.is_file()) else { continue };
        let document = read(&path);
        hold(&schema(world, name), &document, &path.display().to_string());
        held.push(name);
        if name == "inbox-file" {
            hold_payloads(world, &document, &mut held);
        }
    }
    held
}

fn hold_payloads(world: &World, inbox: &Value, held: &mut Vec<&'static str>) {
    for entry in inbox.as_array().unwrap() {
        let text = entry["text"].as_str().unwrap();
        let Ok(payload @ Value::Object(_)) = serde_json::from_str::<Value>(text) else { continue };
        hold(&schema(world, "payload"), &payload, text);
        held.push("payload");
    }
}

#[test]
fn what_real_clients_wrote_is_valid() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/fixtures");
    let world = World::new();
    for client in ["claude-code-2.1.77", "claude-code-2.1.197", "claude-code-2.1.325"] {
        let held = hold_all(&world, &fixtures.join(client));
        for name in ["team", "inbox-file", "task", "payload"] {
            assert!(held.contains(&name), "{client} has no {name}");
        }
    }
}

#[test]
fn what_we_write_is_valid() {
    let world = World::with_team();
    for line in [
        "send bob hello --priority high --ack-by 10m",
        "--as alice plan submit first-this-then-that",
        "--as alice idle",
        "--as alice task create write-it",
        "--as alice task claim 1",
        "--as alice task complete 1",
        "--as alice artifacts report running --tokens 12",
        "member set bob --active false",
        "send bob later",
        "team create logs --layout log",
        "--team logs member add carol",
        "--team logs send carol hello",
        "--team logs --as carol read",
    ] {
        world.ok(&line.split(' ').collect::<Vec<_>>());
    }
    let held = hold_all(&world, &world.root());
    for name in ["team", "inbox-file", "task", "payload", "task-status", "cursor"] {
        assert!(held.contains(&name), "no {name}");
    }
    let log = fs::read_to_string(world.root().join("teams/logs/members/carol/inbox")).unwrap();
    for line in log.lines() {
        hold(&schema(&world, "log-line"), &serde_json::from_str(line).unwrap(), line);
    }
    assert_eq!(log.lines().count(), 1);
}

#[test]
fn what_clients_would_delete_or_choke_on_is_not() {
    let world = World::new();
    let valid = |name: &str, document: &Value| {
        jsonschema::draft202012::new(&schema(&world, name)).unwrap().is_valid(document)
    };
    let entry = json!({ "from": "a", "text": "b", "timestamp": "2026-11-15T06:00:00Z", "read": false });
    assert!(valid("inbox-file", &json!([entry])));
    for (key, value) in [("from", json!(1)), ("text", Value::Null), ("read", json!("no"))] {
        let mut bad = entry.clone();
        bad[key] = value;
        assert!(!valid("inbox-file", &json!([bad])), "{key}");
    }
    for bad in [json!([null]), json!({}), json!([{ "from": "a" }])] {
        assert!(!valid("inbox-file", &bad), "{bad}");
    }
    assert!(!valid("team", &json!({ "members": [{ "agentId": "x@y" }] })));
    assert!(!valid("task", &json!({ "id": "1", "subject": "s", "status": "later" })));
    assert!(!valid("payload", &json!({ "from": "a" })));
}
