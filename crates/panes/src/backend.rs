//! A place for members to run in: what it takes to open panes there and start programs in them.

use std::ffi::OsString;
use std::path::PathBuf;

use atm_office::people::pane::{Life, PaneError, PaneHost, PaneRef};
use atm_wire::team::BackendType;

use crate::tmux::{Server, Tmux};

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

/// A place for members to run in.
pub trait Backend: PaneHost {
    /// Opens a pane in which nothing happens yet. If nobody starts something there within a minute, it closes itself.
    fn open(&self, spec: &PaneSpec) -> Result<PaneRef, PaneError>;

    /// Starts a program in a pane that was opened; says which process it is.
    fn start(&self, pane: &PaneRef, program: &Program) -> Result<u32, PaneError>;

    /// The last lines of a pane's screen and of what scrolled away.
    fn capture(&self, pane: &PaneRef, lines: usize) -> Result<String, PaneError>;

    /// Whether a pane's program runs.
    fn alive(&self, pane: &PaneRef) -> Result<Life, PaneError> {
        Ok(self.lives(std::slice::from_ref(pane))?.pop().unwrap_or(Life::NoServer))
    }
}

/// The backend of that name, for panes on `server`.
pub fn backend(name: &str, server: Server) -> Result<Box<dyn Backend>, PaneError> {
    match name.parse()? {
        BackendType::Tmux => Ok(Box::new(Tmux::on(server))),
        BackendType::InProcess => Err(PaneError::NoPanes),
    }
}

#[cfg(test)]
mod tests {
    use atm_wire::team::BackendError;

    use super::*;

    #[test]
    fn backends_that_are_not_built_are_refused() {
        let named = |name| backend(name, Server::Named("atm-test".into()));
        assert!(named("tmux").is_ok());
        assert!(matches!(named("in-process"), Err(PaneError::NoPanes)));
        assert!(matches!(named("docker"), Err(PaneError::Backend(BackendError::Reserved("docker")))));
        assert!(matches!(named("screen"), Err(PaneError::Backend(BackendError::Unknown(_)))));
    }
}
