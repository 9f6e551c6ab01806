//! A session of a client, as a process of its own that calls the hooks with inputs as the client sends them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client_process::ClientProcess;
use crate::scene::{ATM, World};

pub(crate) struct Session<'a> {
    pub(crate) world: &'a World,
    pub(crate) process: ClientProcess,
    pub(crate) client: &'static str,
    pub(crate) id: String,
    pub(crate) folder: PathBuf,
    /// Where the client keeps the conversation, if it says so.
    pub(crate) transcript: Option<PathBuf>,
}

impl<'a> Session<'a> {
    /// A session in a folder below the home folder, which is made; its first hook was called.
    pub(crate) fn start(world: &'a World, id: &str, folder: &str) -> Self {
        let mut session = Self::silent(world, id, folder);
        assert_eq!(session.hook("SessionStart"), "");
        session
    }

    pub(crate) fn silent(world: &'a World, id: &str, folder: &str) -> Self {
        let folder = world.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let process = ClientProcess::start(world, &[]);
        Self { world, process, client: "claude", id: id.to_owned(), folder, transcript: None }
    }

    /// What the client's own registry says of it.
    pub(crate) fn registers(&self, name: &str, status: &str) {
        let entry = json!({ "sessionId": self.id, "cwd": self.folder, "name": name, "status": status });
        self.process.registers(self.world, entry);
    }

    pub(crate) fn run(&mut self, words: &[&str], event: &str) -> (i64, String, String) {
        let said = json!({
            "session_id": self.id, "cwd": self.folder, "hook_event_name": event, "transcript_path": self.transcript,
        });
        let variables = match self.client {
            "claude" => json!({ "CLAUDE_CODE_SESSION_ID": self.id }),
            _ => json!({}),
        };
        self.process.call(words, &said, (&variables, Some(&self.folder)))
    }

    /// Calls a hook; gives the text that it puts before the model.
    pub(crate) fn hook(&mut self, event: &str) -> String {
        let (code, stdout, stderr) = self.run(&[ATM, "hook", event, "--client", self.client], event);
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        let answer: Value = serde_json::from_str(&stdout).unwrap_or_default();
        let context = answer["hookSpecificOutput"]["additionalContext"].as_str();
        context.or(answer["reason"].as_str()).unwrap_or_default().to_owned()
    }

    /// The client asks its user for a permission, as it tells its hooks.
    pub(crate) fn asks(&mut self) {
        let event = if self.client == "gemini" { "Notification" } else { "PermissionRequest" };
        let mut said = json!({ "session_id": self.id, "cwd": self.folder, "hook_event_name": event });
        if self.client == "gemini" {
            // Others are about something else.
            said["notification_type"] = "SomethingElse".into();
            let words = [ATM, "hook", event, "--client", self.client];
            self.process.call(&words, &said, (&json!({}), Some(&self.folder)));
            said["notification_type"] = "ToolPermission".into();
        }
        let words = [ATM, "hook", event, "--client", self.client];
        let done = self.process.call(&words, &said, (&json!({}), Some(&self.folder)));
        assert_eq!(done, (0, String::new(), String::new()));
    }

    /// Runs a command of ours as the session's agent would.
    pub(crate) fn atm(&mut self, words: &[&str]) -> (i64, String, String) {
        self.run(&[&[ATM], words].concat(), "")
    }
}
