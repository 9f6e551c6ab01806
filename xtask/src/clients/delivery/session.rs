//! A real client in one of its roles, with an empty home, a team and the scripted model.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::model::ScriptedModel;
use super::patience::comes_true;
use super::request::{LEAD_PROMPT, Speaker, TEAM};
use super::terminal::Terminal;
use crate::clients::home::{self, Home};
use crate::repo;

/// No real key: the client wants to see one.
pub(super) const KEY: &str = "sk-scripted-0123456789abcdefghijklmnopqrstuvwxyz";
/// First prompt of a member that atm spawns.
pub(super) const SPAWN_PROMPT: &str = "Do what the mail says (first prompt of a spawned member).";
const LEAD_SESSION: &str = "11111111-2222-4333-8444-555555555555";
/// Mail is offered again early, and only once, so that a course can see whether that doubles any.
const ATM_SETTINGS: &str = "[delivery]\nretry_after = [\"1s\", \"1h\"]\n";
/// Clients are slow to start on a busy machine.
pub(super) const START: Duration = Duration::from_secs(90);
/// Longer than any client's poll.
pub(super) const QUIET: Duration = Duration::from_millis(1500);
/// Mail that is neither unread nor shown after this time of rest is not held for a next turn.
const REST: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Role {
    /// The lead of a team of its own
    Lead,
    /// A member in a process of its own
    Member,
    /// A member inside its lead's process
    InProcess,
    /// A lead that exits in order, whereupon new versions delete the team
    LeadExit,
    /// The same with mail of its own to its member, beside the daemon; no command looks before the end
    Watched,
    /// A member that atm spawns, kills and starts again
    Spawned,
}

impl Role {
    pub(super) const ALL: [Self; 6] =
        [Self::Lead, Self::Member, Self::InProcess, Self::LeadExit, Self::Watched, Self::Spawned];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Member => "separate-process member",
            Self::InProcess => "in-process member",
            Self::LeadExit => "lead that exits",
            Self::Watched => "member of a lead that exits, beside the daemon",
            Self::Spawned => "member that atm spawned",
        }
    }

    /// As on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Member => "member",
            Self::InProcess => "in-process",
            Self::LeadExit => "lead-exit",
            Self::Watched => "watched",
            Self::Spawned => "spawned",
        }
    }

    /// Who gets the mail, and who sends it.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Lead | Self::LeadExit => ("team-lead", "bob"),
            Self::Member | Self::InProcess | Self::Watched | Self::Spawned => ("bob", "team-lead"),
        }
    }

    /// Whether it is a member in a process of its own, whose first mail is its first prompt.
    pub(super) fn has_own_process(self) -> bool {
        matches!(self, Self::Member | Self::Spawned)
    }

    pub(super) fn speaker(self) -> Speaker {
        if matches!(self, Self::InProcess | Self::Watched) { Speaker::Member } else { Speaker::Main }
    }
}

pub(super) struct Session {
    pub(super) role: Role,
    pub(super) team: String,
    pub(super) model: ScriptedModel,
    pub(super) terminal: Terminal,
    /// Last: it is removed after the client has ended.
    pub(super) home: Home,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.role == Role::Watched {
            // It would outlive its home.
            let _ = self.home.atm_in(TEAM, &["daemon", "stop"]);
        }
    }
}

impl Session {
    pub(super) fn start(version: &str, role: Role, programs: &Path, home: Home) -> Result<Self> {
        let said = home::run(home.command("claude").arg("--version"))?;
        ensure!(said.starts_with(version), "says that it is {}", said.trim());
        let model = ScriptedModel::start(&home.file("work"))?;
        prepare(&home, version)?;
        if role.has_own_process() {
            home.atm_in(TEAM, &["team", "create", TEAM])?;
        }
        if role == Role::Watched {
            home.atm_in(TEAM, &["daemon", "start"])?;
        }
        let name = format!("{}-{}", version.replace('.', "-"), role.word());
        let variables = environment(&home, programs, &model)?;
        let terminal = match role {
            Role::Lead | Role::InProcess | Role::LeadExit | Role::Watched => {
                let words = [programs.join("claude").into_os_string(), LEAD_PROMPT.into()];
                Terminal::start(&name, &home.file("work"), &variables, &words)?
            }
            Role::Member => start_member(&name, &home, programs, variables, "bob")?,
            Role::Spawned => spawn_member(&name, &home, &variables)?,
        };
        let mut session = Self { role, team: TEAM.to_owned(), model, terminal, home };
        if !role.has_own_process() {
            session.await_team()?;
        }
        Ok(session)
    }

    /// Waits until the lead has its team and member, and both are idle.
    fn await_team(&mut self) -> Result<()> {
        let teams = self.home.file(".claude/teams");
        let mut found = None;
        let has_member = comes_true(START, || {
            ensure!(self.terminal.is_running(), "the client ended: {}", self.terminal.screen());
            found = team_with_member(&teams);
            Ok(found.is_some())
        })?;
        let Some(team) = found.filter(|_| has_member) else {
            bail!("no team with a member after {} s: {}", START.as_secs(), self.terminal.screen());
        };
        self.team = team;
        let model = &self.model;
        // The lead takes a turn when its member has gone idle.
        let is_idle = comes_true(START, || {
            let told = model.count(Speaker::Main, "idle_notification") > 0;
            Ok(told && model.is_quiet(Speaker::Main, QUIET) && model.is_quiet(Speaker::Member, QUIET))
        })?;
        ensure!(
            is_idle,
            "lead and member are not idle after {} s: {}",
            START.as_secs(),
            self.terminal.screen()
        );
        Ok(())
    }

