//! Members: starting, looking after, ending.

use std::borrow::Cow;

use atm_clients::{AgentClient, UnknownClient};
use atm_office::people::members::{MemberPlan, Presence};
use atm_office::people::spawn_error::SpawnError;
use atm_office::{Hint, OfficeError, Team};
use atm_panes::SpawnPlan;
use atm_store::watch::Stop;
use atm_wire::MemberName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inbox::{FRONT, shown};
use super::{Call, Effect, OF_MEMBER};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::squeeze::cut;
use crate::trouble::Trouble;

/// How much of a screen stands in an answer that has mail, too.
const SCREEN: usize = 6_000;

/// An agent client that can be started as a member.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
struct Backend(AgentClient);

impl Backend {
    fn all() -> impl Iterator<Item = AgentClient> {
        AgentClient::ALL.into_iter().filter(|client| client.profile().launch.is_some())
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self(AgentClient::Claude)
    }
}

impl TryFrom<String> for Backend {
    type Error = UnknownClient;

    fn try_from(name: String) -> Result<Self, UnknownClient> {
        Self::all().find(|client| client.as_str() == name).map(Self).ok_or(UnknownClient)
    }
}

impl From<Backend> for &'static str {
    fn from(backend: Backend) -> Self {
        backend.0.as_str()
    }
}

impl JsonSchema for Backend {
    fn schema_name() -> Cow<'static, str> {
        "Backend".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::all().map(AgentClient::as_str).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SpawnTeammate {
    team_name: Option<String>,
    /// One that is off comes back with its mail
    name: String,
    prompt: String,
    #[serde(default = "sonnet")]
    model: String,
    #[serde(default = "general_purpose")]
    subagent_type: String,
    #[serde(default)]
    plan_mode_required: bool,
    #[serde(default)]
    backend_type: Backend,
}

fn sonnet() -> String {
    "sonnet".to_owned()
}

fn general_purpose() -> String {
    "general-purpose".to_owned()
}

impl Call for SpawnTeammate {
    const NAME: &'static str = "spawn_teammate";
    const ABOUT: &'static str = "Start a teammate in a tmux pane; the prompt is its first mail.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"name": "bob", "prompt": "Write the parser"}"#;
    const REQUIRED: &'static [&'static str] = &["team_name", "name", "prompt"];
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut handle = desk.open(self.team_name.as_deref())?;
        desk.must_lead(&handle, "starting members")?;
        let team = handle.name().clone();
        let Backend(client) = self.backend_type;
        // The default means something only to clients that know models by such names.
        let model = Some(self.model).filter(|model| client.has_short_models() || *model != sonnet());
        let spawning = &desk.settings.spawning;
        let mut on_exit = spawning.on_exit.clone();
        if !on_exit.is_empty() {
            on_exit.extend(["--team".into(), team.as_str().into()]);
        }
        let plan = SpawnPlan {
            headless: None,
            member: MemberPlan {
                agent_type: Some(self.subagent_type),
                model,
                prompt: Some(self.prompt),
                cwd: Some(desk.settings.cwd.clone()),
                plan_mode: self.plan_mode_required.then_some(true),
                ..MemberPlan::new(&self.name)
            },
            client: Some(client),
            command: Vec::new(),
            place: None,
            server: spawning.server.clone(),
            env: spawning.env.clone(),
            on_exit,
        };
        let started = match atm_panes::spawn(&mut handle, &plan) {
            Err(OfficeError::Spawn(SpawnError::IsMember { .. })) => atm_panes::respawn(&mut handle, &plan)?,
            started => started?,
        };
        let message = format!("started in pane {}; its prompt is in its inbox", started.pane);
        let answer = Answer::object(&json!({
            "agent_id": format!("{}@{team}", started.name),
            "name": started.name,
            "team_name": team,
            "message": message,
        }))?;
        Ok(answer.noting(started.warnings))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CheckTeammate {
    team_name: Option<String>,
    agent_name: String,
    /// Its terminal's last lines
    #[serde(default)]
    include_output: bool,
    #[serde(default = "twenty")]
    output_lines: usize,
    #[serde(default = "yes")]
    include_messages: bool,
    #[serde(default = "five")]
    max_messages: usize,
}

fn twenty() -> usize {
    20
}

fn five() -> usize {
    5
}

pub(super) fn yes() -> bool {
    true
}

impl Call for CheckTeammate {
    const NAME: &'static str = "check_teammate";
    const ABOUT: &'static str =
        "Whether it runs, your unread mail from it (read then), how much it has not read.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_MEMBER.example;
    const REQUIRED: &'static [&'static str] = OF_MEMBER.required;
    const IGNORED: &'static [&'static str] = &["notify_after_minutes"];

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut team = desk.open(self.team_name.as_deref())?;
        let name = MemberName::parse(&self.agent_name)?;
        if self.include_output {
            // A screen shows the mail that its owner reads.
            desk.must_lead(&team, "looking at a teammate's screen")?;
        }
        let members = team.look_at_members();
        let Some(member) = members
            .into_iter()
            .find(|member| member.name == name.as_str() && !member.lead && member.has_entry)
        else {
            return Err(no_teammate(&team, &name));
        };
        let alive = matches!(member.state, Presence::Online | Presence::Idle | Presence::Stalled);
        let (output, error) = self.output(&mut team, &name, alive, &member.evidence);
        let mut body = json!({
            "name": name,
            "alive": alive,
            "pending_from": [],
            "their_unread_count": member.unread,
            "error": error,
            "notification_scheduled": false,
            "push_available": false,
            "state": member.state,
            "evidence": member.evidence,
        });
        if self.include_output {
            body["output"] = output.into();
        }
        if !self.include_messages {
            return answer(&body);
        }
        let reader = desk.actor(&team)?;
        let limit = self.max_messages.clamp(1, 20);
        let mut reading = team.begin_read_from(&reader, Some(&name), limit)?.by(FRONT);
        let (messages, notes) = shown(&mut reading, true);
        body["pending_from"] = messages.into();
        let mut answer = answer(&body)?.noting(notes);
        answer.reading = Some(reading);
        Ok(answer)
    }
}

