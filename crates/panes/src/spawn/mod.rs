//! Members that we start: in a pane, with their name, their inbox and their first words.
//!
//! The steps, in an order in which a crash at any of them leaves nothing that the next look cannot mend:
//!
//! 1. a pane is opened, in which nothing happens yet; it closes itself if nobody comes back to it;
//! 2. the member is entered into `config.json`, with its pane: from here on it is one;
//! 3. its prompt is written into its inbox, and the backlog of one that returns is tagged;
//! 4. its program is started in the pane.
//!
//! All of it happens under the team's lock, so that a holder of the lock that finds a pane without its program knows
//! that its opener died (see [`Team::record_exits`]).

mod candidate;
mod respawn;

use std::ffi::OsString;
use std::path::PathBuf;

use atm_clients::AgentClient;
use atm_clients::launch::Role;
use atm_office::mail::first_words::Prompt;
use atm_office::mail::partly::{After, Done};
use atm_office::people::members::MemberPlan;
use atm_office::people::pane::PaneRef;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_store::points;
use atm_wire::status::State;
use atm_wire::team::{Member, Spawned};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::backend::{Place, backend};
use crate::tmux::Server;
use candidate::{Candidate, client_of};

pub use respawn::respawn;

/// Members are started in tmux; the other names that the format has are refused.
pub fn check_backend(name: &str) -> Result<(), OfficeError> {
    Ok(backend(name, Server::default()).map(drop).map_err(SpawnError::from)?)
}

/// What a client without a terminal UI is told first.
const FIRST_WORDS: &str = "You have mail. Read it, and do what it asks for.";

/// How a member is to be started.
#[derive(Debug, Clone)]
pub struct SpawnPlan {
    /// Who, and with what; of one that returns, what is `None` stays as it was.
    pub member: MemberPlan,
    /// Which client; by its program, if it is not said.
    pub client: Option<AgentClient>,
    /// What to run; the client's own program, if it is not said.
    pub command: Vec<String>,
    /// Where its pane goes.
    pub place: Option<Place>,
    /// On which server: the one that it was on, or one of ours, if it is not said.
    pub server: Option<Server>,
    /// Whether its client runs without a terminal UI: one run, after which the member has ended. Of one that returns, as it
    /// was, if it is not said.
    pub headless: Option<bool>,
    /// Variables for it, beside ours. `PATH` is also where its program is looked for.
    pub env: Vec<(String, OsString)>,
    /// What to run when it has ended.
    pub on_exit: Vec<OsString>,
}

impl SpawnPlan {
    /// A plain command.
    pub fn new(name: &str, command: &[&str]) -> Self {
        Self {
            member: MemberPlan::new(name),
            client: None,
            command: command.iter().map(ToString::to_string).collect(),
            place: None,
            server: None,
            headless: None,
            env: Vec::new(),
            on_exit: Vec::new(),
        }
    }
}

