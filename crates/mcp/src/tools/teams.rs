//! Teams: making, deleting, looking.

use atm_office::OfficeError;
use atm_office::people::members::MemberPlan;
use atm_office::people::teams::TeamPlan;
use atm_store::watch::Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect, OF_TEAM};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::trouble::Trouble;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TeamCreate {
    team_name: String,
    #[serde(default)]
    description: String,
}

impl Call for TeamCreate {
    const NAME: &'static str = "team_create";
    const ABOUT: &'static str = "Make a team and lead it.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"team_name": "shop", "description": "Builds a shop"}"#;
    const REQUIRED: &'static [&'static str] = &["team_name"];
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let about = if self.description.trim().is_empty() { &self.team_name } else { &self.description };
        let mut plan =
            TeamPlan { cwd: Some(desk.settings.cwd.clone()), ..TeamPlan::new(&self.team_name, about) };
        if let Some(bound) = desk.bound() {
            plan.lead = Some(bound.to_string());
        }
        let team = desk.office().create_team(&plan)?;
        desk.move_to(&team);
        let file = desk.office().folder(&team)?.config_file().display().to_string();
        let lead = plan.lead.unwrap_or_default();
        Answer::object(&json!({
            "team_name": team,
            "team_file_path": file,
            "lead_agent_id": format!("{lead}@{team}"),
        }))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TeamDelete {
    team_name: Option<String>,
}

impl Call for TeamDelete {
    const NAME: &'static str = "team_delete";
    const ABOUT: &'static str = "Delete a team without active teammates; its files are set aside.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_TEAM.example;
    const REQUIRED: &'static [&'static str] = OF_TEAM.required;
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut handle = desk.open(self.team_name.as_deref())?;
        desk.must_lead(&handle, "deleting it")?;
        // Members that have ended by now are recorded as offline.
        let _ = handle.notice_exits();
        let team = handle.name();
        let lead = handle.lead().ok();
        let is_lead = |name: &str| lead.is_some_and(|lead| lead.as_str() == name);
        let active: Vec<&str> = handle
            .config()
            .members
            .iter()
            .filter(|member| !is_lead(&member.name) && handle.why_off(member).is_none())
            .map(|member| member.name.as_str())
            .collect();
        if !active.is_empty() {
            return Err(Trouble::new(format!("team {team} has active teammates: {}", active.join(", "))).hint(
                "Ask them to end with send_message(type=\"shutdown_request\"), then process_shutdown_approved; or \
                 force_kill_teammate",
            ));
        }
        let kept = desk.office().delete_team(team, true)?;
        let message = format!("team {team} is deleted; its files are kept in {}", kept.display());
        Answer::object(&json!({ "success": true, "message": message, "team_name": team }))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AddMember {
    team_name: Option<String>,
    name: String,
    #[serde(default)]
    agent_type: String,
}

impl Call for AddMember {
    const NAME: &'static str = "add_member";
    const ABOUT: &'static str = "Add a member that runs by itself: it gets an inbox and no pane.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"name": "bob"}"#;
    const REQUIRED: &'static [&'static str] = &["name"];
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        desk.must_lead(&team, "adding members")?;
        let team = team.name();
        let agent_type = Some(self.agent_type).filter(|kind| !kind.trim().is_empty());
        let plan = MemberPlan { agent_type, ..MemberPlan::new(&self.name) };
        let name = desk.office().add_member(team, &plan)?;
        let message = format!("{name} is a member; its own server is started with --as {name}@{team}");
        Answer::object(&json!({ "success": true, "message": message }))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadConfig {
    team_name: Option<String>,
}

impl Call for ReadConfig {
    const NAME: &'static str = "read_config";
    const ABOUT: &'static str = "The team's configuration with its members.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = OF_TEAM.example;
    const REQUIRED: &'static [&'static str] = OF_TEAM.required;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let whole = desk.office().folder(&team)?.load_whole().map_err(OfficeError::from)?;
        let mut config = whole.ok_or_else(|| Trouble::new(format!("team {team} has no config.json")))?;
        let members = config.get_mut("members").and_then(Value::as_array_mut).into_iter().flatten();
        for member in members.filter_map(Value::as_object_mut) {
            // Long, and nobody's business but the member's; what we keep there is for programs.
            member.remove("prompt");
            member.remove("metadata");
        }
        Answer::object(&config)
    }
}
