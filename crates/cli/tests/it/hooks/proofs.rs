//! What a client keeps of its conversation proves what its hook put there.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Bob, text};

const THREAD: &str = "0199a0b1-0000-7000-8000-000000000001";

/// Codex, with a rollout of its own.
struct Codex {
    bob: Bob,
    rollout: PathBuf,
}

impl Codex {
    fn new() -> Self {
        let bob = Bob { session: THREAD, ..Bob::new("codex") };
        let folder = bob.world.home().join(".codex/sessions/2026/11/17");
        fs::create_dir_all(&folder).unwrap();
        let rollout = folder.join(format!("rollout-2026-11-17T10-00-00-{THREAD}.jsonl"));
        fs::write(&rollout, "").unwrap();
        Self { bob, rollout }
    }

    fn says(&self, event: &str) -> Value {
        self.bob.says(event, &json!({ "turn_id": "1", "transcript_path": self.rollout }))
    }

    /// The client keeps what the hook said, as Codex does.
    fn keeps(&self, said: &Value) {
        let content = json!([{ "type": "input_text", "text": text(said) }]);
        let message = json!({ "type": "message", "id": "msg_1", "role": "developer", "content": content });
        let at = self.bob.world.json(&["inbox", "bob"])[0]["timestamp"].clone();
        let entry = json!({ "timestamp": at, "type": "response_item", "payload": message });
        fs::write(&self.rollout, format!("{entry}\n")).unwrap();
    }

    /// Its model answers, a minute from now.
    fn answers(&self) {
        let at = (jiff::Timestamp::now() + Duration::from_secs(60)).to_string();
        let message = json!({ "type": "message", "role": "assistant", "content": [] });
        let entry = json!({ "timestamp": at, "type": "response_item", "payload": message });
        let before = fs::read_to_string(&self.rollout).unwrap();
        fs::write(&self.rollout, format!("{before}{entry}\n")).unwrap();
    }

    fn stages(&self) -> Vec<Value> {
        let id = self.bob.world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
        let track = self.bob.world.json(&["track", &id]);
        let stages = track["stages"].as_array().unwrap();
        stages.iter().filter(|stage| stage["stage"] == "seen").cloned().collect()
    }
}

/// A client that dies in its turn leaves the mail unread: it was seen all the same, and the place says so.
#[test]
fn mail_is_seen_as_soon_as_it_stands_in_the_conversation() {
    let codex = Codex::new();
    codex.bob.send("the build is red");
    let said = codex.says("UserPromptSubmit");
    assert_eq!(codex.stages(), Vec::<Value>::new(), "that it was presented is no proof");
    codex.keeps(&said);
    let seen = codex.stages();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!(seen[0]["evidence"]["what"], "in the recipient's conversation, with its id");
    assert_eq!(seen[0]["evidence"]["file"], codex.rollout.to_str().unwrap());
    assert_eq!(codex.bob.unread(), ["the build is red"], "looking marks nothing");
    assert_eq!(codex.stages(), seen, "once");
}

/// The end of the turn marks the mail, and looks into the conversation first.
#[test]
fn the_end_of_a_turn_records_the_place_beside_the_handover() {
    let codex = Codex::new();
    codex.bob.send("the build is red");
    let said = codex.says("UserPromptSubmit");
    codex.keeps(&said);
    assert_eq!(codex.says("Stop"), Value::Null);
    let what: Vec<Value> = codex.stages().iter().map(|stage| stage["evidence"]["what"].clone()).collect();
    assert!(what.contains(&json!("in the recipient's conversation, with its id")), "{what:?}");
    assert_eq!(codex.bob.unread(), [""; 0]);
}

/// A prompt that was taken back: its hook had said the mail, and it counted as read with the next turn's end.
#[test]
fn mail_that_the_client_dropped_is_told_again() {
    let codex = Codex::new();
    codex.bob.send("the build is red");
    let dropped = codex.says("UserPromptSubmit");
    assert_eq!(codex.says("UserPromptSubmit"), Value::Null);
    codex.answers();
    assert_eq!(codex.says("Stop"), Value::Null);
    assert_eq!(codex.bob.unread(), ["the build is red"]);
    let again = codex.says("UserPromptSubmit");
    assert_eq!(text(&again), text(&dropped));
    codex.keeps(&again);
    codex.answers();
    assert_eq!(codex.says("Stop"), Value::Null);
    assert_eq!(codex.bob.unread(), [""; 0]);
}

/// Notices stand in one line without their ids, and were looked for in vain.
#[test]
fn notices_are_told_once() {
    let codex = Codex::new();
    codex.bob.send(r#"{"type":"idle_notification","from":"alice","idleReason":"available"}"#);
    let said = codex.says("UserPromptSubmit");
    assert!(text(&said).contains("- idle: "), "{said}");
    codex.answers();
    assert_eq!(codex.says("Stop"), Value::Null);
    assert_eq!(codex.says("UserPromptSubmit"), Value::Null);
}

/// Text of the same words elsewhere, or of another member's session, proves nothing.
#[test]
fn a_conversation_that_no_hook_was_called_in_proves_nothing() {
    let codex = Codex::new();
    codex.bob.send("the build is red");
    let said = codex.bob.says("UserPromptSubmit", &json!({ "turn_id": "1", "transcript_path": "/none" }));
    codex.keeps(&said);
    assert_eq!(codex.stages(), Vec::<Value>::new());
}

/// The lock on a thread tells that Codex has it open; the file alone does not.
#[test]
#[cfg(target_os = "linux")]
fn codex_is_there_while_its_thread_is_locked() {
    let codex = Codex::new();
    let world = &codex.bob.world;
    let locks = world.home().join(".codex/thread-writer-locks");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{THREAD}.lock"))).unwrap();
    lock.lock().unwrap();
    codex.says("SessionStart");
    let presence = || world.json(&["status", "bob", "--why"]);
    let there = presence();
    assert_eq!(there["state"], "online", "{there}");
    let why = there["evidence"][0]["what"].as_str().unwrap();
    assert!(why.contains(&format!("is open (process {} holds its lock)", std::process::id())), "{there}");
    codex.says("Stop");
    let idle = presence();
    assert_eq!((&idle["state"], &idle["activity"]), (&json!("idle"), &json!("idle")), "{idle}");
    drop(lock);
    let gone = presence();
    assert_eq!(gone["state"], "offline", "{gone}");
    let why = gone["evidence"][0]["what"].as_str().unwrap();
    assert!(why.starts_with("no process has its session 0199a0b1 of Codex open"), "{gone}");
}

#[test]
fn qwen_gets_mail_with_a_prompt_and_not_at_the_start() {
    let bob = Bob::new("qwen");
    bob.send("the build is red");
    bob.is_silent("SessionStart", &json!({ "source": "startup" }));
    let said = bob.says("UserPromptSubmit", &json!({ "prompt": "go on" }));
    assert!(text(&said).contains("the build is red"), "{said}");
    // Killed before the turn's end, and taken up again: it did not keep what it was told.
    bob.is_silent("SessionStart", &json!({ "source": "resume" }));
    let said = bob.says("UserPromptSubmit", &json!({ "prompt": "go on" }));
    assert!(text(&said).contains("the build is red"), "{said}");
    bob.is_silent("Stop", &json!({ "stop_hook_active": false }));
    assert_eq!(bob.unread(), [""; 0]);
}
