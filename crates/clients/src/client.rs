//! The list of agent clients. It is the only one: code that needs some of them filters it by what their profiles say.

use std::fmt;
use std::str::FromStr;

use crate::invocation::Invocation;
use crate::profile::Profile;
use crate::{claude, codex, cursor, gemini, opencode, qwen};

/// A program that agents run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// `OpenCode`.
    Opencode,
    /// Cursor.
    Cursor,
}

/// There is no client of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no such client")]
pub struct UnknownClient;

impl AgentClient {
    /// All of them, in the order in which people see them.
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Opencode, Self::Cursor];

    /// What is known of it.
    pub fn profile(self) -> &'static Profile {
        match self {
            Self::Claude => &claude::PROFILE,
            Self::Codex => &codex::PROFILE,
            Self::Gemini => &gemini::PROFILE,
            Self::Qwen => &qwen::PROFILE,
            Self::Opencode => &opencode::PROFILE,
            Self::Cursor => &cursor::PROFILE,
        }
    }

    /// Its name in commands, answers and files, which is also that of its program.
    pub fn as_str(self) -> &'static str {
        self.profile().name
    }

    /// Its name as its makers write it.
    pub fn title(self) -> &'static str {
        self.profile().title
    }

    /// Whether it can be started as a member and knows models by their short names: haiku, sonnet, opus.
    pub fn has_short_models(self) -> bool {
        self.profile().launch.as_ref().is_some_and(|launch| launch.has_short_models)
    }

    /// Whether it can be told at its start what it may do without asking.
    pub fn has_permission_modes(self) -> bool {
        self.profile().launch.as_ref().is_some_and(|launch| launch.permission_option.is_some())
    }

    /// Whether a process of it is a single run; where nothing shows that, it is none. A prompt that was split into words could be read as
    /// commands and options.
    pub fn is_single_run(self, invocation: &Invocation) -> bool {
        !invocation.is_split && invocation.is_of(self.as_str()) && (self.profile().is_single_run)(invocation)
    }

    /// The client that a command starts, if it is one of these.
    pub fn of_command(command: &[String]) -> Option<Self> {
        let program = command.first()?.rsplit('/').next()?;
        program.parse().ok()
    }
}

impl fmt::Display for AgentClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for AgentClient {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        Self::ALL.into_iter().find(|client| client.as_str() == name).ok_or(UnknownClient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_its_name_and_by_its_program() {
        for client in AgentClient::ALL {
            assert_eq!(client.to_string().parse(), Ok(client));
            assert_eq!(AgentClient::of_command(&[format!("/usr/bin/{client}"), "-x".into()]), Some(client));
        }
        assert_eq!("Claude".parse::<AgentClient>(), Err(UnknownClient));
        assert_eq!(AgentClient::of_command(&["sh".to_owned()]), None);
        assert_eq!(AgentClient::of_command(&[]), None);
    }
}
