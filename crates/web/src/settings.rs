//! What a server is started with.

use std::net::SocketAddr;
use std::path::PathBuf;

use atm_office::chores::wake::Ladder;
use atm_office::{Hint, Office};
use atm_upkeep::archive::Upkeep;
use serde_json::{Map, Value};

/// What a server is started with. The server itself reads neither the environment nor the home folder.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The rules and the files.
    pub office: Office,
    /// Where it was started: it tells which team is meant where none is named.
    pub cwd: PathBuf,
    /// Where to listen.
    pub address: SocketAddr,
    /// Other names under which it is reached, through a proxy or from other machines.
    pub hosts: Vec<String>,
    /// Refuses everything that changes anything.
    pub read_only: bool,
    /// How long mail waits before each wake.
    pub ladder: Ladder,
    /// How the archive is kept.
    pub upkeep: Upkeep,
    /// The schemas of answers, by name: those of the command line.
    pub schemas: Map<String, Value>,
    /// A hint as a command.
    pub hint_words: fn(&Hint) -> String,
    /// The MCP server that is served beside it, if any.
    pub mcp: Option<atm_mcp::Server>,
}
