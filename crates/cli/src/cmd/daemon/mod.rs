//! `atm daemon`

mod logs;
mod peer;
mod run;
mod service;
mod start;
mod status;
mod units;

use atm_daemon::control::Client;
use atm_daemon::peers::clear_left;
use atm_daemon::{DaemonError, Holder, holder};
use clap::Subcommand;
use serde_json::json;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::version;

pub(crate) use start::{start_if_wanted, start_with_ui};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Nobody needs it: every command works the same without it. With it, what clients do is recorded as it happens, who is there
is known at once, and what is due by the clock is done: mail offered again, silent members asked, read mail archived.

One runs for each state folder, and watches all teams of the root that it was started with.")]
pub(crate) enum Daemon {
    /// Run it in this terminal, until you stop it
    Run(run::Run),
    /// Start it in the background, and wait until it serves
    Start,
    /// Stop it, and wait until it has ended
    Stop,
    /// How it does: since when, what it watches, what is due, what went wrong
    Status,
    /// What it did: its journal
    Logs(logs::Logs),
    /// Have systemd or launchd start it with your session
    Install(service::Install),
    /// Take that back
    Uninstall(service::Uninstall),
    /// Listen for somebody in Claude Code's own list of agents, until standard input ends: for `atm daemon run`
    #[command(hide = true)]
    Peer,
}

impl Daemon {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self {
            Self::Run(run) => run.run(context),
            Self::Start => start::run(context),
            Self::Stop => stop(context),
            Self::Status => status::run(context),
            Self::Logs(logs) => logs.run(context),
            Self::Install(install) => install.run(context),
            Self::Uninstall(uninstall) => uninstall.run(context),
            Self::Peer => peer::run(context),
        }
    }

    /// Whether this process is to be one: what happens in it goes into the journal.
    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}

fn stop(context: &mut Context) -> Result<i32, Failure> {
    let build = version::build();
    let state = context.office.state().clone();
    let Holder::Process(pid) = holder(&state) else {
        // What one that died has left.
        clear_left(&context.office);
        return told(context, false, "no daemon runs");
    };
    let waiting = context.out.waiting("waiting for the daemon to end");
    let stopped = Client::new(&state, &build).stop();
    drop(waiting);
    clear_left(&context.office);
    match stopped {
        Ok(()) => told(context, true, &format!("the daemon (process {pid}) has ended")),
        // It ended by itself meanwhile.
        Err(DaemonError::NotRunning) => told(context, false, "no daemon runs"),
        Err(error) => Err(error.into()),
    }
}

fn told(context: &mut Context, stopped: bool, words: &str) -> Result<i32, Failure> {
    if context.out.json {
        context.out.document(&json!({ "stopped": stopped }))?;
    } else {
        context.out.note(words)?;
    }
    Ok(0)
}

impl From<DaemonError> for Failure {
    fn from(error: DaemonError) -> Self {
        let (exit, code, hint) = match &error {
            DaemonError::Runs { .. } => (ExitCode::Busy, "daemon_runs", Some("atm daemon status".to_owned())),
            DaemonError::OtherRoot { .. } => {
                let hint = "one runs for each state folder: `atm daemon stop` first, or give this root a state folder of its own with --state";
                (ExitCode::Busy, "daemon_other_root", Some(hint.to_owned()))
            }
            DaemonError::NotRunning => (ExitCode::NotFound, "no_daemon", Some("atm daemon start".to_owned())),
            // Its number is not known, and 0 would mean everybody around.
            DaemonError::Silent { pid: 0 } => {
                (ExitCode::Busy, "daemon_silent", Some("atm daemon logs".to_owned()))
            }
            DaemonError::Silent { pid } => {
                let hint = format!(
                    "`kill -CONT {pid}` if it was suspended; `kill {pid}` ends it. Mail does not need it"
                );
                (ExitCode::Busy, "daemon_silent", Some(hint))
            }
            DaemonError::Refused(_) | DaemonError::Unreadable(_) => {
                let hint = "it may be of another version: `atm daemon stop`, then `atm daemon start`";
                (ExitCode::BadData, "daemon_answer", Some(hint.to_owned()))
            }
            DaemonError::DidNotStart(_) => (ExitCode::Io, "daemon_start", Some("atm daemon logs".to_owned())),
            DaemonError::Io { .. } => {
                let hint = "see disk space and permissions. Mail does not need the daemon";
                (ExitCode::Io, "io", Some(hint.to_owned()))
            }
            DaemonError::Store(_) | DaemonError::Office(_) => (ExitCode::Io, "daemon", None),
        };
        match error {
            DaemonError::Store(error) => atm_office::OfficeError::from(error).into(),
            DaemonError::Office(error) => error.into(),
            error => {
                let failure = Self::new(exit, code, error.to_string());
                match hint {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            }
        }
    }
}
