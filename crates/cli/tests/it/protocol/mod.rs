//! The team's protocol through the real binary: what is written, who may write it, what is set aside.

mod decisions;
mod payloads;
mod policy;
mod presence;
mod stale;
mod sweep;

use atm_office::Office;
use atm_wire::{MemberName, TeamName};
use serde_json::Value;

use crate::scene::World;

impl World {
    /// The library over the same files.
    pub(super) fn office(&self) -> Office {
        Office::new(self.store_root(), self.store_state()).with_panes(atm_panes::Tmux::default())
    }

    /// The payloads in an inbox, as programs that read the file see them.
    pub(super) fn payloads(&self, name: &str) -> Vec<Value> {
        let texts = self.texts_for(name);
        texts.iter().map(|text| serde_json::from_str(text).unwrap_or(Value::Null)).collect()
    }

    /// Asks a member to end, as the lead; gives the request's id.
    pub(super) fn asked_to_end(&self, name: &str) -> String {
        self.ok(&["--as", "team-lead", "shutdown", "request", name]).trim().to_owned()
    }

    /// Hands a plan in; gives the request's id.
    pub(super) fn planned(&self, name: &str) -> String {
        self.ok(&["--as", name, "plan", "submit", "first this, then that"]).trim().to_owned()
    }
}

pub(super) fn dev() -> TeamName {
    TeamName::parse("dev").unwrap()
}

pub(super) fn name(name: &str) -> MemberName {
    MemberName::parse(name).unwrap()
}
