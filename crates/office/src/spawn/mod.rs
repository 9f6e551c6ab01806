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
//! that its opener died (see [`exits`]).

mod backlog;
mod candidate;
mod error;
pub mod exits;
pub mod nudge;

use std::ffi::OsString;
use std::path::PathBuf;

use atm_clients::AgentClient;
use atm_clients::launch::Role;
use atm_store::points;
use atm_wire::message::Draft;
use atm_wire::status::State;
use atm_wire::team::{BackendType, Member, Spawned, TeamConfig};
use atm_wire::{Address, Color, MemberName, TeamName};
use serde::Serialize;
use serde_json::Value;

pub use error::SpawnError;
pub(crate) use nudge::type_line;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::mail::send::{Letter, Routes, SendOptions};
use crate::office::Office;
use crate::pane::{Backend, PaneRef, Place, Server, Tmux};
use crate::people::members::MemberPlan;
use crate::people::presence::{Presence, Surroundings, ended};
use crate::protocol::policy::content_of;
use candidate::{Candidate, client_of, remembered};

/// Members are started in tmux; the other names that the format has are refused.
pub fn check_backend(name: &str) -> Result<(), OfficeError> {
    Ok(crate::pane::backend(name, Server::Named(String::new())).map(drop).map_err(SpawnError::from)?)
}

/// Who tells a member what it is for.
const SYSTEM: &str = "system";
/// What kind of message that is.
const SYSTEM_INIT: &str = "system_init";

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

impl Office {
    /// Starts a new member.
    pub fn spawn(&self, team: &TeamName, plan: &SpawnPlan) -> Result<Started, OfficeError> {
        let folder = self.folder(team)?;
        let _turn = folder.turn(&self.state, self.times)?;
        self.bury(team, &folder)?;
        let config = folder.load()?;
        if let Some(member) = config.member(&plan.member.name) {
            return Err(taken(team, member).into());
        }
        self.check_no_other(team, &plan.member.name)?;
        let model = plan.member.model.clone().or_else(|| match client_of(plan, None) {
            // Whatever it chooses by itself, it is none of those that we know by name.
            Some(client) if !client.has_short_models() => Some(client.as_str().to_owned()),
            _ => None,
        });
        let mut member = MemberPlan { pane: Some("%0".to_owned()), model, ..plan.member.clone() };
        let draft = member.resolve(team, &config, self.now())?;
        let role = Role {
            team,
            lead_session: config.lead_session_id.as_deref(),
            name: &draft.name,
            agent_type: &draft.agent_type,
            color: &draft.color,
            model: plan.member.model.as_deref(),
            plan_mode: plan.member.plan_mode == Some(true),
            permission_mode: plan.member.permission_mode.as_deref(),
        };
        let candidate = self.candidate(plan, &role, None)?;
        let pane = self.open(team, &candidate)?;
        points::reached("opened");
        member.pane = Some(pane.id.clone());
        member.spawned = Some(candidate.spawned(&pane));
        let entered = member
            .resolve(team, &config, self.now())
            .and_then(|member| Ok(folder.add_member(member.name.as_str(), &member.render())?));
        if let Err(error) = entered {
            close(&pane);
            return Err(error);
        }
        points::reached("registered");
        self.go(team, plan, &candidate, &pane)
    }

    /// Starts a member again that is off. Its name, its inbox and whatever is not said anew are those of before.
    pub fn respawn(&self, team: &TeamName, plan: &SpawnPlan) -> Result<Started, OfficeError> {
        let folder = self.folder(team)?;
        let _turn = folder.turn(&self.state, self.times)?;
        self.bury(team, &folder)?;
        let config = folder.load()?;
        let member = config
            .member(&plan.member.name)
            .ok_or_else(|| self.no_member(team, &config, &plan.member.name))?;
        // One that said it is off may still be at it: two of one name would read each other's mail.
        let pane = PaneRef::of(member).filter(|_| member.spawned.as_ref().is_some_and(|s| s.exit.is_none()));
        let around = Surroundings::of(&config);
        // A client that is killed in a turn leaves `isActive: true` behind.
        let is_off =
            member.is_offline() || self.judge(team, &config, member, &around).state == Presence::Offline;
        if !is_off || pane.is_some() {
            return Err(taken(team, member).into());
        }
        if let Some(why) = self.life_of(team, &config, member, &around) {
            return Err(SpawnError::Runs { who: format!("{}@{team}", member.name), why }.into());
        }
        let name = member.checked_name()?;
        let color = member.color.clone().unwrap_or(Color::Blue);
        let remembered = remembered(plan, member);
        let role = Role {
            team,
            lead_session: config.lead_session_id.as_deref(),
            name: &name,
            agent_type: member.agent_type.as_deref().unwrap_or("general-purpose"),
            color: &color,
            model: plan.member.model.as_deref().or(remembered.and_then(|spawned| spawned.model.as_deref())),
            plan_mode: plan.member.plan_mode.or(member.plan_mode_required) == Some(true),
            permission_mode: plan
                .member
                .permission_mode
                .as_deref()
                .or(remembered.and_then(|spawned| spawned.permission_mode.as_deref())),
        };
        let candidate = self.candidate(plan, &role, Some(member))?;
        let pane = self.open(team, &candidate)?;
        points::reached("opened");
        let spawned = serde_json::to_value(candidate.spawned(&pane)).unwrap_or_default();
        let mut fields: Vec<(Vec<&str>, Value)> = vec![
            (vec!["tmuxPaneId"], pane.id.clone().into()),
            (vec!["backendType"], BackendType::Tmux.as_str().into()),
            (vec!["isActive"], true.into()),
            (vec!["spawnedAt"], self.now().to_string().into()),
            (Spawned::PATH.to_vec(), spawned),
        ];
        let text =
            |key, value: &Option<String>| value.as_ref().map(|value| (vec![key], value.clone().into()));
        fields.extend(text("model", &plan.member.model));
        fields.extend(text("prompt", &plan.member.prompt));
        fields.extend(plan.member.cwd.as_ref().map(|cwd| (vec!["cwd"], cwd.display().to_string().into())));
        if let Err(error) = folder.set_member_below(name.as_str(), &fields) {
            close(&pane);
            return Err(error.into());
        }
        points::reached("registered");
        self.go(team, plan, &candidate, &pane)
    }

