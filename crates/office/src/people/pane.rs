//! The panes that members run in, as the rules see them: who is there, how it ended, whether a line may be typed.
//!
//! A pane is named by a [`PaneRef`]: its server, its number there, and the token that it was marked with when it was opened. A
//! server that was restarted gives the old numbers to new panes, which do not have the token, so a stranger's pane is never
//! taken for a member's. What the panes are made of is the business of the [`PaneHost`] that an office is given.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use atm_wire::team::{BackendError, Member};

/// A pane that was opened by us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRef {
    /// The server's socket.
    pub socket: PathBuf,
    /// Its number there: `%14`.
    pub id: String,
    /// What it is marked with.
    pub token: String,
}

impl PaneRef {
    /// The pane that a member was started in, if we started it.
    pub fn of(member: &Member) -> Option<Self> {
        let id = member.tmux_pane_id.clone().filter(|id| id.starts_with('%'))?;
        let spawned = member.spawned.as_ref().filter(|spawned| !spawned.token.is_empty())?;
        Some(Self { socket: PathBuf::from(&spawned.socket), id, token: spawned.token.clone() })
    }
}

impl fmt::Display for PaneRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pane {} of {}", self.id, self.socket.display())
    }
}

/// Whether a pane's program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Alive {
        /// Its process.
        pid: u32,
        /// The pane is open, and its program was not started yet.
        waiting: bool,
    },
    /// It has ended, or the pane is gone.
    Dead(Option<Exit>),
    /// The server is gone, and every pane with it.
    NoServer,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By a signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// What goes on in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The screen changed between two looks.
    pub screen_moves: bool,
    /// A person scrolls or selects there.
    pub in_mode: bool,
    /// The program in the foreground.
    pub command: String,
    /// That program is a shell at its prompt: the pane's own first program, which runs no script.
    pub shell_waits: bool,
}

/// What the rules ask of panes. An office is given one by its front; tests replace it.
pub trait PaneHost: fmt::Debug + Send + Sync {
    /// Whether the programs of these panes run, in their order. Each server is asked once.
    fn lives(&self, panes: &[PaneRef]) -> Result<Vec<Life>, PaneError>;

    /// What goes on in a pane, by two looks at its screen with `pause` between them.
    fn busy(&self, pane: &PaneRef, pause: Duration) -> Result<Activity, PaneError>;

    /// Types a line, and the return key behind it. Control characters are left out.
    fn type_line(&self, pane: &PaneRef, text: &str) -> Result<(), PaneError>;

    /// Closes a pane, and ends what runs there. One that is gone is closed already.
    fn close(&self, pane: &PaneRef) -> Result<(), PaneError>;
}

/// The host of an office that was given none: nothing is known of any pane.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHost;

impl PaneHost for NoHost {
    fn lives(&self, panes: &[PaneRef]) -> Result<Vec<Life>, PaneError> {
        if panes.is_empty() { Ok(Vec::new()) } else { Err(PaneError::NoHost) }
    }

    fn busy(&self, _: &PaneRef, _: Duration) -> Result<Activity, PaneError> {
        Err(PaneError::NoHost)
    }

    fn type_line(&self, _: &PaneRef, _: &str) -> Result<(), PaneError> {
        Err(PaneError::NoHost)
    }

    fn close(&self, _: &PaneRef) -> Result<(), PaneError> {
        Err(PaneError::NoHost)
    }
}

/// Why something could not be done with a pane.
#[derive(Debug, thiserror::Error)]
pub enum PaneError {
    /// There is no tmux to be run.
    #[error("cannot run tmux: {0}")]
    NoTmux(#[source] std::io::Error),
    /// The server does not answer.
    #[error("tmux {command} did not answer within {} s", waited.as_secs())]
    Slow {
        /// What was asked.
        command: String,
        /// For how long.
        waited: Duration,
    },
    /// tmux said no.
    #[error("tmux {command}: {why}")]
    Refused {
        /// What was asked.
        command: String,
        /// What it said.
        why: String,
    },
    /// The pane is not there, or it is somebody else's now.
    #[error("{pane} is gone")]
    Gone {
        /// Which.
        pane: String,
    },
    /// There is no such place to run in.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Members that live in their lead's process have no pane.
    #[error("a member whose backend is in-process has no pane")]
    NoPanes,
    /// The office was made without a [`PaneHost`].
    #[error("panes cannot be asked from here")]
    NoHost,
}
