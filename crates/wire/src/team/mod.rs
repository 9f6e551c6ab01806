//! A team and its members, as `config.json` has them.
//!
//! This is a view for reading; edits are spliced into the file's own text. What is made new is in [`NewTeam`] and
//! [`NewMember`], which hold themselves to the documented limits.

mod new;
pub(crate) mod remote;
mod rename;
mod spawned;
mod waking;

use std::fmt;

use serde_json::value::RawValue;

use crate::color::Color;
use crate::json;
use crate::machine::MachineName;
use crate::message::Flaw;
use crate::metadata::{self, Metadata};
use crate::name::{MemberName, NameError};
use crate::payload::field::{document, read};
use crate::stamp::Stamp;

pub use new::{FieldError, NewMember, NewTeam, SCHEMA_VERSION};
pub use remote::{MACHINE, RemoteEntry};
pub use rename::renamed;
pub use spawned::{BackendError, BackendType, Spawned};
pub use waking::{Manner, UnknownManner, Waking};

/// The names of leads where nothing else says who leads: what clients call theirs, and the log layout's word for it.
pub const LEAD_NAMES: [&str; 2] = ["team-lead", "coordinator"];

/// Why a whole configuration cannot be read. One bad member is no reason: see [`TeamConfig::skipped`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the team's configuration {0}")]
pub struct TeamError(#[from] pub Flaw);

/// A team, in the spelling of any program.
#[derive(Debug, Clone, Default)]
pub struct TeamConfig {
    /// The team's name; its folder can be named differently.
    pub name: Option<String>,
    /// What the team is for.
    pub description: Option<String>,
    /// When it was made.
    pub created_at: Option<Stamp>,
    /// The lead as `name@team`.
    pub lead_agent_id: Option<String>,
    /// The lead's conversation.
    pub lead_session_id: Option<String>,
    /// The lead's process, which only the newest clients record.
    pub lead_process: Option<LeadProcess>,
    /// The version of the format.
    pub schema_version: Option<String>,
    /// Whether it says that the lead signs its mail.
    pub signed: bool,
    /// What its people put into it, without ours.
    pub metadata: Metadata,
    /// The members that can be understood.
    pub members: Vec<Member>,
    /// The entries that cannot.
    pub skipped: Vec<Skipped>,
}

/// The process that claims to lead a team.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeadProcess {
    /// Its id.
    pub pid: Option<u64>,
    /// The machine and namespace in which that id means something.
    pub pid_space: Option<String>,
    /// When it took the team.
    pub claimed_at: Option<Stamp>,
    /// When it started, in the kernel's ticks: tells it from a later process with the same id.
    pub proc_start: Option<String>,
}

/// A member, in the spelling of any program.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// Where it stands in the file's `members`, counted from 0.
    pub index: usize,
    /// `name@team`.
    pub agent_id: Option<String>,
    /// What mail is routed by. It is as the file has it; [`Member::checked_name`] is fit for paths.
    pub name: String,
    /// `general-purpose`, `team-lead`…
    pub agent_type: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What it was started with.
    pub prompt: Option<String>,
    /// Its colour.
    pub color: Option<Color>,
    /// `%14`, `leader`, `in-process`, or nothing.
    pub tmux_pane_id: Option<String>,
    /// `tmux`, `in-process`…
    pub backend_type: Option<String>,
    /// Whether it runs; clients say it only of members in processes of their own, and it can be out of date.
    pub is_active: Option<bool>,
    /// When it became a member.
    pub joined_at: Option<Stamp>,
    /// When it was started.
    pub spawned_at: Option<Stamp>,
    /// When it was ended.
    pub shutdown_at: Option<Stamp>,
    /// Where it works.
    pub cwd: Option<String>,
    /// Whether it needs the lead's leave for its plans.
    pub plan_mode_required: Option<bool>,
    /// How we started it, if we did.
    pub spawned: Option<Spawned>,
    /// How it is woken when mail comes.
    pub waking: Waking,
    /// The machine that is its home, if that is another one: the entry is ours, and stands for a member there.
    pub machine: Option<MachineName>,
    /// What its people put into it, without ours.
    pub metadata: Metadata,
}

/// An entry among the members that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it stands in the file's `members`, counted from 0.
    pub index: usize,
    /// What is wrong with it.
    pub reason: Flaw,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "members[{}] {}", self.index, self.reason)
    }
}

