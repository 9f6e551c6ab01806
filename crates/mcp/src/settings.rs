//! What a server is started with.

use std::ffi::OsString;
use std::path::PathBuf;

use atm_office::Office;
use atm_office::mail::push::Push;
use atm_office::people::ancestry::ClientProcess;
use atm_panes::Server;
use atm_wire::{Address, TeamName};

/// What a server is started with. The server itself reads neither the environment nor the home folder.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rules and the files.
    pub office: Office,
    /// Whose server it is; without a name it is the lead's.
    pub identity: Option<Address>,
    /// The team that is meant where a call names none.
    pub team: Option<TeamName>,
    /// Where it was started.
    pub cwd: PathBuf,
    /// The client that started it, if one did.
    pub client: Option<ClientProcess>,
    /// Which tools it offers.
    pub profile: Profile,
    /// How it starts members.
    pub spawning: Spawning,
    /// The session that it pushes mail into, if it was handed one.
    pub push: Option<Push>,
}

/// Which tools are offered: each one costs every conversation its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// What a member needs for its daily work.
    Core,
    /// All of them.
    #[default]
    All,
}

/// What members need that are started by a tool.
#[derive(Debug, Clone, Default)]
pub struct Spawning {
    /// The tmux server; one of our own if there is none.
    pub server: Option<Server>,
    /// Variables for them.
    pub env: Vec<(String, OsString)>,
    /// What to run when one has ended; the words `--team TEAM` are added.
    pub on_exit: Vec<OsString>,
}
