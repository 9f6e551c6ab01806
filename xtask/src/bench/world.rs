//! A throw-away team on the real disk, with inboxes as clients write them.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use atm_office::Office;
use atm_store::{Root, State};
use serde_json::Value;

use super::measure;

pub(super) const TEAM: &str = "bench";

/// The team `bench` with its lead and one member, `bob`, made by `atm` itself.
pub(super) struct World {
    atm: PathBuf,
    folder: PathBuf,
}

impl World {
    /// A new team in the new folder `name` below `scratch`.
    pub(super) fn new(atm: &Path, scratch: &Path, name: &str) -> Result<Self> {
        Self::with(atm, scratch, name, "bob")
    }

    /// The same with another member than bob.
    pub(super) fn with(atm: &Path, scratch: &Path, name: &str, member: &str) -> Result<Self> {
        let world = Self { atm: atm.to_owned(), folder: scratch.join(name) };
        fs::create_dir(&world.folder)?;
        let create = ["team", "create", TEAM, "--description", "Measured", "--lead", "team-lead"];
        measure::run(world.command().args(create))?;
        measure::run(world.command().args(["-t", TEAM, "member", "add", member]))?;
        fs::create_dir_all(world.inboxes())?;
        Ok(world)
    }

    /// `atm` as this member of the team.
    pub(super) fn atm(&self, name: &str) -> Command {
        let mut command = self.command();
        command.args(["-t", TEAM, "--as", name]);
        command
    }

    /// `atm` in this world, and with nothing of the user's.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.atm);
        for name in ["ATM_ROOT", "ATM_STATE", "ATM_TEAM", "ATM_AS", "CLAUDE_CONFIG_DIR"] {
            command.env_remove(name);
        }
        command.env("HOME", &self.folder).env("XDG_CONFIG_HOME", self.folder.join("config"));
        command.current_dir(&self.folder);
        command.arg("--root").arg(self.root());
        command.arg("--state").arg(self.folder.join("state"));
        command
    }

    /// The library in this world.
    pub(super) fn office(&self) -> Office {
        Office::new(Root::new(self.root()), State::new(self.folder.join("state")))
    }

    /// The shared tree.
    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.folder.join("state").join("log.db")
    }

    /// The archive of bob's inbox.
    pub(super) fn archive(&self) -> PathBuf {
        self.folder.join("state").join("archive").join(TEAM).join("bob.jsonl")
    }

    fn inboxes(&self) -> PathBuf {
        self.root().join("teams").join(TEAM).join("inboxes")
    }

    pub(super) fn inbox(&self) -> PathBuf {
        self.inboxes().join("bob.json")
    }

    /// Makes bob's inbox these messages and no others.
    pub(super) fn fill(&self, numbers: Range<u32>, read: bool) -> Result<()> {
        measure::write_synced(&self.inbox(), inbox(numbers, read).as_bytes())
    }

    /// What is in bob's inbox.
    pub(super) fn entries(&self) -> Result<Vec<Value>> {
        let path = self.inbox();
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Each of these texts must be in bob's inbox, once.
    pub(super) fn must_have(&self, texts: &[String]) -> Result<()> {
        let entries = self.entries()?;
        for text in texts {
            let found = entries.iter().filter(|entry| entry["text"].as_str() == Some(text)).count();
            ensure!(found == 1, "\"{text}\" was accepted and is in the inbox {found} times instead of once");
        }
        Ok(())
    }
}

/// An inbox as the newest clients write it, of about 500 bytes a message.
pub(super) fn inbox(numbers: Range<u32>, read: bool) -> String {
    let mut json = String::from("[");
    for number in numbers {
        let separator = if json.len() == 1 { "" } else { "," };
        let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
        let _ = write!(
            json,
            r#"{separator}
  {{
    "from": "team-lead",
    "text": "{text}",
    "summary": "Step {number} of the parser work",
    "timestamp": "2026-11-15T{hour:02}:{minute:02}:{second:02}.000Z",
    "color": "blue",
    "msgV": 1,
    "msg_id": "{number:08x}-5a3e-4c0d-9b1f-{number:012x}",
    "type": "message",
    "read": {read}
  }}"#,
            text = text(number)
        );
    }
    json.push_str("\n]");
    json
}

/// The text of a generated message.
pub(super) fn text(number: u32) -> String {
    format!(
        "Step {number}: the parser takes both spellings of a time now, and the tests cover the old one. Please \
         look at the error type next: every variant should carry the path, and the caller adds the hint. \
         Tell me when it builds, and what you left out."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_inbox_is_what_clients_write() {
        let json = inbox(0..1000, false);
        let entries: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(entries.len(), 1000);
        assert!(json.starts_with("[\n  {\n    \"from\": ") && json.ends_with("\n  }\n]"));
        assert!((450..=600).contains(&(json.len() / 1000)), "{} bytes each", json.len() / 1000);
    }
}
