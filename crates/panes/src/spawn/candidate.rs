//! The one that is about to be started: what it runs, where, and as whom.

use std::ffi::OsString;
use std::path::PathBuf;

use atm_clients::launch::{self, Role};
use atm_clients::{AgentClient, program};
use atm_office::people::pane::PaneRef;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_wire::MemberName;
use atm_wire::team::{Member, Spawned};

use super::SpawnPlan;
use crate::backend::{Backend, PaneSpec, Place, Program};
use crate::tmux::{Server, Tmux};

/// The one that is about to be started.
pub(super) struct Candidate {
    pub(super) name: MemberName,
    pub(super) agent_id: String,
    pub(super) prompt: Option<String>,
    /// It was told this prompt when it was started before.
    pub(super) knows_prompt: bool,
    pub(super) cwd: PathBuf,
    pub(super) client: Option<AgentClient>,
    pub(super) given: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) headless: bool,
    pub(super) command: Vec<String>,
    pub(super) place: Place,
    pub(super) server: Server,
}

impl Candidate {
    /// What is remembered of it.
    pub(super) fn spawned(&self, pane: &PaneRef) -> Spawned {
        Spawned {
            socket: pane.socket.display().to_string(),
            token: pane.token.clone(),
            command: self.given.clone(),
            client: self.client.map(|client| client.as_str().to_owned()),
            model: self.model.clone(),
            permission_mode: self.permission_mode.clone(),
            headless: self.headless,
            place: Some(self.place.as_str().to_owned()),
            exit: None,
        }
    }
}

/// Which client a plan means: the one that it names, the one that its command is, or the one of before.
pub(super) fn client_of(plan: &SpawnPlan, before: Option<&Spawned>) -> Option<AgentClient> {
    let remembered = || before?.client.as_deref()?.parse().ok();
    match plan.command.as_slice() {
        [] => plan.client.or_else(remembered),
        command => plan.client.or_else(|| AgentClient::of_command(command)),
    }
}

/// What is remembered of a member's start, if the same client is started now: another one would not know its words.
pub(super) fn remembered<'a>(plan: &SpawnPlan, before: &'a Member) -> Option<&'a Spawned> {
    let spawned = before.spawned.as_ref()?;
    let is_same = client_of(plan, Some(spawned)).map(AgentClient::as_str) == spawned.client.as_deref();
    is_same.then_some(spawned)
}

/// A mode is one word of a client that has modes; which ones there are is for the client to say.
fn check_mode(mode: &str, client: Option<AgentClient>) -> Result<(), SpawnError> {
    if launch::is_mode(mode) && client.is_some_and(AgentClient::has_permission_modes) {
        return Ok(());
    }
    let client = client.map_or_else(|| "this command".to_owned(), |client| client.as_str().to_owned());
    Err(SpawnError::NoPermissionMode { client, mode: mode.to_owned() })
}

impl Candidate {
    /// Checks what is to be run, before anything happens.
    pub(super) fn check(
        team: &Team,
        plan: &SpawnPlan,
        role: &Role<'_>,
        before: Option<&Member>,
    ) -> Result<Self, OfficeError> {
        let spawned = before.and_then(|member| member.spawned.as_ref());
        let who = format!("{}@{}", role.name, role.team);
        let client = client_of(plan, spawned);
        let remembered = spawned.filter(|_| plan.command.is_empty() && plan.client.is_none());
        let given = remembered.map_or(&plan.command, |spawned| &spawned.command).clone();
        if let Some(mode) = &plan.member.permission_mode {
            check_mode(mode, client)?;
        }
        if role.headless.is_some() && client.is_none_or(|client| client.profile().launch.is_none()) {
            return Err(SpawnError::NotHeadless { who }.into());
        }
        let command = launch::command(client, &given, role);
        let program = command.first().ok_or(SpawnError::NothingToRun { who: who.clone() })?;
        let cwd = plan.member.cwd.clone().or_else(|| before?.cwd.clone().map(PathBuf::from));
        let cwd = cwd.unwrap_or_else(|| team.office().root().path().to_owned());
        if !cwd.is_dir() {
            return Err(SpawnError::NoFolder { path: cwd }.into());
        }
        let path = plan.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        program::find(program, &cwd, path)
            .ok_or_else(|| SpawnError::NoProgram { program: program.clone() })?;
        let prompt = plan.member.prompt.clone().or_else(|| before?.prompt.clone());
        let was_split =
            spawned.is_some_and(|spawned| spawned.place.as_deref() == Some(Place::Split.as_str()));
        let server = plan.server.clone().or_else(|| {
            let socket = spawned.map(|spawned| PathBuf::from(&spawned.socket))?;
            Some(Server::Socket(socket))
        });
        Ok(Self {
            name: role.name.clone(),
            agent_id: who,
            prompt,
            knows_prompt: before.is_some() && plan.member.prompt.is_none(),
            cwd,
            client,
            given,
            model: role.model.map(ToOwned::to_owned),
            permission_mode: role.permission_mode.map(ToOwned::to_owned),
            headless: role.headless.is_some(),
            command,
            place: plan.place.unwrap_or(if was_split { Place::Split } else { Place::Window }),
            server: server.unwrap_or_default(),
        })
    }