impl TeamConfig {
    /// Reads a configuration, whatever program wrote it.
    pub fn parse(text: &str) -> Result<TeamConfig, TeamError> {
        let object = document(text)?;
        let mut config = TeamConfig {
            name: read(&object, &["name"]),
            description: read(&object, &["description"]),
            created_at: read(&object, &["createdAt", "created_at"]),
            lead_agent_id: read(&object, &["leadAgentId", "lead_agent_id"]),
            lead_session_id: read(&object, &["leadSessionId", "lead_session_id"]),
            lead_process: object.get("leadProcess").and_then(LeadProcess::read),
            schema_version: read(&object, &["schemaVersion", "schema_version"]),
            signed: says_signed(&object) || object.get("leadProcess").is_some_and(in_object),
            metadata: metadata::others(object.get("metadata")),
            members: Vec::new(),
            skipped: Vec::new(),
        };
        for (index, entry) in entries(object.get("members"))?.into_iter().enumerate() {
            match Member::read(index, entry) {
                Ok(member) => config.members.push(member),
                Err(reason) => config.skipped.push(Skipped { index, reason }),
            }
        }
        Ok(config)
    }

    /// The member that leads: the one that the file names, else the one called `team-lead`, else the first whose type
    /// says so, else the one called `coordinator`. One of another machine leads there. A lead need not be a member: the
    /// office has the whole rule.
    pub fn lead(&self) -> Option<&Member> {
        let said = self.lead_agent_id.as_deref().map(name_of_agent);
        let here = |name: &str| self.member(name).filter(|member| member.machine.is_none());
        let leads = |member: &&Member| {
            member.machine.is_none()
                && member.agent_type.as_ref().is_some_and(|kind| kind.to_ascii_lowercase().contains("lead"))
        };
        said.and_then(here)
            .or_else(|| here(LEAD_NAMES[0]))
            .or_else(|| self.members.iter().find(leads))
            .or_else(|| here(LEAD_NAMES[1]))
    }

    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// The elements of `members`; a configuration without them has none yet.
fn entries(members: Option<&RawValue>) -> Result<Vec<&RawValue>, Flaw> {
    match members {
        Some(raw) if raw.get() != "null" => {
            json::elements(raw.get()).map_err(|_| Flaw::WrongType { field: "members", wanted: "an array" })
        }
        _ => Ok(Vec::new()),
    }
}

/// Whether a signature, or a key for one, stands in an object.
fn says_signed(object: &json::Object<'_>) -> bool {
    ["lead_sig", "leadSig", "leadSigKey", "lead_sig_key"]
        .iter()
        .any(|key| object.get(key).is_some_and(|raw| !["null", "false"].contains(&raw.get())))
}

fn in_object(raw: &RawValue) -> bool {
    document(raw.get()).is_ok_and(|object| says_signed(&object))
}

/// The name part of `name@team`.
pub fn name_of_agent(agent_id: &str) -> &str {
    agent_id.split_once('@').map_or(agent_id, |(name, _)| name)
}

impl LeadProcess {
    fn read(raw: &RawValue) -> Option<Self> {
        let object = document(raw.get()).ok()?;
        Some(Self {
            pid: read(&object, &["pid"]),
            pid_space: read(&object, &["pidSpace"]),
            claimed_at: read(&object, &["claimedAt"]),
            proc_start: read(&object, &["procStart"]),
        })
    }
}

impl Member {
    fn read(index: usize, raw: &RawValue) -> Result<Self, Flaw> {
        let object = document(raw.get())?;
        let agent_id: Option<String> = read(&object, &["agentId", "agent_id"]);
        let name: Option<String> = read(&object, &["name"]);
        let name = name
            .or_else(|| agent_id.as_deref().map(|id| name_of_agent(id).to_owned()))
            .filter(|name| !name.is_empty())
            .ok_or(Flaw::Missing("name"))?;
        Ok(Self {
            index,
            name,
            agent_id,
            agent_type: read(&object, &["agentType", "agent_type"]),
            model: read(&object, &["model"]),
            prompt: read(&object, &["prompt"]),
            color: read(&object, &["color"]),
            tmux_pane_id: read(&object, &["tmuxPaneId", "tmux_pane_id"]),
            backend_type: read(&object, &["backendType", "backend_type"]),
            is_active: read(&object, &["isActive", "is_active"]),
            joined_at: read(&object, &["joinedAt", "joined_at"]),
            spawned_at: read(&object, &["spawnedAt", "spawned_at"]),
            shutdown_at: read(&object, &["shutdownAt", "shutdown_at"]),
            cwd: read(&object, &["cwd"]),
            plan_mode_required: read(&object, &["planModeRequired", "plan_mode_required"]),
            spawned: Spawned::read(&object),
            waking: Waking::read(&object),
            machine: remote::read(&object),
            metadata: metadata::others(object.get("metadata")),
        })
    }