    /// Refuses to start a second client of one name, whatever program started the first: they would read each other's mail.
    fn check_no_other(&self, team: &TeamName, name: &str) -> Result<(), OfficeError> {
        match self.agent_named(team, name, &Surroundings::default()) {
            Some(pid) => {
                let why = format!("process {pid} runs with its --agent-id");
                Err(SpawnError::Runs { who: format!("{name}@{team}"), why }.into())
            }
            None => Ok(()),
        }
    }

    /// Mail, then the program. If that fails, the member is there, off, with its mail.
    fn go(
        &self,
        team: &TeamName,
        plan: &SpawnPlan,
        candidate: &Candidate,
        pane: &PaneRef,
    ) -> Result<Started, OfficeError> {
        let started = self.first_words(team, candidate).and_then(|(offered, mut warnings)| {
            points::reached("mailed");
            let log = self.artifact_folder(team, &candidate.name).log_to_add_to();
            let log = log.map_err(|error| warnings.push(format!("its output is not kept: {error}"))).ok();
            let pid = self.start(team, plan, candidate, pane, log)?;
            points::reached("started");
            self.say_in_report(team, &candidate.name, State::Running, "");
            Ok(Started {
                team: team.clone(),
                name: candidate.name.clone(),
                pane: pane.id.clone(),
                socket: pane.socket.clone(),
                pid,
                command: candidate.command.clone(),
                client: candidate.client.map(|client| client.as_str().to_owned()),
                offered,
                warnings,
            })
        });
        if started.is_err() {
            close(pane);
            // If that cannot be entered, the next look finds the pane gone.
            let _ = self.set_off(team, &candidate.name, false, "it could not be started");
        }
        started.after(|| Done::MemberAdded(candidate.name.clone()))
    }

    /// Makes the inbox, tags what waits there, and writes the prompt, unless it still lies there unread. One that returns
    /// to unread mail has that to act on: the prompt of before would come as new work, behind what is newer.
    fn first_words(
        &self,
        team: &TeamName,
        candidate: &Candidate,
    ) -> Result<(usize, Vec<String>), OfficeError> {
        let mailbox = self.mailbox(team, &candidate.name);
        mailbox.create()?;
        let mut warnings = Vec::new();
        for stale in self.set_aside_stale_shutdowns(team, &candidate.name, self.now())? {
            let (id, kept) = (stale.id, stale.kept.display());
            warnings.push(format!(
                "shutdown request {id} was not for the one that starts now; it is kept in {kept}"
            ));
        }
        let offered = self.offer_backlog(team, &candidate.name)?;
        let Some(prompt) = candidate.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) else {
            return Ok((offered, warnings));
        };
        let unread: Vec<_> = mailbox.list()?.messages.into_iter().filter(|message| !message.read).collect();
        let lies_there = unread
            .iter()
            .any(|message| message.outer_type.as_deref() == Some(SYSTEM_INIT) && message.text == prompt);
        let has_backlog = candidate.knows_prompt && !unread.is_empty();
        if !lies_there && !has_backlog {
            let to = Address { name: candidate.name.clone(), team: None };
            let letter = Letter { summary: Some("Initial prompt".to_owned()), ..Letter::new(to, prompt) };
            let system = MemberName::parse(SYSTEM)?;
            let mut addressed = self.address(
                &mut Routes::new(self),
                team,
                &system,
                &letter,
                content_of(&letter),
                SendOptions::default(),
            )?;
            addressed.draft = Draft {
                color: Some(Color::System.to_string()),
                kind: Some(SYSTEM_INIT.to_owned()),
                ..addressed.draft
            };
            for sent in self.deliver(vec![addressed], false) {
                let told = sent?.warnings.into_iter();
                warnings.extend(told.filter(|warning| !warning.starts_with(SYSTEM)));
            }
        }
        Ok((offered, warnings))
    }

    /// Where a member's pane is, to look at or type into; one that we did not start is not known for sure.
    pub(crate) fn pane_of(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        name: &MemberName,
    ) -> Result<PaneRef, OfficeError> {
        let member =
            config.member(name.as_str()).ok_or_else(|| self.no_member(team, config, name.as_str()))?;
        let who = format!("{name}@{team}");
        let pane = PaneRef::of(member).ok_or_else(|| SpawnError::NotOurs { who: who.clone() })?;
        // `isActive: false` alone means that it is between two turns.
        match ended(member) {
            Some(how) => Err(SpawnError::Off { who, why: how.to_owned() }.into()),
            None => Ok(pane),
        }
    }
}

/// Closes a pane that is of no use. One that cannot be closed closes itself, or is found by the next look.
fn close(pane: &PaneRef) {
    let _ = Tmux::on(Server::Socket(pane.socket.clone())).close(pane);
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
