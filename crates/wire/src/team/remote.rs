//! Members of other machines, as entries of ours among the members here.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Member, TeamConfig};
use crate::color::Color;
use crate::json::Object;
use crate::machine::MachineName;
use crate::name::MemberName;
use crate::stamp::Stamp;

/// Where the machine stands in an entry: by this key an entry is known to be ours.
pub const MACHINE: [&str; 3] = ["metadata", "atm", "machine"];

/// What stands there; an entry without it, or with something odd, is somebody else's.
pub(crate) fn read(member: &Object<'_>) -> Option<MachineName> {
    let inner = |raw: &RawValue, key: &str| Some(Object::parse(raw.get()).ok()?.get(key)?.get().to_owned());
    let [metadata, atm, machine] = MACHINE;
    let atm = inner(member.get(metadata)?, atm)?;
    let name: String = Object::parse(&atm).ok()?.string(machine)?.into();
    MachineName::parse(&name).ok()
}

impl TeamConfig {
    /// Whether the team has members of other machines.
    pub fn is_shared(&self) -> bool {
        self.members.iter().any(|member| member.machine.is_some())
    }

    /// The member of another machine that a name means: its own name, or the name of its inbox file. A member of this
    /// machine comes first.
    pub fn remote(&self, name: &str) -> Option<&Member> {
        let is_remote = |member: &&Member| member.machine.is_some();
        match self.member(name) {
            Some(member) => Some(member).filter(is_remote),
            None => self.members.iter().filter(is_remote).find(|member| member.has_file(name)),
        }
    }

    /// The machine that is the home of a name, if that is another one. Beside its members every machine has names that it
    /// lists nowhere, its user's first of all: `NAME.MACHINE` is on that machine, if the team has members there.
    pub fn machine_of(&self, name: &str) -> Option<&MachineName> {
        if let Some(member) = self.member(name) {
            return member.machine.as_ref();
        }
        let machines = self.members.iter().filter_map(|member| member.machine.as_ref());
        let is_there = |machine: &&MachineName| {
            machine.unqualify(name) != name || name.strip_suffix(machine.as_str()) == Some(USER_FILE)
        };
        self.remote(name)
            .and_then(|member| member.machine.as_ref())
            .or_else(|| machines.into_iter().find(is_there))
    }
}

/// What the file of another machine's user begins with: clients write a dot as a hyphen.
const USER_FILE: &str = "user-";

impl Member {
    fn has_file(&self, stem: &str) -> bool {
        self.checked_name().is_ok_and(|name| name.file_stem() == stem)
    }
}

/// The entry for a member of another machine. Its pane is empty, so that no client takes one for its own and ends it, and
/// it is not active here, so that none waits for its end.
#[derive(Debug)]
pub struct RemoteEntry<'a> {
    /// What it is called here.
    pub name: &'a MemberName,
    /// `name@team`.
    pub agent_id: String,
    /// Its home.
    pub machine: &'a MachineName,
    /// Its colour.
    pub color: Color,
    /// Now.
    pub joined_at: Stamp,
}

impl RemoteEntry<'_> {
    /// What stands in the file.
    pub fn render(&self) -> impl Serialize + '_ {
        Entry {
            agent_id: &self.agent_id,
            name: self.name,
            agent_type: "general-purpose",
            model: "sonnet",
            color: &self.color,
            joined_at: self.joined_at.as_millis(),
            tmux_pane_id: "",
            subscriptions: [],
            backend_type: "in-process",
            is_active: false,
            metadata: EntryMetadata { atm: Mark { machine: self.machine } },
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    agent_id: &'a str,
    name: &'a MemberName,
    agent_type: &'a str,
    model: &'a str,
    color: &'a Color,
    joined_at: i64,
    tmux_pane_id: &'a str,
    subscriptions: [(); 0],
    backend_type: &'a str,
    is_active: bool,
    metadata: EntryMetadata<'a>,
}

#[derive(Serialize)]
struct EntryMetadata<'a> {
    atm: Mark<'a>,
}

#[derive(Serialize)]
struct Mark<'a> {
    machine: &'a MachineName,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: &str = r#"{"leadAgentId":"team-lead@x","members":[
        {"name":"team-lead"},{"name":"ann"},{"name":"bob-7"},
        {"name":"bob","metadata":{"atm":{"machine":"laptop"}}},
        {"name":"team-lead.laptop","agentType":"team-lead","metadata":{"atm":{"machine":"laptop"}}},
        {"name":"eve","metadata":{"atm":{"machine":"../x"}}}]}"#;

    #[test]
    fn a_home_is_told_by_the_mark_the_name_or_the_file() {
        let config = TeamConfig::parse(TEAM).unwrap();
        for (name, machine) in [
            ("bob", Some("laptop")),
            ("team-lead.laptop", Some("laptop")),
            ("team-lead-laptop", Some("laptop")),
            ("user.laptop", Some("laptop")),
            ("user-laptop", Some("laptop")),
            ("ghost.laptop", Some("laptop")),
            ("ghost-laptop", None),
            ("user", None),
            ("user.desk", None),
            ("laptop", None),
            ("ann", None),
            ("bob-7", None),
            ("team-lead", None),
            ("eve", None),
        ] {
            assert_eq!(config.machine_of(name).map(MachineName::as_str), machine, "{name}");
        }
        assert!(config.is_shared());
        assert_eq!(config.remote("user.laptop").map(|member| member.name.as_str()), None);
    }

    #[test]
    fn a_lead_of_another_machine_leads_nobody_here() {
        let config = TeamConfig::parse(TEAM).unwrap();
        assert_eq!(config.lead().unwrap().name, "team-lead");
        let without = TEAM.replace(r#"{"name":"team-lead"},"#, "");
        assert!(TeamConfig::parse(&without).unwrap().lead().is_none());
        let named = without.replace("team-lead@x", "team-lead.laptop@x");
        assert!(TeamConfig::parse(&named).unwrap().lead().is_none());
    }

    #[test]
    fn an_entry_reads_back_as_ours() {
        let (name, machine) = ("bob".parse().unwrap(), "laptop".parse().unwrap());
        let entry = RemoteEntry {
            name: &name,
            agent_id: "bob@x".to_owned(),
            machine: &machine,
            color: Color::Blue,
            joined_at: Stamp::from_millis(1),
        };
        let text =
            serde_json::json!({ "members": [serde_json::to_value(entry.render()).unwrap()] }).to_string();
        let config = TeamConfig::parse(&text).unwrap();
        let bob = config.member("bob").unwrap();
        assert_eq!((bob.machine.as_ref(), bob.tmux_pane_id.as_deref()), (Some(&machine), Some("")));
        assert!(bob.is_offline() && bob.metadata.is_empty());
    }
}
