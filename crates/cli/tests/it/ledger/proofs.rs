//! What proves that a message was seen, that it was lost, and when it happened.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::takers::{set_lead_session, take, told};
use crate::scene::World;

const OF_ALICE: &str = "projects/-somewhere-else-entirely-0f1e2d/a1.jsonl";

fn of_alice() -> Value {
    json!({"teamName": "dev", "agentName": "alice"})
}

fn edit_config(world: &World, edit: impl FnOnce(&mut Value)) {
    let path = world.root().join("teams/dev/config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut config);
    fs::write(path, serde_json::to_vec_pretty(&config).unwrap()).unwrap();
}

/// One entry counted for all messages with its words, also for one that came later, and for one that nobody had taken.
#[test]
fn two_sends_of_the_same_words_need_two_proofs() {
    let world = World::with_team();
    let transcript = world.root().join(OF_ALICE);
    let first = world.sent("alice", "go on");
    let second = world.sent("alice", "go on");
    take(&world, "alice");
    told(&transcript, "team-lead", "go on", &of_alice());
    assert_eq!([world.stage(&first), world.stage(&second)], ["seen", "taken"]);
    told(&transcript, "team-lead", "go on", &of_alice());
    assert_eq!(world.stage(&second), "seen");

    let third = world.sent("alice", "go on");
    let old = json!({"teamName": "dev", "agentName": "alice", "timestamp": "2026-01-01T00:00:00Z"});
    told(&transcript, "team-lead", "go on", &old);
    assert_eq!(world.stage(&third), "written", "an entry from before it was sent, while it lies unread");
    take(&world, "alice");
    assert_eq!(world.stage(&third), "taken");
}

/// The member works in another folder than its entry says, whose name has a hash; its first entry is very long.
#[test]
fn a_conversation_is_found_by_the_names_in_it() {
    let world = World::with_team();
    world.ok(&["member", "set", "alice", "--cwd", "/home/user/project"]);
    let id = world.sent("alice", "hello");
    take(&world, "alice");
    let transcript = world.root().join(OF_ALICE);
    told(&transcript, "team-lead", &"x".repeat(200_000), &of_alice());
    told(&transcript, "team-lead", "hello", &of_alice());
    assert_eq!(world.stage(&id), "seen");
}

/// `/clear` begins a new session, which the configuration does not name.
#[test]
fn a_lead_that_cleared_its_conversation_is_followed() {
    let world = World::with_team();
    set_lead_session(&world, "s1");
    let listed = |session: &str| {
        let file = world.root().join("sessions/4242.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, json!({"pid": 4242, "sessionId": session, "procStart": "7"}).to_string()).unwrap();
    };
    listed("s1");
    told(&world.root().join("projects/-p/s1.jsonl"), "bob", "before", &json!({}));
    let send = |text: &str| {
        world.json(&["--as", "alice", "send", "team-lead", text])["id"].as_str().unwrap().to_owned()
    };
    let first = send("first");
    world.stage(&first);
    listed("s2");
    take(&world, "team-lead");
    told(&world.root().join("projects/-p/s2.jsonl"), "alice", "first", &json!({}));
    assert_eq!(world.stage(&first), "seen");
}

/// A client deletes its team's folder at a clean exit; all mail in it counted as failed.
#[test]
fn when_the_team_is_deleted_its_conversations_tell_what_was_seen() {
    let world = World::with_team();
    set_lead_session(&world, "s1");
    let shown = world.sent("alice", "shown");
    let to_lead = world.json(&["--as", "alice", "send", "team-lead", "to the lead"]);
    let to_lead = to_lead["id"].as_str().unwrap();
    let never = world.sent("bob", "never taken");
    take(&world, "alice");
    take(&world, "team-lead");
    told(&world.root().join(OF_ALICE), "team-lead", "shown", &of_alice());
    told(&world.root().join("projects/-p/s1.jsonl"), "alice", "to the lead", &json!({}));
    // No command runs in between.
    fs::remove_dir_all(world.root().join("teams/dev")).unwrap();
    assert_eq!(world.stage(&shown), "seen");
    assert_eq!(world.json(&["-t", "dev", "track", to_lead])["stage"], "seen");
    assert_eq!(world.json(&["-t", "dev", "track", &never])["stage"], "failed");
    for ask in [&["log"][..], &["search", "taken"], &["thread", &never], &["stats"]] {
        let answer = world.ok(&[&["-t", "dev"], ask].concat());
        assert!(!answer.is_empty(), "{ask:?}");
    }
    assert_eq!(world.atm(&["-t", "dve", "log"]).code, Some(3), "a name that nobody ever had");
    assert_eq!(world.atm(&["-t", "dev", "pending"]).code, Some(3));
}

/// The mail that a killed client had in memory was not listed, and nobody offered it to the next one.
#[test]
fn what_died_with_its_client_is_pending_at_once() {
    let world = World::with_team();
    told(&world.root().join(OF_ALICE), "bob", "before", &of_alice());
    let first = world.sent("alice", "first");
    let second = world.sent("alice", "second");
    take(&world, "alice");
    assert_eq!(world.stage(&second), "taken");
    let whys = |world: &World| -> Vec<(Value, Value)> {
        let pending = world.json(&["pending"]);
        pending.as_array().unwrap().iter().map(|m| (m["id"].clone(), m["why"].clone())).collect()
    };
    assert_eq!(whys(&world), [], "its turn may last for hours");
    assert_eq!(world.json(&["retry"]), json!([]));
    edit_config(&world, |config| {
        let alice =
            config["members"].as_array_mut().unwrap().iter_mut().find(|m| m["name"] == "alice").unwrap();
        alice["isActive"] = false.into();
        alice["shutdownAt"] = "2126-01-01T00:00:00Z".into();
    });
    let lost = |id: &str| (json!(id), json!("lost_by_client"));
    assert_eq!(whys(&world), [lost(&first), lost(&second)]);
}

/// What was found at the first look at a team that others had used for long counted as of now.
#[test]
fn what_is_found_at_the_first_look_happened_before() {
    let world = World::with_team();
    let file = world.inbox_file("bob");
    let entry =
        json!({"from": "alice", "text": "old", "timestamp": "2026-11-01T12:00:00.000Z", "read": true});
    fs::write(&file, json!([entry]).to_string()).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(&file).unwrap().set_modified(hour_ago).unwrap();
    let id = world.json(&["log"])[0]["id"].as_str().unwrap().to_owned();
    let track = world.json(&["track", &id]);
    let stages = track["stages"].as_array().unwrap();
    assert_eq!(stages[0]["at"], "2026-11-01T12:00:00.000Z", "written when it was sent: {track}");
    let taken = &stages[1];
    assert_eq!((&taken["stage"], &taken["evidence"]["no_later_than"]), (&json!("taken"), &json!(true)));
    let at: atm_wire::Stamp = serde_json::from_value(taken["at"].clone()).unwrap();
    let hour_ago = hour_ago.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(at.as_millis() / 1000, i64::try_from(hour_ago).unwrap());
    assert_eq!(world.json(&["stats", "--since", "60d"])["waits"], json!([]), "nobody knows how long it took");
    let shown = world.ok(&["track", &id]);
    assert!(shown.contains("2026-11-01 12:00:00  sent") && shown.contains("then or earlier"), "{shown}");
}
