//! Clients that take mail in their own manners, with conversations that grow beside them.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use atm_support::Foreign;
use serde_json::{Value, json};

use crate::scene::World;

/// Adds an entry to a conversation, as clients of a generation write it.
pub(super) fn told(path: &Path, from: &str, text: &str, more: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let content =
        format!("<teammate-message teammate_id=\"{from}\" summary=\"s\">\n{text}\n</teammate-message>");
    let mut entry = json!({"type": "user", "message": {"role": "user", "content": content}});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{entry}").unwrap();
}

/// A client takes all that is in an inbox.
pub(super) fn take(world: &World, name: &str) {
    Foreign::client(&world.inbox_file(name)).with("--verb", "drain").run();
}

/// Makes the lead's conversation known to the team.
pub(super) fn set_lead_session(world: &World, session: &str) {
    let path = world.root().join("teams/dev/config.json");
    let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["leadSessionId"] = session.into();
    fs::write(path, serde_json::to_vec_pretty(&config).unwrap()).unwrap();
}

#[test]
fn a_client_that_marks_as_read_has_taken_it_and_nobody_has_seen_it() {
    let world = World::with_team();
    let id = world.sent("alice", "look at this");
    assert_eq!(world.stages(&id), ["accepted", "written"]);
    Foreign::client(&world.inbox_file("alice")).with("--verb", "mark-read").run();
    assert_eq!(world.stages(&id), ["accepted", "written", "taken"]);
}

#[test]
fn a_client_that_drains_has_taken_it() {
    for style in ["inplace", "rename"] {
        let world = World::with_team();
        let id = world.sent("alice", "look at this");
        Foreign::client(&world.inbox_file("alice")).with("--verb", "drain").with("--style", style).run();
        assert_eq!(world.stage(&id), "taken", "{style}");
        assert!(world.texts_for("alice").is_empty());
        assert!(world.ok(&["search", "look"]).contains("look at this"), "the text outlives the inbox");
    }
}

#[test]
fn what_is_in_the_leads_conversation_was_seen() {
    let world = World::with_team();
    set_lead_session(&world, "4492fd52-0ecf-4da1-b15d-694c7be35ef9");
    let id = world.json(&["--as", "alice", "send", "team-lead", "done with it"])["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let transcript = world.root().join("projects/-home-user/4492fd52-0ecf-4da1-b15d-694c7be35ef9.jsonl");
    take(&world, "team-lead");
    told(&transcript, "alice", "done with something else", &json!({}));
    assert_eq!(world.stage(&id), "taken");
    told(&transcript, "alice", "done with it", &json!({}));
    assert_eq!(world.stage(&id), "seen");
    let track = world.json(&["track", &id]);
    let evidence = &track["stages"].as_array().unwrap().last().unwrap()["evidence"];
    assert!(evidence["file"].as_str().unwrap().ends_with("ef9.jsonl"), "{evidence}");
}

#[test]
fn what_is_in_an_in_process_members_conversation_was_seen() {
    for note in [json!({"name": "alice", "teamName": "dev"}), json!({"agentType": "alice"})] {
        let world = World::with_team();
        set_lead_session(&world, "abc-123");
        let id = world.sent("alice", "first\nsecond line");
        take(&world, "alice");
        let folder = world.root().join("projects/-p/abc-123/subagents");
        told(&folder.join("agent-1.jsonl"), "team-lead", "first\nsecond line", &json!({}));
        fs::write(folder.join("agent-1.meta.json"), note.to_string()).unwrap();
        assert_eq!(world.stage(&id), "seen", "{note}");
    }
}

#[test]
fn what_is_in_a_separate_process_members_conversation_was_seen() {
    let world = World::with_team();
    world.ok(&["member", "set", "alice", "--cwd", "/home/user/project"]);
    let id = world.sent("alice", "hello");
    take(&world, "alice");
    let transcript = world.root().join("projects/-home-user-project/17eeb301.jsonl");
    told(&transcript, "team-lead", "hello", &json!({"teamName": "dev", "agentName": "alice"}));
    assert_eq!(world.stage(&id), "seen");
}

#[test]
fn another_members_conversation_proves_nothing() {
    let world = World::with_team();
    world.ok(&["member", "set", "alice", "--cwd", "/home/user/project"]);
    let id = world.sent("alice", "hello");
    take(&world, "alice");
    let transcript = world.root().join("projects/-home-user-project/17eeb301.jsonl");
    told(&transcript, "team-lead", "hello", &json!({"teamName": "dev", "agentName": "bob"}));
    assert_eq!(world.stage(&id), "taken");
}

#[test]
fn a_client_that_takes_and_never_shows_has_lost_it() {
    let world = World::with_team();
    world.ok(&["member", "set", "alice", "--cwd", "/p"]);
    let id = world.sent("alice", "hello");
    Foreign::client(&world.inbox_file("alice")).with("--verb", "drain").run();
    assert_eq!(world.stage(&id), "taken");
    assert_eq!(world.json(&["pending"])[0]["why"], "taken_unproved", "there is no conversation yet");
    // The conversation goes on for some turns, without the message.
    let transcript = world.root().join("projects/-p/s.jsonl");
    told(&transcript, "bob", "something else", &json!({"teamName": "dev", "agentName": "alice"}));
    let later = SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(&transcript).unwrap().set_modified(later).unwrap();
    let pending = world.json(&["pending"]);
    assert_eq!((&pending[0]["id"], &pending[0]["why"]), (&json!(id), &json!("lost_by_client")));
}

#[test]
fn our_own_read_hands_it_over() {
    let world = World::with_team();
    let id = world.sent("alice", "hello");
    world.ok(&["--as", "alice", "read", "--peek"]);
    assert_eq!(world.stage(&id), "written", "a peek is no reading");
    world.ok(&["--as", "alice", "read"]);
    assert_eq!(world.stages(&id), ["accepted", "written", "taken", "seen"]);
}

#[test]
fn a_deleted_team_fails_its_unread_mail_and_keeps_the_text() {
    let world = World::with_team();
    let unread = world.sent("alice", "never read");
    let read = world.sent("bob", "was read");
    world.ok(&["--as", "bob", "read"]);
    world.ok(&["team", "create", "other"]);
    fs::remove_dir_all(world.root().join("teams/dev")).unwrap();
    assert_eq!((world.stage(&unread), world.stage(&read)), ("failed".into(), "seen".into()));
    assert!(world.ok(&["search", "never read"]).contains("never read"));
}