/// `error` is there even when there is none: that is the shape that clients know.
fn answer(body: &Value) -> Result<Answer, Trouble> {
    let no_error = body["error"].is_null();
    let answer = Answer::object(body)?;
    Ok(if no_error { answer.with("error", Value::Null) } else { answer })
}

impl CheckTeammate {
    fn output(
        &self,
        team: &mut Team<'_>,
        name: &MemberName,
        alive: bool,
        evidence: &[String],
    ) -> (String, Option<String>) {
        let not_alive = || (!alive).then(|| evidence.join("; "));
        if !self.include_output {
            return (String::new(), not_alive());
        }
        let lines = self.output_lines.clamp(1, 120);
        match atm_panes::screen(team, name, lines) {
            Ok(screen) => (cut(&screen.lines.join("\n"), SCREEN), not_alive()),
            Err(error) => (String::new(), Some(error.to_string())),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ForceKill {
    team_name: Option<String>,
    agent_name: String,
}

impl Call for ForceKill {
    const NAME: &'static str = "force_kill_teammate";
    const ABOUT: &'static str = "End a teammate that ignores a shutdown request.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_MEMBER.example;
    const REQUIRED: &'static [&'static str] = OF_MEMBER.required;
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut team = desk.open(self.team_name.as_deref())?;
        desk.must_lead(&team, "ending members")?;
        dismiss(&mut team, &self.agent_name, true, "was ended and is no member any more")
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ProcessShutdown {
    team_name: Option<String>,
    agent_name: String,
}

impl Call for ProcessShutdown {
    const NAME: &'static str = "process_shutdown_approved";
    const ABOUT: &'static str = "Take a teammate out of the team after its shutdown_approved came.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_MEMBER.example;
    const REQUIRED: &'static [&'static str] = OF_MEMBER.required;
    const LEADS: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let mut team = desk.open(self.team_name.as_deref())?;
        desk.must_lead(&team, "taking members out")?;
        dismiss(&mut team, &self.agent_name, false, "is no member any more")
    }
}

fn dismiss(team: &mut Team<'_>, name: &str, force: bool, what: &str) -> Result<Answer, Trouble> {
    let name = MemberName::parse(name)?;
    let gone = atm_panes::dismiss(team, &name, force)?;
    let answer = Answer::object(&json!({
        "success": true,
        "message": format!("{name} {what}"),
        "released_tasks": gone.released,
    }))?;
    Ok(answer.noting(gone.warnings))
}

fn no_teammate(team: &Team<'_>, name: &MemberName) -> Trouble {
    // Asking for its mail says it best, with the nearest names.
    match team.peek(name, 0) {
        Err(error) => error.into(),
        Ok(_) => {
            Trouble::new(format!("{name} is not a teammate in team {}", team.name())).hint(Hint::ListMembers)
        }
    }
}