/// A member that was started.
#[derive(Debug, Clone, Serialize)]
pub struct Started {
    /// Its team.
    pub team: TeamName,
    /// Its name.
    pub name: MemberName,
    /// Its pane.
    pub pane: String,
    /// The pane's server.
    pub socket: PathBuf,
    /// Its process.
    pub pid: u32,
    /// What runs there.
    pub command: Vec<String>,
    /// Which client that is.
    pub client: Option<String>,
    /// Unread messages of before that were tagged, so that they are acted on.
    pub offered: usize,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

/// Starts a new member.
pub fn spawn(team: &mut Team, plan: &SpawnPlan) -> Result<Started, OfficeError> {
    let office = team.office();
    let _turn = team.folder().turn(office.state(), office.lock_times())?;
    team.record_exits()?;
    if let Ok(name) = MemberName::parse(&plan.member.name) {
        team.check_here(&name, "another machine holds that name")?;
    }
    if let Some(member) = team.config().member(&plan.member.name) {
        return Err(taken(team.name(), member).into());
    }
    let model = plan.member.model.clone().or_else(|| match client_of(plan, None) {
        // Whatever it chooses by itself, it is none of those that we know by name.
        Some(client) if !client.has_short_models() => Some(client.as_str().to_owned()),
        _ => None,
    });
    let mut member = MemberPlan { pane: Some("%0".to_owned()), model, ..plan.member.clone() };
    let draft = member.resolve(team.name(), team.config(), office.now())?;
    check_no_other(team, &draft.name)?;
    let role = Role {
        team: team.name(),
        lead_session: team.config().lead_session_id.as_deref(),
        name: &draft.name,
        agent_type: &draft.agent_type,
        color: &draft.color,
        model: plan.member.model.as_deref(),
        plan_mode: plan.member.plan_mode == Some(true),
        permission_mode: plan.member.permission_mode.as_deref(),
        headless: headless(plan, None),
    };
    let candidate = Candidate::check(team, plan, &role, None)?;
    let pane = candidate.open(team)?;
    points::reached("opened");
    member.pane = Some(pane.id.clone());
    member.spawned = Some(candidate.spawned(&pane));
    let entered = member
        .resolve(team.name(), team.config(), office.now())
        .and_then(|member| Ok(team.folder().add_member(member.name.as_str(), &member.render())?));
    if let Err(error) = entered {
        close(team, &pane);
        return Err(error);
    }
    points::reached("registered");
    go(team, plan, &candidate, &pane)
}

/// What a client without a terminal UI is told, if it is to run so: its mail is in its inbox, and its hooks present it.
fn headless(plan: &SpawnPlan, before: Option<&Spawned>) -> Option<&'static str> {
    let is_headless = plan.headless.or(before.map(|spawned| spawned.headless)).unwrap_or_default();
    is_headless.then_some(FIRST_WORDS)
}

/// Refuses to start a second client of one name, whatever program started the first: they would read each other's mail.
fn check_no_other(team: &Team, name: &MemberName) -> Result<(), OfficeError> {
    match team.agent_named(name) {
        Some(pid) => {
            let why = format!("process {pid} runs with its --agent-id");
            Err(SpawnError::Runs { who: format!("{name}@{}", team.name()), why }.into())
        }
        None => Ok(()),
    }
}

/// Mail, then the program. If that fails, the member is there, off, with its mail.
fn go(
    team: &mut Team,
    plan: &SpawnPlan,
    candidate: &Candidate,
    pane: &PaneRef,
) -> Result<Started, OfficeError> {
    let name = &candidate.name;
    let prompt = candidate.prompt.as_deref().map(|text| Prompt { text, is_known: candidate.knows_prompt });
    // It is entered as on since the handle was made.
    let entered = team.reload();
    let team: &Team = team;
    let started = entered.and_then(|()| team.write_first_words(name, prompt)).and_then(|words| {
        points::reached("mailed");
        let mut warnings = words.warnings;
        let log = team.office().artifact_folder(team.name(), name).log_to_add_to();
        let log = log.map_err(|error| warnings.push(format!("its output is not kept: {error}"))).ok();
        let pid = candidate.start(team, plan, pane, log)?;
        points::reached("started");
        team.report_state(name, State::Running, "");
        Ok(Started {
            team: team.name().clone(),
            name: name.clone(),
            pane: pane.id.clone(),
            socket: pane.socket.clone(),
            pid,
            command: candidate.command.clone(),
            client: candidate.client.map(|client| client.as_str().to_owned()),
            offered: words.offered,
            warnings,
        })
    });
    if started.is_err() {
        close(team, pane);
        // If that cannot be recorded, the next look finds the pane gone.
        let _ = team.record_offline(name, false, "it could not be started");
    }
    started.after(|| Done::MemberAdded(name.clone()))
}

/// Closes a pane that is of no use. One that cannot be closed closes itself, or is found by the next look.
fn close(team: &Team, pane: &PaneRef) {
    let _ = team.office().panes().close(pane);
}

/// Why a member cannot be started.
fn taken(team: &TeamName, member: &Member) -> SpawnError {
    let who = format!("{}@{team}", member.name);
    if member.is_offline() && member.spawned.as_ref().is_none_or(|spawned| spawned.exit.is_some()) {
        return SpawnError::IsMember { who };
    }
    let why = match PaneRef::of(member) {
        Some(pane) => pane.to_string(),
        None if member.is_active == Some(true) => "isActive is true in config.json".to_owned(),
        None => "config.json does not say that it is off".to_owned(),
    };
    SpawnError::Runs { who, why }
}
