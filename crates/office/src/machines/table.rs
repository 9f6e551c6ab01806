//! What is known of other machines' members: a small file of ours, replaced whole by the bridge. Their homes stand in
//! `config.json`; here is what does not belong there.

use std::collections::BTreeMap;

use atm_store::Memo;
use atm_wire::{MachineName, Stamp, TeamName};
use serde::{Deserialize, Serialize};

use super::place::RemoteMember;
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::presence::{Judgement, Presence, Trace, Weight};

/// The members of other machines that a team has, by what they are called here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Table(BTreeMap<String, RemoteMember>);

type Tables = BTreeMap<String, Table>;

impl Table {
    pub(super) fn new(members: impl Iterator<Item = (String, RemoteMember)>) -> Self {
        Self(members.collect())
    }

    /// Whether a member leads on its machine.
    pub(super) fn leads(&self, name: &str, machine: &MachineName) -> bool {
        self.0.values().any(|member| member.is_lead && member.name == name && member.machine == *machine)
    }

    /// What a member of a machine is called here. One that nobody announced has its machine's name with its own.
    pub(super) fn name_of(&self, name: &str, machine: &MachineName) -> String {
        let is_it = |member: &&RemoteMember| member.name == name && member.machine == *machine;
        let known = self.0.iter().find(|(_, member)| is_it(member)).map(|(called, _)| called.clone());
        known.unwrap_or_else(|| machine.qualify(name))
    }

    /// A member's own name and home, by what it is called here.
    pub(super) fn member(&self, called: &str) -> Option<(&str, &MachineName)> {
        self.0.get(called).map(|member| (member.name.as_str(), &member.machine))
    }

    /// The home of a member, by what it is called here.
    pub(super) fn machine_of(&self, called: &str) -> Option<&MachineName> {
        self.0.get(called).map(|member| &member.machine)
    }

    /// The names here.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, &MachineName)> {
        self.0.iter().map(|(called, member)| (called.as_str(), &member.machine))
    }

    /// Whether a member is there, as its home last said.
    pub(crate) fn judge(&self, called: &str, machine: &MachineName, is_served: bool) -> Judgement {
        let known = self.0.get(called);
        let said = known.map_or("unknown", |member| member.state.as_str());
        let (state, what) = match said {
            _ if !is_served => {
                (Presence::Unknown, format!("on machine {machine}; no bridge runs here to ask it"))
            }
            "online" => (Presence::Online, format!("on machine {machine}, which says that it is online")),
            "idle" => (Presence::Idle, format!("on machine {machine}, which says that it is idle")),
            "stalled" => (Presence::Stalled, format!("on machine {machine}, which says that it is stalled")),
            "offline" => (Presence::Offline, format!("on machine {machine}, which says that it is offline")),
            _ => (Presence::Unknown, format!("on machine {machine}, which has not been heard of")),
        };
        let at: Option<Stamp> = known.and_then(|member| member.seen_at);
        Judgement { state, activity: None, evidence: vec![Trace { what, at, weight: Weight::Decides }] }
    }
}

impl Office {
    /// What is known of other machines' members in a team. A file that cannot be read is as none.
    pub(crate) fn table(&self, team: &TeamName) -> Table {
        let text = self.machines_memo().read().ok().flatten();
        parse(text.as_deref()).remove(team.as_str()).unwrap_or_default()
    }

    /// Puts a table in the place of the last one; a team without members of other machines has none.
    pub(super) fn set_table(&self, team: &TeamName, table: Table) -> Result<(), OfficeError> {
        if self.table(team) == table {
            return Ok(());
        }
        self.machines_memo().update(|text| {
            let mut tables = parse(text);
            if table.0.is_empty() {
                tables.remove(team.as_str());
            } else {
                tables.insert(team.to_string(), table);
            }
            Ok((Some(serde_json::to_string(&tables).unwrap_or_default()), ()))
        })
    }

    fn machines_memo(&self) -> Memo {
        Memo::of_machines(&self.root, &self.state, self.times)
    }
}

fn parse(text: Option<&str>) -> Tables {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