    /// The name, checked: a foreign file can hold any string, and this one becomes part of paths.
    pub fn checked_name(&self) -> Result<MemberName, NameError> {
        MemberName::parse(&self.name)
    }

    /// Whether the file says that it does not run. Saying nothing is not saying that.
    pub fn is_offline(&self) -> bool {
        self.is_active == Some(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn names(config: &TeamConfig) -> Vec<&str> {
        config.members.iter().map(|member| member.name.as_str()).collect()
    }

    #[test]
    fn the_documented_dialect() {
        let config = TeamConfig::parse(
            r#"{"name":"harbour","description":"d","createdAt":"2026-05-04T08:00:00.000Z","schemaVersion":"1.0.0",
                "members":[{"agentId":"ann@harbour","name":"ann","agentType":"general-purpose","model":"haiku",
                "prompt":"p","color":"blue","tmuxPaneId":"%14","backendType":"tmux","isActive":false,
                "spawnedAt":"2026-05-04T08:05:00Z","shutdownAt":"2026-05-04T09:45:00Z"}]}"#,
        )
        .unwrap();
        assert_eq!(config.created_at.unwrap().to_string(), "2026-05-04T08:00:00.000Z");
        assert_eq!(config.schema_version.as_deref(), Some("1.0.0"));
        let ann = config.member("ann").unwrap();
        assert!(ann.is_offline());
        assert_eq!(ann.color, Some(Color::Blue));
        assert_eq!(ann.shutdown_at.unwrap().to_string(), "2026-05-04T09:45:00.000Z");
        assert!(config.lead().is_none());
    }

    #[test]
    fn junk_among_the_members_is_passed_over_and_listed() {
        let config = TeamConfig::parse(
            r#"{"members":[null,{"name":"ann"},7,{"name":""},{"agentId":"bob@x","isActive":"yes"},{"model":"opus"}]}"#,
        )
        .unwrap();
        assert_eq!(names(&config), ["ann", "bob"]);
        assert_eq!(config.member("bob").unwrap().index, 4);
        assert_eq!(config.member("bob").unwrap().is_active, None);
        let skipped: Vec<String> = config.skipped.iter().map(ToString::to_string).collect();
        assert_eq!(
            skipped,
            [
                "members[0] is null, not an object",
                "members[2] is a number, not an object",
                "members[3] has no `name`",
                "members[5] has no `name`",
            ]
        );
    }

    #[rstest]
    #[case("[]", "the team's configuration is an array, not an object")]
    #[case(r#"{"members":{}}"#, "the team's configuration has a `members` that is not an array")]
    #[case("{", "the team's configuration is not valid JSON: EOF while parsing an object at line 1 column 1")]
    fn what_is_no_team(#[case] text: &str, #[case] error: &str) {
        assert_eq!(TeamConfig::parse(text).unwrap_err().to_string(), error);
    }

    #[rstest]
    #[case("{}")]
    #[case(r#"{"members":null}"#)]
    #[case(r#"{"name":7,"createdAt":"soon","leadProcess":3,"members":[]}"#)]
    fn teams_without_members(#[case] text: &str) {
        assert!(TeamConfig::parse(text).unwrap().members.is_empty());
    }

    #[rstest]
    #[case(r#""leadAgentId":"eve@x","#, Some("eve"))]
    #[case(r#""leadAgentId":"gone@x","#, Some("team-lead"))]
    #[case("", Some("team-lead"))]
    fn the_lead_is_who_the_file_says(#[case] said: &str, #[case] lead: Option<&str>) {
        let text = format!(r#"{{{said}"members":[{{"name":"eve"}},{{"name":"team-lead"}}]}}"#);
        let config = TeamConfig::parse(&text).unwrap();
        assert_eq!(config.lead().map(|member| member.name.as_str()), lead);
    }

    #[test]
    fn a_lead_by_its_type() {
        let config =
            TeamConfig::parse(r#"{"members":[{"name":"ann"},{"name":"boss","agentType":"Leader"}]}"#)
                .unwrap();
        assert_eq!(config.lead().unwrap().name, "boss");
    }

    #[test]
    fn a_dangerous_name_is_shown_and_not_used() {
        let config = TeamConfig::parse(r#"{"members":[{"name":"../../etc"}]}"#).unwrap();
        assert!(config.members[0].checked_name().is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*|\\{\"members\":\\[.*\\]\\}") {
            let _ = TeamConfig::parse(&text);
        }
    }
}
