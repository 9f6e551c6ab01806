//! What is refused when members are started, ended and woken.

use std::path::PathBuf;

use crate::error::ExitCode;
use crate::pane::PaneError;

/// Why a member could not be started, ended or woken.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The place that it runs in, or would.
    #[error(transparent)]
    Pane(#[from] PaneError),
    /// There is no such program.
    #[error("there is no program {program:?}")]
    NoProgram {
        /// What was to be run.
        program: String,
    },
    /// There is no such folder.
    #[error("{} is not a folder", path.display())]
    NoFolder {
        /// Where it was to work.
        path: PathBuf,
    },
    /// Nothing says what to run.
    #[error("nothing says what {who} is to run")]
    NothingToRun {
        /// Who.
        who: String,
    },
    /// The client is not started with such a mode.
    #[error("{client} takes no permission mode {mode:?}")]
    NoPermissionMode {
        /// Which client.
        client: String,
        /// What was asked for.
        mode: String,
    },
    /// The name is taken, by one that is off.
    #[error("{who} is a member already, and off")]
    IsMember {
        /// Who.
        who: String,
    },
    /// It runs.
    #[error("{who} runs already: {why}")]
    Runs {
        /// Who.
        who: String,
        /// How we know.
        why: String,
    },
    /// It does not run.
    #[error("{who} does not run: {why}")]
    Off {
        /// Who.
        who: String,
        /// How we know.
        why: String,
    },
    /// Somebody else started it, so we do not know its pane.
    #[error("{who} was not started by `atm spawn`, so its pane is not known for sure")]
    NotOurs {
        /// Who.
        who: String,
    },
    /// Nobody types into a program that is at work.
    #[error("{who} is busy: {why}")]
    Busy {
        /// Who.
        who: String,
        /// With what.
        why: String,
    },
}

impl SpawnError {
    /// The exit code for this error.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::NothingToRun { .. } | Self::NoPermissionMode { .. } => ExitCode::Usage,
            Self::NoProgram { .. }
            | Self::NoFolder { .. }
            | Self::Off { .. }
            | Self::Pane(PaneError::Gone { .. }) => ExitCode::NotFound,
            Self::IsMember { .. }
            | Self::Runs { .. }
            | Self::NotOurs { .. }
            | Self::Busy { .. }
            | Self::Pane(PaneError::Backend(_) | PaneError::NoPanes) => ExitCode::Refused,
            Self::Pane(PaneError::NoTmux(_) | PaneError::Slow { .. } | PaneError::Refused { .. }) => {
                ExitCode::Io
            }
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Pane(PaneError::NoTmux(_)) => "no_tmux",
            Self::Pane(PaneError::Slow { .. } | PaneError::Refused { .. }) => "tmux",
            Self::Pane(PaneError::Gone { .. }) => "pane_gone",
            Self::Pane(PaneError::Backend(_) | PaneError::NoPanes) => "no_such_backend",
            Self::NoProgram { .. } => "no_such_program",
            Self::NoFolder { .. } => "no_such_folder",
            Self::NothingToRun { .. } => "nothing_to_run",
            Self::NoPermissionMode { .. } => "no_permission_mode",
            Self::IsMember { .. } => "exists",
            Self::Runs { .. } => "runs",
            Self::Off { .. } => "off",
            Self::NotOurs { .. } => "not_started_here",
            Self::Busy { .. } => "busy_pane",
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Pane(PaneError::NoTmux(_)) => "install tmux; members run in its panes".to_owned(),
            Self::Pane(PaneError::Slow { .. }) => {
                "the tmux server hangs; nothing was changed here".to_owned()
            }
            Self::Pane(PaneError::Refused { why, .. }) if why.contains("no space") => {
                "use --place window".to_owned()
            }
            Self::Pane(PaneError::Gone { .. }) | Self::Off { .. } => {
                "`atm respawn NAME` starts it again; `atm members` shows who runs".to_owned()
            }
            Self::NoProgram { .. } => "name it with its path, or put it on your PATH".to_owned(),
            Self::NoFolder { .. } => "--cwd names a folder that is there".to_owned(),
            Self::NothingToRun { .. } => "give --client, or the command behind `--`".to_owned(),
            Self::NoPermissionMode { .. } => {
                "--permission-mode is one word, for Claude Code; other clients have settings of their own"
                    .to_owned()
            }
            Self::IsMember { who } => {
                let name = who.split('@').next().unwrap_or(who);
                format!("`atm respawn {name}` starts it, with its inbox")
            }
            Self::Runs { .. } => "`atm kill NAME` ends it; `atm attach NAME` shows it".to_owned(),
            Self::NotOurs { .. } => "members that a client started are its own: nothing was done".to_owned(),
            Self::Busy { .. } => "nothing was typed; its mail waits in its inbox".to_owned(),
            Self::Pane(_) => return None,
        })
    }
}
