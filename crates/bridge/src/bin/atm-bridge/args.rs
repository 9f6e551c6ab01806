//! The command line.
#![expect(clippy::doc_markdown, reason = "these comments are the help text")]

use std::path::PathBuf;

use clap::Parser;

use crate::cmd::Command;

/// One team over many machines, through NATS JetStream
#[derive(Debug, Parser)]
#[command(
    name = "atm bridge",
    bin_name = "atm bridge",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  atm bridge key                                   # what the other machines are told
  atm bridge trust hub KEY                         # what they told you
  atm bridge run --nats nats://hub:4222 --team dev
  atm bridge status"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The shared tree [default: $ATM_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Our own state [default: $ATM_STATE, $XDG_STATE_HOME/atm]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Answer with JSON on stdout, errors as JSON on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Who this machine is.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "This machine")]
pub(crate) struct Me {
    /// The machines that share teams with each other [default: bridge.realm, or "home"]
    #[arg(long, value_name = "NAME")]
    pub(crate) realm: Option<String>,
    /// What this machine is called [default: bridge.machine, or the host's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
}

/// How to reach the server.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Server {
    /// Where the server is: nats://HOST:PORT or tls://HOST:PORT; several for a cluster [default: bridge.nats]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub(crate) nats: Vec<String>,
    /// A file with the user's JWT and seed [default: bridge.creds]
    #[arg(long, value_name = "FILE")]
    pub(crate) creds: Option<PathBuf>,
    /// A file with the user's nkey seed [default: bridge.nkey]
    #[arg(long, value_name = "FILE", conflicts_with = "creds")]
    pub(crate) nkey: Option<PathBuf>,
    /// The certificates of those who may sign the server's [default: bridge.tls_ca, else the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Our certificate, if the server wants one [default: bridge.tls_cert]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of our certificate [default: bridge.tls_key]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}