    /// Opens its pane.
    pub(super) fn open(&self, team: &Team) -> Result<PaneRef, OfficeError> {
        let spec = PaneSpec {
            session: session(team),
            title: self.name.file_stem(),
            member: self.agent_id.clone(),
            place: self.place,
            cwd: self.cwd.clone(),
        };
        Ok(Tmux::on(self.server.clone()).open(&spec).map_err(SpawnError::from)?)
    }

    /// Starts it in its pane.
    pub(super) fn start(
        &self,
        team: &Team,
        plan: &SpawnPlan,
        pane: &PaneRef,
        log: Option<PathBuf>,
    ) -> Result<u32, OfficeError> {
        let ours: [(&str, OsString); 4] = [
            ("ATM_AS", self.name.as_str().into()),
            ("ATM_TEAM", team.name().as_str().into()),
            ("ATM_ROOT", team.office().root().path().into()),
            ("ATM_STATE", team.office().state().path().into()),
        ];
        let clients =
            launch::environment(self.client).iter().map(|(name, value)| (*name, OsString::from(value)));
        let ours = ours.into_iter().chain(clients).map(|(name, value)| (name.to_owned(), value));
        let program = Program {
            command: self.command.clone(),
            env: plan.env.iter().cloned().chain(ours).collect(),
            cwd: self.cwd.clone(),
            log,
            on_exit: plan.on_exit.clone(),
        };
        let backend = Tmux::on(Server::Socket(pane.socket.clone()));
        Ok(backend.start(pane, &program).map_err(SpawnError::from)?)
    }
}

/// One session a team. Teams of the same name below several roots are told apart.
fn session(team: &Team) -> String {
    let root = team.office().root().path();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let key = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, root.as_os_str().as_encoded_bytes());
    let key: String = key.simple().to_string().chars().take(6).collect();
    format!("{}-{key}", team.name().file_stem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_client_gets_nothing_of_what_the_one_before_was_started_with() {
        let before = |client: Option<&str>| Member {
            spawned: Some(Spawned { client: client.map(ToOwned::to_owned), ..Spawned::default() }),
            ..Member::default()
        };
        let plan = |client, command: &[&str]| SpawnPlan { client, ..SpawnPlan::new("bob", command) };
        let codex = Some(AgentClient::Codex);
        for (plan, client, expected) in [
            (plan(None, &[]), Some("claude"), true),
            (plan(Some(AgentClient::Claude), &[]), Some("claude"), true),
            (plan(None, &["/opt/claude"]), Some("claude"), true),
            (plan(codex, &[]), Some("claude"), false),
            (plan(None, &["sh"]), Some("claude"), false),
            (plan(None, &["sh"]), None, true),
            (plan(codex, &["sh"]), None, false),
        ] {
            assert_eq!(remembered(&plan, &before(client)).is_some(), expected, "{client:?} {plan:?}");
        }
    }
}