    /// Whether the team is still there. An old client may leave its empty folders.
    pub(super) fn has_team(&self) -> bool {
        self.home.file(".claude/teams").join(&self.team).join("config.json").is_file()
    }

    /// How often these words are in the recipient's conversation.
    pub(super) fn shown(&self, words: &str) -> usize {
        self.model.count(self.role.speaker(), words)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.model.is_quiet(self.role.speaker(), QUIET)
    }

    /// Whether nobody of this process is in a turn.
    pub(super) fn is_all_idle(&self) -> bool {
        self.model.is_quiet(Speaker::Main, QUIET) && self.is_idle()
    }

    /// Whether the client has nothing left to show.
    pub(super) fn is_at_rest(&self) -> bool {
        // Old clients write in place: what cannot be read now can be read the next time.
        let is_read = || self.inbox().is_ok_and(|inbox| inbox.iter().all(|entry| entry["read"] != false));
        self.model.is_quiet(self.role.speaker(), REST) && is_read()
    }

    /// The recipient's inbox, as it is on disk; empty when it is deleted.
    pub(super) fn inbox(&self) -> Result<Vec<Value>> {
        let (to, _) = self.role.names();
        let file =
            self.home.file(".claude/teams").join(&self.team).join("inboxes").join(format!("{to}.json"));
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.with_context(|| format!("cannot read {}", file.display()))?,
        };
        serde_json::from_str(&text).with_context(|| format!("no JSON in {}", file.display()))
    }
}

/// By the command line that a lead would use.
pub(super) fn start_member(
    name: &str,
    home: &Home,
    programs: &Path,
    mut variables: Vec<(&'static str, OsString)>,
    member: &str,
) -> Result<Terminal> {
    home.atm_in(TEAM, &["member", "add", member])?;
    variables.push(("CLAUDECODE", "1".into()));
    let mut words = vec![programs.join("claude").into_os_string()];
    let options = ["--agent-id", &format!("{member}@{TEAM}"), "--agent-name", member, "--team-name", TEAM];
    words.extend(options.map(OsString::from));
    let options = ["--agent-color", "blue", "--parent-session-id", LEAD_SESSION];
    words.extend(options.into_iter().chain(["--agent-type", "general-purpose"]).map(OsString::from));
    Terminal::start(name, &home.file("work"), &variables, &words)
}

fn spawn_member(name: &str, home: &Home, variables: &[(&'static str, OsString)]) -> Result<Terminal> {
    let mut terminal = Terminal::wait(name, &home.file("work"), variables)?;
    let socket = terminal.socket()?;
    let spawn = ["spawn", "bob", "--client", "claude", "--prompt", SPAWN_PROMPT, "--socket", &socket];
    let answer = home.atm_in(TEAM, &spawn)?;
    terminal.adopt(&answer)?;
    Ok(terminal)
}

/// What the client asks its user at the first start, answered.
pub(super) fn prepare(home: &Home, version: &str) -> Result<()> {
    let work = home.file("work").canonicalize()?;
    let trusted = json!({ "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true });
    let answers = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": version, "theme": "dark",
        "hasSeenAutoDefaultNudge": true, "hasSeenAutoDefaultNotice": true,
        "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
        "projects": { work.to_string_lossy(): trusted },
    });
    let settings = json!({
        "permissions": { "defaultMode": "acceptEdits", "disableAutoMode": "disable",
                         "allow": ["Bash", "Agent", "Task", "TeamCreate", "SendMessage", "ListAgents"] },
        "teammateMode": "in-process", "promptSuggestionEnabled": false,
    });
    fs::create_dir_all(home.file(".config/atm"))?;
    fs::write(home.file(".config/atm/config.toml"), ATM_SETTINGS)?;
    fs::create_dir_all(home.file(".claude"))?;
    fs::write(home.file(".claude.json"), answers.to_string())?;
    fs::write(home.file(".claude/settings.json"), settings.to_string())?;
    Ok(())
}

pub(super) fn environment(
    home: &Home,
    programs: &Path,
    model: &ScriptedModel,
) -> Result<Vec<(&'static str, OsString)>> {
    Ok(vec![
        ("HOME", home.folder().into()),
        ("PATH", repo::path_with([programs])?),
        ("TERM", "xterm-256color".into()),
        ("LANG", "C.UTF-8".into()),
        ("ANTHROPIC_BASE_URL", model.url.clone().into()),
        ("ANTHROPIC_API_KEY", KEY.into()),
        ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1".into()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
        // Nobody listens there: whatever is not on this machine cannot be reached.
        ("HTTPS_PROXY", "http://127.0.0.1:9".into()),
        ("NO_PROXY", "127.0.0.1".into()),
    ])
}

fn team_with_member(teams: &Path) -> Option<String> {
    fs::read_dir(teams).ok()?.flatten().find_map(|folder| {
        let config: Value =
            serde_json::from_slice(&fs::read(folder.path().join("config.json")).ok()?).ok()?;
        let has_member = config["members"].as_array()?.iter().any(|member| member["name"] == "bob");
        has_member.then(|| folder.file_name().to_string_lossy().into_owned())
    })
}
