//! A message that is gone was undone, taken or removed by ourselves: what stood before it in the file decides, and
//! never a clock.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use atm_support::Foreign;
use serde_json::{Value, json};

use super::takers::told;
use crate::scene::{World, set_modified};

/// An entry as a shell script writes it: without an id, with a stamp of whole seconds.
fn entry(text: &str, timestamp: &str, read: bool) -> Value {
    json!({"from": "script", "text": text, "timestamp": timestamp, "read": read})
}

/// What another program puts in the file's place, without any lock.
fn replace(file: &Path, entries: &[Value]) {
    let temp = file.with_extension("sh");
    fs::write(&temp, serde_json::to_vec_pretty(entries).unwrap()).unwrap();
    fs::rename(temp, file).unwrap();
}

fn why_of(world: &World, id: &str) -> Option<String> {
    let pending = world.json(&["pending"]);
    let found = pending.as_array().unwrap().iter().find(|waiting| waiting["id"] == id)?;
    Some(found["why"].as_str().unwrap().to_owned())
}

fn processed(world: &World, id: &str) -> bool {
    world.json(&["track", id])["processed"].as_bool().unwrap()
}

/// Makes a member of the team one that runs inside its lead.
fn run_in_process(world: &World, name: &str) {
    let path = world.root().join("teams/dev/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for member in config["members"].as_array_mut().unwrap() {
        if member["name"] == name {
            member["tmuxPaneId"] = "in-process".into();
            member["backendType"] = "in-process".into();
        }
    }
    fs::write(path, serde_json::to_vec_pretty(&config).unwrap()).unwrap();
}

/// Mail that a writer without a lock undid counted as processed, because the one before it had been read.
#[test]
fn what_is_undone_behind_a_read_message_is_put_back_and_not_processed() {
    let world = World::with_team();
    let m1 = entry("m1", "2026-11-15T12:00:00Z", true);
    replace(&world.inbox_file("bob"), std::slice::from_ref(&m1));
    let id = world.sent("bob", "m2");
    replace(&world.inbox_file("bob"), &[m1, entry("L1", "2126-11-15T12:00:01Z", false)]);
    assert!(!processed(&world, &id));
    assert_eq!(world.stages(&id), ["accepted", "written", "restored"]);
    assert_eq!(world.texts_for("bob"), ["m1", "L1", "m2"]);
}

/// Mail that a client had drained came back when a later arrival had an older stamp.
#[test]
fn what_a_client_drained_never_comes_back() {
    for round in 0..20 {
        let world = World::with_team();
        let file = world.inbox_file("bob");
        if round % 2 == 0 {
            replace(&file, &[entry("before", "2026-11-15T12:00:00Z", false)]);
        }
        let id = world.sent("bob", "drained");
        Foreign::client(&file).with("--verb", "drain").renaming().run();
        replace(&file, &[entry("late", "2026-11-15T11:59:59Z", false)]);
        assert_eq!(world.stage(&id), "taken", "round {round}");
        assert_eq!(world.texts_for("bob"), ["late"], "round {round}");
    }
}

/// In-process members take the lead's mail before that of others: an earlier entry stays while a later one goes.
#[test]
fn an_in_process_member_may_take_the_later_one_first() {
    let world = World::with_team();
    run_in_process(&world, "bob");
    let file = world.inbox_file("bob");
    let peer = entry("from a peer", "2026-11-15T12:00:00Z", false);
    replace(&file, std::slice::from_ref(&peer));
    let id = world.sent("bob", "from the lead");
    replace(&file, &[peer]);
    assert_eq!(world.stage(&id), "taken");
    assert_eq!(world.texts_for("bob"), ["from a peer"]);
    assert_eq!(why_of(&world, &id).as_deref(), Some("taken_unproved"));
    assert!(!processed(&world, &id), "nothing proves it");
}

#[test]
fn after_three_times_it_is_held_and_needs_attention() {
    let world = World::with_team();
    let file = world.inbox_file("bob");
    let others = [entry("m1", "2026-11-15T12:00:00Z", true)];
    replace(&file, &others);
    let id = world.sent("bob", "undone again and again");
    for _ in 0..3 {
        replace(&file, &others);
        assert_eq!(world.stage(&id), "restored");
        assert_eq!(world.texts_for("bob"), ["m1", "undone again and again"]);
    }
    replace(&file, &others);
    assert_eq!(world.stage(&id), "held");
    assert_eq!(world.texts_for("bob"), ["m1"]);
    assert_eq!(why_of(&world, &id).as_deref(), Some("held"));
    assert!(!processed(&world, &id));
    assert!(world.ok(&["status"]).contains("undone again and again"));
    // Nor does it become taken when the inbox is drained.
    replace(&file, &[]);
    assert_eq!(world.stage(&id), "held");
    assert_eq!(world.atm(&["track", &id, "--json"]).code, Some(0));
}

#[test]
fn of_a_client_without_a_conversation_it_stays_pending_as_unproved() {
    let world = World::with_team();
    let id = world.sent("alice", "into an empty inbox");
    Foreign::client(&world.inbox_file("alice")).with("--verb", "drain").run();
    assert_eq!(world.stages(&id), ["accepted", "written", "taken"]);
    let track = world.json(&["track", &id]);
    let evidence = &track["stages"].as_array().unwrap().last().unwrap()["evidence"];
    assert_eq!(evidence["sure"], "likely");
    assert_eq!(why_of(&world, &id).as_deref(), Some("taken_unproved"));
    assert!(!processed(&world, &id));
    world.ok(&["retry"]);
    assert!(world.texts_for("alice").is_empty(), "without a proof of loss it is not offered again");
}

