//! Teams and members that we make ourselves.

use serde::Serialize;

use crate::color::Color;
use crate::metadata::{self, Metadata};
use crate::name::{MemberName, NameError, TeamName};
use crate::stamp::Stamp;
use crate::team::Spawned;

/// The version of the format that we write.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The longest prompt, in characters.
const LONGEST_PROMPT: usize = 100_000;

/// A field of something new that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct FieldError {
    field: &'static str,
    rule: &'static str,
}

impl FieldError {
    pub(crate) fn new(field: &'static str, rule: &'static str) -> Self {
        Self { field, rule }
    }

    /// The field, as the file spells it.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// The rule, as a sentence without its subject.
    pub fn rule(&self) -> &'static str {
        self.rule
    }
}

/// Ok when `holds`, else the field and its rule.
fn rule(field: &'static str, holds: bool, rule: &'static str) -> Result<(), FieldError> {
    if holds { Ok(()) } else { Err(FieldError { field, rule }) }
}

fn name_rule(checked: Result<impl Sized, NameError>) -> Result<(), FieldError> {
    checked.map(drop).map_err(|error| FieldError { field: "name", rule: error.rule() })
}

/// A team to be created.
#[derive(Debug, Clone)]
pub struct NewTeam {
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: String,
    /// Now.
    pub created_at: Stamp,
    /// The lead's conversation, where there is one.
    pub lead_session_id: Option<String>,
    /// The first member.
    pub lead: Option<NewMember>,
    /// What its people want to have in it.
    pub metadata: Metadata,
}

/// A member to be added.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// Its name.
    pub name: MemberName,
    /// Its team; with the name, the agent's id.
    pub team: TeamName,
    /// `general-purpose`, `team-lead`…
    pub agent_type: String,
    /// `haiku`, `sonnet`, `opus`, or a model's full id.
    pub model: String,
    /// What it is to be started with.
    pub prompt: String,
    /// Its colour.
    pub color: Color,
    /// Whether it needs the lead's leave for its plans.
    pub plan_mode_required: Option<bool>,
    /// Now.
    pub joined_at: Stamp,
    /// `%14`, `leader`, `in-process`, or nothing.
    pub tmux_pane_id: String,
    /// Where it works.
    pub cwd: Option<String>,
    /// `tmux`, `in-process`…
    pub backend_type: String,
    /// Whether it runs.
    pub is_active: bool,
    /// When it was started, if it was.
    pub spawned_at: Option<Stamp>,
    /// How we start it, if we do.
    pub spawned: Option<Spawned>,
    /// What its people want to have in it, beside ours.
    pub metadata: Metadata,
}

impl NewTeam {
    /// Checks every field, the lead's too.
    pub fn validate(&self) -> Result<(), FieldError> {
        name_rule(TeamName::create(self.name.as_str()))?;
        let length = self.description.chars().count();
        rule("description", (1..=500).contains(&length), "must have 1 to 500 characters")?;
        metadata::check(&self.metadata)?;
        self.lead.as_ref().map_or(Ok(()), NewMember::validate)
    }

    /// What stands in the file.
    pub fn render(&self) -> impl Serialize + '_ {
        TeamFile {
            name: &self.name,
            description: &self.description,
            created_at: self.created_at,
            schema_version: SCHEMA_VERSION,
            lead_agent_id: self.lead.as_ref().map(NewMember::agent_id),
            lead_session_id: self.lead_session_id.as_deref(),
            metadata: (!self.metadata.is_empty()).then_some(&self.metadata),
            members: self.lead.iter().map(NewMember::entry).collect(),
        }
    }
}

