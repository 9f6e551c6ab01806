//! Where members run: panes that can be opened, looked at, typed into and closed.
//!
//! [`Backend`] is what the rules need of a place to run in; [`Tmux`] is the one that there is. A pane is named by a
//! [`PaneRef`]: its server, its number there, and the token that it was marked with when it was opened. A server that
//! was restarted gives the old numbers to new panes, which do not have the token, so a stranger's pane is never
//! taken for a member's.

mod foreground;
mod quote;
mod run;
mod tmux;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use atm_wire::team::{BackendError, BackendType, Member};

pub use tmux::{Server, Tmux};

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

impl std::fmt::Display for PaneRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pane {} of {}", self.id, self.socket.display())
    }
}

/// Where a new pane goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// A window of its own.
    #[default]
    Window,
    /// A part of a window that is there.
    Split,
}

impl Place {
    /// The spelling in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Split => "split",
        }
    }
}

/// A pane to be opened.
#[derive(Debug, Clone)]
pub struct PaneSpec {
    /// The session that it goes to, on a server where the caller has none of its own.
    pub session: String,
    /// What its window is called.
    pub title: String,
    /// Whose it is, `name@team`: for people who look.
    pub member: String,
    /// Where it goes.
    pub place: Place,
    /// Where its program works.
    pub cwd: PathBuf,
}

/// What is to run in a pane.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The program and its arguments; no shell sees them.
    pub command: Vec<String>,
    /// Variables for it.
    pub env: Vec<(String, OsString)>,
    /// Where it works.
    pub cwd: PathBuf,
    /// A file that all its output is added to.
    pub log: Option<PathBuf>,
    /// A program to run when it has ended, with its arguments.
    pub on_exit: Vec<OsString>,
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

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// A place for members to run in.
pub trait Backend: std::fmt::Debug {
    /// Opens a pane in which nothing happens yet. If nobody starts something there within a minute, it closes itself.
    fn open(&self, spec: &PaneSpec) -> Result<PaneRef, PaneError>;

    /// Starts a program in a pane that was opened; says which process it is.
    fn start(&self, pane: &PaneRef, program: &Program) -> Result<u32, PaneError>;

    /// Whether the pane's program runs.
    fn alive(&self, pane: &PaneRef) -> Result<Life, PaneError>;

    /// The last lines of its screen and of what scrolled away.
    fn capture(&self, pane: &PaneRef, lines: usize) -> Result<String, PaneError>;

    /// Types a line, and the return key behind it. Control characters are left out.
    fn type_line(&self, pane: &PaneRef, text: &str) -> Result<(), PaneError>;

    /// What goes on there, by two looks at the screen with `pause` between them.
    fn busy(&self, pane: &PaneRef, pause: Duration) -> Result<Activity, PaneError>;

    /// Closes it, and ends what runs there. One that is gone is closed already.
    fn close(&self, pane: &PaneRef) -> Result<(), PaneError>;

    /// The process that runs there.
    fn pid(&self, pane: &PaneRef) -> Result<u32, PaneError> {
        match self.alive(pane)? {
            Life::Alive { pid, .. } => Ok(pid),
            Life::Dead(_) | Life::NoServer => Err(PaneError::Gone { pane: pane.to_string() }),
        }
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
}

/// The backend of that name, for panes on `server`.
pub fn backend(name: &str, server: Server) -> Result<Box<dyn Backend>, PaneError> {
    match name.parse()? {
        BackendType::Tmux => Ok(Box::new(Tmux::on(server))),
        BackendType::InProcess => Err(PaneError::NoPanes),
    }
}

#[cfg(test)]
mod tests;
