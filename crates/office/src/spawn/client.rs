//! The command lines of agent clients.

use std::str::FromStr;

use atm_wire::team::TeamConfig;
use atm_wire::{Color, MemberName, TeamName};

/// An agent client that can be a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Claude Code: a member of the team by its own means.
    Claude,
    /// Codex: a member through its hooks and tools.
    Codex,
    /// Gemini CLI: likewise.
    Gemini,
    /// `OpenCode`: likewise.
    Opencode,
}

impl Client {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// Its name, which is also that of its program.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The client that a command starts, if it is one of these.
    pub fn of_command(command: &[String]) -> Option<Self> {
        let program = command.first()?.rsplit('/').next()?;
        program.parse().ok()
    }
}

/// There is no client of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such client")]
pub struct UnknownClient;

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        Self::ALL.into_iter().find(|client| client.as_str() == name).ok_or(UnknownClient)
    }
}

/// Who is to be started.
#[derive(Debug)]
pub(super) struct Role<'a> {
    pub(super) team: &'a TeamName,
    pub(super) config: &'a TeamConfig,
    pub(super) name: &'a MemberName,
    pub(super) agent_type: &'a str,
    pub(super) color: &'a Color,
    /// Only if somebody chose one.
    pub(super) model: Option<&'a str>,
    pub(super) plan_mode: bool,
}

/// What to run: the client's own program, or the words that were given for it, and what it takes to be this member.
pub(super) fn command(client: Option<Client>, given: &[String], role: &Role<'_>) -> Vec<String> {
    let mut command = given.to_vec();
    let Some(client) = client else { return command };
    if command.is_empty() {
        command.push(client.as_str().to_owned());
    }
    let mut say = |words: &[&str]| command.extend(words.iter().map(ToString::to_string));
    if client == Client::Claude {
        say(&["--agent-id", &format!("{}@{}", role.name, role.team), "--agent-name", role.name.as_str()]);
        say(&["--team-name", role.team.as_str(), "--agent-color", &role.color.to_string()]);
        if let Some(session) = &role.config.lead_session_id {
            say(&["--parent-session-id", session]);
        }
        say(&["--agent-type", role.agent_type]);
    }
    if let Some(model) = role.model {
        say(&["--model", model]);
    }
    if client == Client::Claude && role.plan_mode {
        say(&["--plan-mode-required"]);
    }
    command
}

/// Variables that the client needs beside ours.
pub(super) fn variables(client: Option<Client>) -> &'static [(&'static str, &'static str)] {
    match client {
        Some(Client::Claude) => &[("CLAUDECODE", "1"), ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1")],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(client: Option<Client>, given: &[&str], model: Option<&str>, plan_mode: bool) -> String {
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        let config = TeamConfig { lead_session_id: Some("404c5e08".into()), ..TeamConfig::default() };
        let (team, name) = (TeamName::create("dev").unwrap(), MemberName::create("bob").unwrap());
        let role = Role {
            team: &team,
            config: &config,
            name: &name,
            agent_type: "general-purpose",
            color: &Color::Blue,
            model,
            plan_mode,
        };
        command(client, &given, &role).join(" ")
    }

    #[test]
    fn claude_is_a_separate_process_of_the_team() {
        let flags = "--agent-id bob@dev --agent-name bob --team-name dev --agent-color blue \
                     --parent-session-id 404c5e08 --agent-type general-purpose";
        assert_eq!(built(Some(Client::Claude), &[], None, false), format!("claude {flags}"));
        assert_eq!(
            built(Some(Client::Claude), &["/opt/claude", "--verbose"], Some("opus"), true),
            format!("/opt/claude --verbose {flags} --model opus --plan-mode-required")
        );
    }

    #[test]
    fn others_run_as_they_are() {
        assert_eq!(built(Some(Client::Codex), &[], None, true), "codex");
        assert_eq!(built(Some(Client::Gemini), &[], Some("flash"), false), "gemini --model flash");
        assert_eq!(built(None, &["sh", "agent.sh"], Some("opus"), true), "sh agent.sh");
    }

    #[test]
    fn a_client_is_known_by_its_program() {
        let of = |word: &str| Client::of_command(&[word.to_owned()]);
        assert_eq!(of("/usr/bin/opencode"), Some(Client::Opencode));
        assert_eq!(of("sh"), None);
        assert_eq!(Client::of_command(&[]), None);
    }
}