impl NewMember {
    /// `name@team`.
    pub fn agent_id(&self) -> String {
        format!("{}@{}", self.name, self.team)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), FieldError> {
        name_rule(MemberName::create(self.name.as_str()))?;
        rule("agentType", !self.agent_type.trim().is_empty(), "must not be empty")?;
        rule("model", is_model(&self.model), "must be haiku, sonnet, opus or a model's full id")?;
        rule(
            "prompt",
            self.prompt.chars().count() <= LONGEST_PROMPT,
            "must not have more than 100000 characters",
        )?;
        rule(
            "tmuxPaneId",
            is_pane(&self.tmux_pane_id),
            "must be \"%<number>\", \"leader\", \"in-process\" or empty",
        )?;
        metadata::check(&self.metadata)?;
        rule("cwd", self.cwd.as_deref() != Some(""), "must not be empty")?;
        let is_known = !matches!(self.color, Color::Other(_));
        rule("color", is_known, "must be the name of a colour, like blue, or #RRGGBB")?;
        rule("backendType", !self.backend_type.trim().is_empty(), "must not be empty")
    }

    /// What stands in the file.
    pub fn render(&self) -> impl Serialize + '_ {
        self.entry()
    }

    fn entry(&self) -> MemberEntry<'_> {
        MemberEntry {
            agent_id: self.agent_id(),
            name: &self.name,
            agent_type: &self.agent_type,
            model: &self.model,
            prompt: &self.prompt,
            color: &self.color,
            plan_mode_required: self.plan_mode_required,
            joined_at: self.joined_at.as_millis(),
            tmux_pane_id: &self.tmux_pane_id,
            cwd: self.cwd.as_deref(),
            subscriptions: [],
            backend_type: &self.backend_type,
            is_active: self.is_active,
            spawned_at: self.spawned_at,
            metadata: (self.spawned.is_some() || !self.metadata.is_empty()).then(|| MemberMetadata {
                others: &self.metadata,
                atm: self.spawned.as_ref().map(|spawn| OursOfMember { spawn }),
            }),
        }
    }
}

/// A short name or a full id; both are made of the same characters (`[1m]` asks for a longer context).
fn is_model(model: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-[]".contains(&byte);
    (1..=100).contains(&model.len()) && model.bytes().all(allowed)
}

fn is_pane(pane: &str) -> bool {
    match pane.strip_prefix('%') {
        Some(number) => !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()),
        None => matches!(pane, "" | "leader" | "in-process"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TeamFile<'a> {
    name: &'a TeamName,
    description: &'a str,
    created_at: Stamp,
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lead_agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lead_session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Metadata>,
    members: Vec<MemberEntry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MemberEntry<'a> {
    agent_id: String,
    name: &'a MemberName,
    agent_type: &'a str,
    model: &'a str,
    prompt: &'a str,
    color: &'a Color,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_mode_required: Option<bool>,
    /// A number of milliseconds, as clients write it.
    joined_at: i64,
    tmux_pane_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    /// Empty, as clients write it.
    subscriptions: [(); 0],
    backend_type: &'a str,
    is_active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    spawned_at: Option<Stamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<MemberMetadata<'a>>,
}

#[derive(Serialize)]
struct MemberMetadata<'a> {
    #[serde(flatten)]
    others: &'a Metadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    atm: Option<OursOfMember<'a>>,
}

