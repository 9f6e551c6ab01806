//! The command line.
#![expect(clippy::doc_markdown, reason = "these comments are the help text")]

use std::env;
use std::path::PathBuf;

use clap::{FromArgMatches, Parser, ValueEnum};

use crate::cmd::Command;
use crate::help;

/// Durable mail for teams of coding agents
#[derive(Debug, Parser)]
#[command(
    name = "atm",
    version,
    propagate_version = true,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do [default: status]
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Args {
    /// What this process was called with.
    ///
    /// Tried first with the one command that seems to be called, which is much less to describe; what that does not
    /// understand, or answers with help, gets the whole list.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        let named = env::args_os().skip(1).find_map(|argument| Command::describe(argument.to_str()?));
        // Without a word it is a look at the team.
        let called =
            named.or_else(|| (env::args_os().len() == 1).then(|| Command::describe("status")).flatten());
        let args = called.and_then(Self::of_command).map_or_else(Self::of_all_commands, Ok)?;
        match &args.command {
            Some(Command::Help(help)) => Err(help.page()),
            _ => Ok(args),
        }
    }

    /// With all commands and their help.
    fn of_all_commands() -> Result<Self, clap::Error> {
        let mut atm = help::command();
        let mut matches = atm.try_get_matches_from_mut(env::args_os())?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut atm))
    }

    fn of_command(command: clap::Command) -> Option<Self> {
        let atm = <Global as clap::Args>::augment_args(clap::Command::new("atm"))
            .disable_help_subcommand(true)
            .subcommand(command);
        Self::from_arg_matches_mut(&mut atm.try_get_matches().ok()?).ok()
    }
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Global {
    /// The shared tree [default: $ATM_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Our own state [default: $ATM_STATE, $XDG_STATE_HOME/atm]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// The team [default: $ATM_TEAM, the only one, or the one whose lead works here]
    #[arg(long, short, global = true, value_name = "TEAM")]
    pub(crate) team: Vec<String>,
    /// Who you are [default: $ATM_AS]
    #[arg(long = "as", global = true, value_name = "NAME")]
    pub(crate) who: Option<String>,
    /// Answer with JSON on stdout, errors as JSON on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say only what was asked for; of a message or task that is made, its id
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub(crate) color: Option<ColorChoice>,
    /// Show times in UTC, to the second
    #[arg(long, global = true)]
    pub(crate) utc: bool,
    /// Do not use a pager [else: $ATM_PAGER, $PAGER or less, on a terminal, for what is longer than the screen]
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
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
