//! `atm archive`, `atm archive --over`, `atm clean` and what they leave to be found, through the real binary.

mod commands;
mod crashes;
mod history;
mod refusals;

use std::fs;

use serde_json::Value;

use crate::scene::{World, texts};

impl World {
    /// A team whose bob has read the first two of three messages.
    fn with_mail_read(layout: &str) -> Self {
        let world = Self::new();
        world.ok(&["team", "create", "dev", "--layout", layout]);
        for name in ["alice", "bob"] {
            world.ok(&["member", "add", name]);
        }
        for text in ["one", "two", "three"] {
            world.ok(&["--as", "alice", "send", "bob", text]);
        }
        world.ok(&["--as", "bob", "read", "--limit", "2"]);
        world
    }

    /// The texts in bob's inbox.
    fn inbox_texts(&self) -> Vec<String> {
        texts(&self.json(&["inbox", "bob"]))
    }

    /// The texts in bob's archive.
    fn archived_texts(&self) -> Vec<String> {
        texts(&self.json(&["inbox", "bob", "--archived"]))
    }

    fn setting(&self, text: &str) {
        fs::write(self.home().join(".atm.toml"), text).unwrap();
    }

    /// The evidence of each stage of a message.
    fn evidence(&self, id: &str) -> Vec<(String, String)> {
        let told = |stage: &Value, key: &str| stage[key].as_str().unwrap_or_default().to_owned();
        let track = self.json(&["track", id]);
        let stages = track["stages"].as_array().unwrap().iter();
        stages.map(|stage| (told(stage, "stage"), told(&stage["evidence"], "what"))).collect()
    }
}