#[derive(Serialize)]
struct OursOfMember<'a> {
    spawn: &'a Spawned,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::team::TeamConfig;

    fn lead() -> NewMember {
        NewMember {
            name: MemberName::create("team-lead").unwrap(),
            team: TeamName::create("alpha").unwrap(),
            agent_type: "team-lead".into(),
            model: "claude-sonnet-4-5".into(),
            prompt: String::new(),
            color: Color::LEAD,
            plan_mode_required: None,
            joined_at: Stamp::from_millis(1_794_768_140_463),
            tmux_pane_id: "%14".into(),
            cwd: Some("/home/user".into()),
            backend_type: "tmux".into(),
            is_active: true,
            spawned_at: Some(Stamp::from_millis(1_794_768_140_463)),
            spawned: None,
            metadata: Metadata::new(),
        }
    }

    fn team() -> NewTeam {
        NewTeam {
            name: TeamName::create("alpha").unwrap(),
            description: "Ships it".into(),
            created_at: Stamp::from_millis(1_794_768_140_463),
            lead_session_id: None,
            lead: Some(lead()),
            metadata: Metadata::new(),
        }
    }

    #[test]
    fn keys_stand_in_the_agreed_order() {
        assert_eq!(
            serde_json::to_string(&team().render()).unwrap(),
            concat!(
                r#"{"name":"alpha","description":"Ships it","createdAt":"2026-11-15T18:42:20.463Z","#,
                r#""schemaVersion":"1.0.0","leadAgentId":"team-lead@alpha","members":[{"#,
                r#""agentId":"team-lead@alpha","name":"team-lead","agentType":"team-lead","model":"claude-sonnet-4-5","#,
                r#""prompt":"","color":"yellow","joinedAt":1794768140463,"tmuxPaneId":"%14","cwd":"/home/user","#,
                r#""subscriptions":[],"backendType":"tmux","isActive":true,"spawnedAt":"2026-11-15T18:42:20.463Z"}]}"#,
            )
        );
    }

    #[test]
    fn what_we_write_we_read() {
        let config = TeamConfig::parse(&serde_json::to_string_pretty(&team().render()).unwrap()).unwrap();
        assert_eq!(config.created_at, Some(team().created_at));
        let found = config.lead().unwrap();
        assert_eq!((found.name.as_str(), found.joined_at), ("team-lead", Some(lead().joined_at)));
        assert!(!found.is_offline());
    }

    #[test]
    fn how_it_was_started_reads_back() {
        let spawned = Spawned {
            socket: "/s".into(),
            token: "t".into(),
            command: vec!["sh".into()],
            ..Spawned::default()
        };
        let lead = NewMember { spawned: Some(spawned.clone()), ..lead() };
        let text = serde_json::to_string(&NewTeam { lead: Some(lead), ..team() }.render()).unwrap();
        assert!(
            text.contains(r#""metadata":{"atm":{"spawn":{"socket":"/s","token":"t","command":["sh"]}}}"#),
            "{text}"
        );
        assert_eq!(TeamConfig::parse(&text).unwrap().lead().unwrap().spawned, Some(spawned));
    }

    #[test]
    fn good_ones_pass() {
        assert_eq!(team().validate(), Ok(()));
        for (model, pane) in [("haiku", ""), ("opus[1m]", "leader"), ("us.vendor/model-1:0", "in-process")] {
            let member = NewMember { model: model.into(), tmux_pane_id: pane.into(), ..lead() };
            assert_eq!(member.validate(), Ok(()));
        }
    }

    #[rstest]
    #[case(NewMember { name: MemberName::parse("Bob Smith").unwrap(), ..lead() }, "name")]
    #[case(NewMember { agent_type: " ".into(), ..lead() }, "agentType")]
    #[case(NewMember { model: String::new(), ..lead() }, "model")]
    #[case(NewMember { model: "my model".into(), ..lead() }, "model")]
    #[case(NewMember { model: "m".repeat(101), ..lead() }, "model")]
    #[case(NewMember { prompt: "é".repeat(100_001), ..lead() }, "prompt")]
    #[case(NewMember { tmux_pane_id: "%".into(), ..lead() }, "tmuxPaneId")]
    #[case(NewMember { tmux_pane_id: "14".into(), ..lead() }, "tmuxPaneId")]
    #[case(NewMember { cwd: Some(String::new()), ..lead() }, "cwd")]
    #[case(NewMember { backend_type: String::new(), ..lead() }, "backendType")]
    fn a_bad_field_is_named(#[case] member: NewMember, #[case] field: &str) {
        assert_eq!(member.validate().unwrap_err().field(), field);
        assert_eq!(NewTeam { lead: Some(member), ..team() }.validate().unwrap_err().field(), field);
    }

    #[test]
    fn descriptions_have_1_to_500_characters() {
        let described = |text: String| NewTeam { description: text, ..team() }.validate();
        assert_eq!(described("é".repeat(500)), Ok(()));
        assert_eq!(
            described("é".repeat(501)).unwrap_err().to_string(),
            "description: must have 1 to 500 characters"
        );
        assert!(described(String::new()).is_err());
    }
}
