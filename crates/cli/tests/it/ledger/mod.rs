//! What became of a message: through the real binary, beside programs that take mail in their own manners.

mod answers;
mod crashes;
mod proofs;
mod putback;
mod recalls;
mod retries;
mod takers;
mod trouble;
mod undone;

use serde_json::Value;

use crate::scene::World;

impl World {
    /// Sends as the lead and gives the message's id.
    pub(super) fn sent(&self, to: &str, text: &str) -> String {
        self.json(&["--as", "team-lead", "send", to, text])["id"].as_str().unwrap().to_owned()
    }

    /// The stages of a message, in their order.
    pub(super) fn stages(&self, id: &str) -> Vec<String> {
        let track = self.json(&["track", id]);
        track["stages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|stage| stage["stage"].as_str().unwrap().to_owned())
            .collect()
    }

    /// How far a message came.
    pub(super) fn stage(&self, id: &str) -> String {
        self.json(&["track", id])["stage"].as_str().unwrap().to_owned()
    }

    /// The file of an inbox of the team that [`World::with_team`] makes.
    pub(super) fn inbox_file(&self, name: &str) -> std::path::PathBuf {
        self.root().join(format!("teams/dev/inboxes/{name}.json"))
    }

    /// The texts in that file.
    pub(super) fn texts_for(&self, name: &str) -> Vec<String> {
        let entries: Vec<Value> =
            serde_json::from_slice(&std::fs::read(self.inbox_file(name)).unwrap()).unwrap();
        entries.iter().map(|entry| entry["text"].as_str().unwrap().to_owned()).collect()
    }
}
