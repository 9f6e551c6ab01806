//! What the engine's thread saves: what has to be remembered across a restart, and what the bridge says of itself.

use std::collections::BTreeMap;

use atm_store::files::{read_small, replace_own};
use serde::{Deserialize, Serialize};

use super::{Worker, now, steady_now};
use crate::engine::Memory;
use crate::files::Files;
use crate::house::{Announced, Neighbour};
use crate::name::Machine;
use crate::protocol::homes::{Homes, Memory as HomesMemory};
use crate::run::presence::said_at_to_remember;
use crate::run::status::to_the_minute;

/// The largest memory that is read.
const LARGEST_MEMORY: u64 = 256 << 20;

/// What is remembered across restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) engine: Memory,
    pub(super) neighbours: BTreeMap<Machine, Neighbour>,
    #[serde(default)]
    pub(super) homes: HomesMemory,
    /// What this machine announced of its own teams.
    #[serde(default)]
    pub(super) listed: Announced,
}

impl Worker {
    /// Saves what has to be remembered, and what the bridge says of itself.
    pub(super) fn save(&mut self) {
        self.is_unsaved = false;
        let mut neighbours = self.neighbours.clone();
        for neighbour in neighbours.values_mut() {
            // A heartbeat alone is nothing to remember.
            neighbour.is_present = false;
            neighbour.seen_at = to_the_minute(neighbour.seen_at);
            neighbour.beat_at = None;
            neighbour.said_at = said_at_to_remember(neighbour.said_at, now());
        }
        let homes = self.engine.local().homes().to_remember();
        let listed = self.engine.local().listed();
        let saved = Saved { engine: self.engine.to_remember(), neighbours, homes, listed };
        if saved != self.saved {
            // Strings, numbers and lists: that cannot fail.
            let text = serde_json::to_string(&saved).unwrap_or_default();
            match replace_own(&self.files.memory(), &text) {
                Ok(()) => self.saved = saved,
                Err(error) => self.note(&error),
            }
        }
        self.status.tally = self.engine.tally().clone();
        self.status.outbox = self.engine.outbox().by_machine();
        self.status.outbound = self.engine.outbox().backlog(self.engine.peers());
        self.status.clock_offset_ms = self.clock.get(steady_now());
        self.status.set_absent(self.engine.outbox().absent());
        self.status.held = self.engine.held();
        self.status.under_way = self.under_way;
        self.status.set_machines(&self.neighbours);
        if self.shown.as_ref() != Some(&self.status) {
            self.status.save(&self.files);
            self.shown = Some(self.status.clone());
        }
    }
}

/// The homes that the bridge of this machine remembers.
pub fn remembered_homes(files: &Files) -> Homes {
    Homes::remembering(load(files).homes)
}

/// What the last bridge remembered; nothing if it cannot be read, which costs time and traffic alone.
pub(super) fn load(files: &Files) -> Saved {
    let file = read_small(&files.memory(), LARGEST_MEMORY).ok().flatten();
    file.and_then(|file| serde_json::from_slice(&file.bytes).ok()).unwrap_or_default()
}
