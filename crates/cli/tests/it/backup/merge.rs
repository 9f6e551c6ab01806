//! A backup into a team that is there: nothing is doubled, nothing is overwritten.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use super::{back_up, everything, litter};
use crate::scene::{World, texts};

fn merge(world: &World, file: &str) -> Value {
    world.json(&["team", "restore", file, "--merge"])
}

fn counts(done: &Value, what: &str) -> (u64, u64) {
    (done[what]["added"].as_u64().unwrap(), done[what]["known"].as_u64().unwrap())
}

#[test]
fn what_is_missing_comes_and_what_is_there_stays() {
    let world = World::with_team();
    for text in ["a", "b", "c"] {
        world.ok(&["send", "bob", text]);
    }
    world.ok(&["task", "create", "mend the build"]);
    fs::write(world.root().join("teams/dev/notes.txt"), "then").unwrap();
    let file = back_up(&world, "one.tar.zst");

    assert_eq!(counts(&merge(&world, &file), "messages"), (0, 3), "it is all there");
    fs::write(world.root().join("teams/dev/inboxes/bob.json"), "[]").unwrap();
    fs::write(world.root().join("teams/dev/notes.txt"), "now").unwrap();
    fs::remove_file(world.root().join("tasks/dev/1.json")).unwrap();
    world.ok(&["send", "bob", "d"]);
    world.ok(&["task", "create", "another"]);
    world.ok(&["member", "remove", "alice"]);
    world.ok(&["member", "set", "bob", "--active", "false"]);

    let dry = world.json(&["team", "restore", &file, "--merge", "--dry-run"]);
    assert_eq!((counts(&dry, "messages"), &dry["members"]), ((3, 0), &json!(["alice"])));
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["d"], "nothing was done");
    let done = merge(&world, &file);
    assert_eq!(
        (counts(&done, "messages"), counts(&done, "tasks"), counts(&done, "files")),
        ((3, 0), (1, 0), (0, 1))
    );
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["d", "a", "b", "c"]);
    assert_eq!(fs::read_to_string(world.root().join("teams/dev/notes.txt")).unwrap(), "now");
    let members = world.json(&["members"]);
    assert_eq!(members.as_array().unwrap().len(), 3, "alice is back");
    let config = fs::read_to_string(world.root().join("teams/dev/config.json")).unwrap();
    assert!(config.contains("\"isActive\": false"), "bob is as he is now");
    assert_eq!(world.json(&["task", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(counts(&merge(&world, &file), "messages"), (0, 3), "twice is once");
    assert_eq!(litter(&world), [] as [String; 0]);
}

#[test]
fn what_was_archived_or_seen_since_does_not_come_back_as_new() {
    for layout in ["array", "log"] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", layout]);
        world.ok(&["member", "add", "bob"]);
        for text in ["a", "b", "c", "d"] {
            world.ok(&["send", "bob", text]);
        }
        let file = back_up(&world, "one.tar.zst");
        world.ok(&["--as", "bob", "read", "--limit", "3"]);
        world.ok(&["archive", "bob", "--keep", "2"]);
        // Of what is left, a client drains what was read.
        let inbox = if layout == "array" { "inboxes/bob.json" } else { "members/bob/inbox" };
        fs::write(world.root().join("teams/dev").join(inbox), if layout == "array" { "[]" } else { "" })
            .unwrap();
        merge(&world, &file);
        assert_eq!(everything(&world, "bob", "dev"), ["a", "b", "c", "d"], "{layout}");
        assert_eq!(texts(&world.json(&["inbox", "bob", "--unread"])), ["d"], "{layout}");
    }
}

#[test]
fn the_layouts_need_not_be_the_same() {
    for (from, to) in [("array", "log"), ("log", "array")] {
        let world = World::new();
        world.ok(&["team", "create", "dev", "--layout", from]);
        world.ok(&["member", "add", "bob"]);
        world.ok(&["send", "bob", "a"]);
        world.ok(&["--as", "bob", "read"]);
        world.ok(&["send", "bob", "b", "--priority", "high"]);
        world.ok(&[
            "--as",
            "team-lead",
            "request",
            "bob",
            "task_status_request",
            "--data",
            "{\"taskId\":\"1\"}",
            "--no-wait",
        ]);
        let file = back_up(&world, "one.tar.zst");
        world.ok(&["team", "create", "ops", "--layout", to]);
        let done = world.json(&["team", "restore", &file, "--merge", "--as", "ops"]);
        assert_eq!(done["members"], json!(["bob"]));
        let ids = |team: &str| {
            let inbox = world.json(&["inbox", "bob", "-t", team]);
            let archived = world.json(&["inbox", "bob", "-t", team, "--archived"]);
            let all = inbox.as_array().unwrap().iter().chain(archived.as_array().unwrap());
            let mut ids: Vec<(String, bool, String)> = all
                .map(|m| (m["id"].to_string(), m["read"].as_bool().unwrap(), m["type"].to_string()))
                .collect();
            ids.sort();
            ids
        };
        assert_eq!(ids("dev"), ids("ops"), "{from} to {to}");
        let config = fs::read_to_string(world.root().join("teams/ops/config.json")).unwrap();
        assert!(config.contains("bob@ops"), "{config}");
    }
}

#[test]
fn senders_go_on_meanwhile() {
    let world = World::with_team();
    let old: Vec<String> = (0..20).map(|at| format!("old-{at:02}")).collect();
    let batch: Vec<String> =
        old.iter().map(|text| json!({ "to": "bob", "text": text }).to_string()).collect();
    assert_eq!(world.pipe(&["send", "--batch"], batch.join("\n")).code, Some(0));
    let file = back_up(&world, "one.tar.zst");
    fs::write(world.root().join("teams/dev/inboxes/bob.json"), "[]").unwrap();
    thread::scope(|scope| {
        for who in 0..2 {
            let world = &world;
            scope.spawn(move || {
                (0..8).for_each(|at| drop(world.ok(&["send", "bob", &format!("new-{who}-{at}")])));
            });
        }
        scope.spawn(|| (0..3).for_each(|_| drop(merge(&world, &file))));
    });
    let mut expected = old;
    expected.extend((0..2).flat_map(|who| (0..8).map(move |at| format!("new-{who}-{at}"))));
    expected.sort();
    assert_eq!(everything(&world, "bob", "dev"), expected);
}

#[test]
fn a_team_that_is_gone_is_made() {
    let world = World::with_team();
    world.ok(&["send", "bob", "a"]);
    let file = back_up(&world, "one.tar.zst");
    world.ok(&["team", "delete", "dev", "--force"]);
    fs::create_dir_all(world.root().join("tasks/dev")).unwrap();
    fs::write(world.root().join("tasks/dev/9.json"), "{}").unwrap();
    let done = merge(&world, &file);
    assert_eq!((done["created"].as_bool(), counts(&done, "messages")), (Some(true), (1, 0)));
    assert_eq!(texts(&world.json(&["inbox", "bob"])), ["a"]);
}
