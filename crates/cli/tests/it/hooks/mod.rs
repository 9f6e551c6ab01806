//! `atm hook`: mail for an agent in the middle of its work, in its client's own format.

mod formats;
mod proofs;
mod sessions;
mod trouble;
mod turns;

use serde_json::{Value, json};

use crate::scene::{Answer, World, texts};

/// A client that calls us for bob.
struct Bob {
    world: World,
    client: &'static str,
    session: &'static str,
}

impl Bob {
    fn new(client: &'static str) -> Self {
        Self { world: World::with_team(), client, session: "session-1" }
    }

    /// The hook `event`, with what the client adds to its usual words.
    fn hook(&self, event: &str, more: &Value) -> Answer {
        let mut input = json!({ "session_id": self.session, "cwd": "/", "transcript_path": "/none", "hook_event_name": event });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self
            .world
            .pipe(&["hook", event, "--client", self.client, "--as", "bob", "-t", "dev"], input.to_string());
        assert!(answer.code == Some(0) || event == "TeammateIdle", "{answer:?}");
        answer
    }

    /// The document that the hook answers with; null, if it says nothing.
    fn says(&self, event: &str, more: &Value) -> Value {
        let answer = self.hook(event, more);
        assert_eq!(answer.stderr, "");
        if answer.stdout.is_empty() { Value::Null } else { serde_json::from_str(&answer.stdout).unwrap() }
    }

    fn is_silent(&self, event: &str, more: &Value) {
        let answer = self.hook(event, more);
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""), "{event}");
    }

    fn send(&self, text: &str) {
        self.world.ok(&["--as", "team-lead", "send", "bob", text]);
    }

    fn send_urgent(&self, text: &str) {
        self.world.ok(&["--as", "team-lead", "send", "bob", text, "--ack-by", "5m"]);
    }

    fn unread(&self) -> Vec<String> {
        texts(&self.world.json(&["inbox", "bob", "--unread"]))
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.world.state().join("hook.log")).unwrap_or_default()
    }
}

fn nothing() -> Value {
    json!({})
}

/// The text for the model in a client's document.
fn text(document: &Value) -> &str {
    let places = [
        &document["hookSpecificOutput"]["additionalContext"],
        &document["reason"],
        &document["followup_message"],
    ];
    places.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("no text: {document}"))
}
