//! What is refused when members are started, ended and woken.

use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::hint::{Hint, name_in};
use crate::people::pane::PaneError;

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
    /// No client of ours, or one that has no such way.
    #[error("{who} cannot run without a terminal UI: nothing says which client it is")]
    NotHeadless {
        /// Who.
        who: String,
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
    #[error("{who} was not started by atm, so its pane is not known for sure")]
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
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NothingToRun { .. } | Self::NoPermissionMode { .. } | Self::NotHeadless { .. } => {
                ErrorKind::Invalid
            }
            Self::NoProgram { .. }
            | Self::NoFolder { .. }
            | Self::Off { .. }
            | Self::Pane(PaneError::Gone { .. }) => ErrorKind::NotFound,
            Self::IsMember { .. }
            | Self::Runs { .. }
            | Self::NotOurs { .. }
            | Self::Busy { .. }
            | Self::Pane(PaneError::Backend(_) | PaneError::NoPanes) => ErrorKind::Refused,
            Self::Pane(
                PaneError::NoTmux(_) | PaneError::Slow { .. } | PaneError::Refused { .. } | PaneError::NoHost,
            ) => ErrorKind::Io,
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Pane(PaneError::NoTmux(_)) => "no_tmux",
            Self::Pane(PaneError::Slow { .. } | PaneError::Refused { .. }) => "tmux",
            Self::Pane(PaneError::Gone { .. }) => "pane_gone",
            Self::Pane(PaneError::Backend(_) | PaneError::NoPanes) => "no_such_backend",
            Self::Pane(PaneError::NoHost) => "no_pane_host",
            Self::NoProgram { .. } => "no_such_program",
            Self::NoFolder { .. } => "no_such_folder",
            Self::NothingToRun { .. } => "nothing_to_run",
            Self::NotHeadless { .. } => "not_headless",
            Self::NoPermissionMode { .. } => "no_permission_mode",
            Self::IsMember { .. } => "exists",
            Self::Runs { .. } => "runs",
            Self::Off { .. } => "off",
            Self::NotOurs { .. } => "not_started_here",
            Self::Busy { .. } => "busy_pane",
        }
    }

    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::Pane(PaneError::NoTmux(_)) => Hint::InstallTmux,
            Self::Pane(PaneError::Slow { .. }) => Hint::TmuxHangs,
            Self::Pane(PaneError::Refused { why, .. }) if why.contains("no space") => Hint::UseWindow,
            Self::Pane(PaneError::Gone { .. }) => Hint::StartAgain { name: None },
            Self::Off { who, .. } => Hint::StartAgain { name: who.contains('@').then(|| name_in(who)) },
            Self::IsMember { who } => Hint::StartMember { name: name_in(who) },
            Self::NoProgram { .. } => Hint::NameProgram,
            Self::NoFolder { .. } => Hint::NameFolder,
            Self::NothingToRun { .. } | Self::NotHeadless { .. } => Hint::GiveCommand,
            Self::NoPermissionMode { .. } => Hint::NamePermissionMode,
            Self::Runs { who, .. } => Hint::EndMember { name: name_in(who) },
            Self::NotOurs { .. } => Hint::LeaveToClient,
            Self::Busy { .. } => Hint::MailWaits,
            Self::Pane(_) => return None,
        })
    }
}
