//! What presence asks of the machine: which processes run, and as whom.

use std::fmt;
use std::path::PathBuf;

use super::ancestry::{self, ClientProcess};
use super::{agents, process};

/// A process whose command line says which member it is: `--agent-id NAME@TEAM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// `NAME@TEAM`.
    pub id: String,
    /// The process.
    pub pid: u64,
    /// The shared tree that it works with, where that can be seen: teams of two trees may have the same name.
    pub root: Option<PathBuf>,
}

/// A client that does not say which member it is, if it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nameless {
    /// The process.
    pub pid: u64,
    /// The shared tree that it works with, where that can be seen.
    pub root: Option<PathBuf>,
    /// Where it works, where that can be seen.
    pub cwd: Option<PathBuf>,
    /// The tmux pane that it was started in, by its environment.
    pub pane: Option<String>,
}

/// What can be asked about processes. Tests replace it.
pub trait ProcessProbe: fmt::Debug + Send + Sync {
    /// When a process started, as the system spells it; empty where nothing says. `None` if it does not run, or only
    /// waits to be reaped.
    fn started(&self, pid: u64) -> Option<String>;

    /// Whether a process is stopped, and goes on when somebody says so. A probe that cannot tell says that it is not.
    fn is_stopped(&self, _pid: u64) -> bool {
        false
    }

    /// Where a process number means something: the machine, and where there are such, the namespace.
    fn pid_space(&self) -> String;

    /// The processes that run as a member of some team.
    fn agents(&self) -> Vec<Agent>;

    /// The clients that do not say which member they are.
    fn nameless(&self) -> Vec<Nameless>;

    /// The client above a process whose parent is `parent`. A probe that knows of none says so.
    fn client_above(&self, _parent: u64) -> Option<ClientProcess> {
        None
    }

    /// Whether a process whose parent is `parent` runs below the process `pid`.
    fn is_above(&self, _parent: u64, _pid: u64) -> bool {
        false
    }

    /// The nearest process above one whose parent is `parent` that is an agent's client by its name, however many programs
    /// are between them.
    fn named_client_above(&self, _parent: u64) -> Option<ClientProcess> {
        None
    }
}

/// This machine: `/proc`, or where there is none, `ps`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProbe;

impl ProcessProbe for SystemProbe {
    fn started(&self, pid: u64) -> Option<String> {
        process::started(pid)
    }

    fn is_stopped(&self, pid: u64) -> bool {
        process::is_stopped(pid)
    }

    fn pid_space(&self) -> String {
        process::pid_space()
    }

    fn agents(&self) -> Vec<Agent> {
        agents::running()
    }

    fn nameless(&self) -> Vec<Nameless> {
        agents::nameless()
    }

    fn client_above(&self, parent: u64) -> Option<ClientProcess> {
        ancestry::client_above(parent)
    }

    fn is_above(&self, parent: u64, pid: u64) -> bool {
        ancestry::is_above(parent, pid)
    }

    fn named_client_above(&self, parent: u64) -> Option<ClientProcess> {
        ancestry::named_client_above(parent)
    }
}