#[test]
fn a_conversation_decides_what_the_file_does_not_tell() {
    let world = World::with_team();
    let config = world.home().join(".config/atm");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.toml"), "[delivery]\nretry_after = [\"0s\"]\n").unwrap();
    world.ok(&["member", "set", "alice", "--cwd", "/p"]);
    let transcript = world.root().join("projects/-p/s.jsonl");
    let at = |time: &str| json!({"teamName": "dev", "agentName": "alice", "timestamp": time});
    let seen = world.sent("alice", "shown");
    Foreign::client(&world.inbox_file("alice")).with("--verb", "drain").run();
    let soon = atm_wire::Stamp::from_millis(millis(SystemTime::now())).to_string();
    told(&transcript, "team-lead", "shown", &at(&soon));
    assert_eq!(world.stage(&seen), "seen");

    let lost = world.sent("alice", "dropped");
    Foreign::client(&world.inbox_file("alice")).with("--verb", "drain").run();
    assert_eq!(world.stage(&lost), "taken");
    // The turn in which it was taken goes on: tools answer, and it is still in the client's memory.
    let result = json!({
        "type": "user", "timestamp": "2126-11-15T12:00:00Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    });
    add_line(&transcript, &result);
    assert_eq!(why_of(&world, &lost), None, "a turn that goes on is no proof of a loss");
    assert_eq!(world.json(&["retry"]), json!([]));
    // The next one does not have it.
    told(&transcript, "bob", "something else", &at("2126-11-15T12:00:01Z"));
    assert_eq!(why_of(&world, &lost).as_deref(), Some("lost_by_client"));
    assert_eq!(world.json(&["retry"])[0]["step"], "offer");
    assert!(world.texts_for("alice")[0].contains("dropped"));
}

fn millis(time: SystemTime) -> i64 {
    i64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn add_line(path: &Path, entry: &Value) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, format!("{text}{entry}\n")).unwrap();
    set_modified(path, SystemTime::now() + Duration::from_secs(60));
}

/// What we ourselves took out was put back, or counted as taken, once the archive did not tell any more.
#[test]
fn what_we_archive_is_neither_taken_nor_put_back() {
    let world = World::with_team();
    let file = world.inbox_file("bob");
    let id = world.sent("bob", "unread, and archived by force");
    world.ok(&["archive", "bob", "--force", "--keep", "0"]);
    assert!(world.texts_for("bob").is_empty());
    fs::remove_dir_all(world.state().join("archive")).unwrap();
    replace(&file, &[entry("later", "2026-11-15T12:00:00Z", false)]);
    assert_eq!(world.stage(&id), "written");
    assert_eq!(world.texts_for("bob"), ["later"]);
}

/// Large inboxes are appended to in pieces: what stood before is known there too.
#[test]
fn in_a_large_inbox_the_same_holds() {
    let world = World::with_team();
    let file = world.inbox_file("bob");
    let text = "x".repeat(1000);
    let others: Vec<Value> =
        (0..1200).map(|n| entry(&format!("{n} {text}"), "2026-11-15T12:00:00Z", true)).collect();
    replace(&file, &others);
    let undone = world.sent("bob", "undone");
    assert_eq!(world.texts_for("bob").len(), 1201);
    // A slow one, that read the file before the last hundred came.
    replace(&file, &others[..1100]);
    assert_eq!(world.stage(&undone), "restored");
    replace(&file, &[entry("late", "2026-11-15T11:59:59Z", false)]);
    assert_eq!(world.stage(&undone), "taken");
    assert_eq!(why_of(&world, &undone), None, "it was drained with all that stood before it");
}

/// Two identical entries of one second had one id, and counted as one.
#[test]
fn two_equal_foreign_entries_are_two_messages() {
    let world = World::with_team();
    let file = world.inbox_file("bob");
    let ping = |read| entry("ping", "2026-11-15T12:00:00Z", read);
    replace(&file, &[ping(false), ping(false)]);
    let ids = |world: &World| {
        let inbox = world.json(&["inbox", "bob"]);
        inbox.as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let both = ids(&world);
    assert_ne!(both[0], both[1]);
    assert_eq!(world.json(&["log"]).as_array().unwrap().len(), 2);

    // Reading one of them marks that one.
    let read = world.json(&["--as", "bob", "read", "--limit", "1"]);
    assert_eq!(read[0]["id"], both[0].as_str());
    let inbox = world.json(&["inbox", "bob"]);
    assert_eq!((&inbox[0]["read"], &inbox[1]["read"]), (&json!(true), &json!(false)));
    assert_eq!((world.stage(&both[0]), world.stage(&both[1])), ("seen".into(), "written".into()));

    // The first of them is taken out: the second is still the second.
    replace(&file, &[ping(false)]);
    assert_eq!(world.json(&["log"]).as_array().unwrap().len(), 2);
    assert_eq!(ids(&world), both[1..]);
    assert_eq!(world.stage(&both[1]), "written");

    // All are drained, and one more comes that is the same: it is a third.
    replace(&file, &[]);
    assert_eq!(world.stage(&both[1]), "taken");
    replace(&file, &[ping(false)]);
    assert_eq!(world.json(&["log"]).as_array().unwrap().len(), 3);
    assert!(!both.contains(&ids(&world)[0]));
    let read = world.json(&["--as", "bob", "read"]);
    assert_eq!(world.stage(read[0]["id"].as_str().unwrap()), "seen");

    // In the archive they are three, too.
    world.ok(&["archive", "bob", "--keep", "0"]);
    replace(&file, &[ping(true)]);
    world.ok(&["archive", "bob", "--keep", "0"]);
    assert_eq!(world.json(&["inbox", "bob", "--archived"]).as_array().unwrap().len(), 2);
}
