//! The command line.
#![expect(clippy::doc_markdown, reason = "these comments are the help text")]

use std::env;
use std::path::PathBuf;

use clap::{FromArgMatches, Parser, ValueEnum};

use crate::cmd::Command;

const AFTER_HELP: &str = "\
A name is NAME, or NAME@TEAM. Without --as you send as `user`; reading mail needs --as.
Environment: ATM_ROOT ATM_STATE ATM_TEAM ATM_AS. Settings: ~/.config/atm/config.toml, then .atm.toml of the project.
Exit codes: 0 done, 2 usage, 3 no such team, member or message, 4 refused, 5 busy (nothing written),
6 bad data (nothing changed), 7 input or output failed, 8 written but the awaited stage did not come.";

/// Durable mail for teams of coding agents
#[derive(Debug, Parser)]
#[command(name = "atm", version, after_help = AFTER_HELP, propagate_version = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// What this process was called with.
    ///
    /// Tried first with the one command that seems to be called, which is much less to describe; what that does not
    /// understand, or answers with help, gets the whole list.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let called = env::args_os().skip(1).find_map(|argument| Command::describe(argument.to_str()?));
        called.and_then(Self::of_command).map_or_else(Self::try_parse, Ok)
    }

    fn of_command(command: clap::Command) -> Option<Self> {
        let atm = <Global as clap::Args>::augment_args(clap::Command::new("atm")).subcommand(command);
        Self::from_arg_matches_mut(&mut atm.try_get_matches().ok()?).ok()
    }
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
    /// The team [default: $ATM_TEAM, the only one, or the one whose lead works here]
    #[arg(long, short, global = true, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// Who you are [default: $ATM_AS]
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) who: Option<String>,
    /// Answer with JSON on stdout, errors as JSON on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say only what was asked for
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}
