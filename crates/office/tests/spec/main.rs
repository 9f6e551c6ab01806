//! What other programs' documents promise of teams' files, where the rules of mail decide it: mail that others write, in
//! their spellings, in both layouts.
#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod acknowledged;
mod files;
mod flaws;
mod order;
mod requests;
mod sending;
mod signs_of_life;
mod tasks;
mod waiting;

use std::fs;

use atm_office::Office;
use atm_office::clock::FixedClock;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_store::Layout;
use atm_support::{TestEnv, TestTeam};
use atm_wire::{MemberName, Stamp};
use serde_json::{Value, json};

/// Half a second past a whole one.
const NOW: i64 = 1_794_768_000_500;

/// A team of `team-lead` and `bob`, and a clock that stands still.
struct World {
    team: TestTeam,
    office: Office,
}

impl World {
    fn new(layout: Layout) -> Self {
        let team = TestEnv::new().team("demo", layout, &["team-lead", "bob", "eve"]);
        for name in ["team-lead", "bob", "eve"] {
            team.mailbox(name).create().unwrap();
        }
        let office = Office::new(team.env().store_root(), team.env().store_state());
        Self { team, office }.at(0)
    }

    /// The same, so many milliseconds later.
    fn at(&self, later: i64) -> Self {
        let clock = FixedClock(Stamp::from_millis(NOW + later));
        Self { team: self.team.clone(), office: self.office.clone().with_clock(clock) }
    }

    /// Changes the entry of `bob`, as its client would.
    fn set_bob(&self, key: &str, value: Value) {
        let text = fs::read_to_string(self.team.config_file()).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        let members = config["members"].as_array_mut().unwrap();
        let bob = members.iter_mut().find(|member| member["name"] == "bob").unwrap();
        bob[key] = value;
        fs::write(self.team.config_file(), config.to_string()).unwrap();
    }

    /// Takes the entry of `bob` away, as a client may when it ends.
    fn remove_bob(&self) {
        let text = fs::read_to_string(self.team.config_file()).unwrap();
        let mut config: Value = serde_json::from_str(&text).unwrap();
        config["members"].as_array_mut().unwrap().retain(|member| member["name"] != "bob");
        fs::write(self.team.config_file(), config.to_string()).unwrap();
    }

    /// Another program writes these entries or lines behind what is there.
    fn others_write(&self, to: &str, entries: &[Value]) {
        let mut all = self.team.entries(to);
        all.extend(entries.iter().cloned());
        let text = if self.team.inbox(to).extension().is_some() {
            Value::from(all).to_string()
        } else {
            all.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
        };
        self.team.write_inbox(to, text);
    }

    /// Words as another program writes them in this layout.
    fn words(&self, from: &str, to: &str, text: &str) -> Value {
        let timestamp = "2026-11-15T18:40:00Z";
        if self.team.inbox(to).extension().is_some() {
            json!({"from": from, "text": text, "timestamp": timestamp, "read": false})
        } else {
            json!({"type": "message", "from": from, "to": to, "timestamp": timestamp, "content": {"text": text}})
        }
    }

    fn send(&self, from: &str, to: &str, text: &str) -> Sent {
        let letter = Letter::new(to.parse().unwrap(), text);
        self.office.send(self.team.name(), &who(from), &letter, SendOptions::default()).unwrap()
    }
}

fn who(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}
