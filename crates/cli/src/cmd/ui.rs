//! `atm ui`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atm_panes::Server;
use atm_tui::{Ended, Settings, Theme};
use atm_wire::{Stamp, TeamName};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::daemon;
use super::spawn::here;
use crate::args::ColorChoice;
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::times::Times;
use crate::{hint, stop};

#[derive(Debug, Args)]
#[command(after_help = "\
Mail with its stages, what needs you, tasks and the log of all teams, live, for keyboard (`?` lists the keys) and mouse. Looking
marks nothing as read. Every action says which command it is. What the policy asks of the lead (deciding about plans, asking
a member to end) a person may do here: it is sent in the lead's name, and recorded as `user via ui`. A letter can be written
in $VISUAL or $EDITOR. No daemon is needed; `[daemon] autostart = \"with-ui\"` starts one. With --json it only says what it
would begin with.")]
pub(crate) struct Ui {
    /// The colours: the terminal's own; the same, but nothing faint; none [default: terminal, or mono with NO_COLOR]
    #[arg(long, value_enum, value_name = "THEME")]
    theme: Option<ThemeArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ThemeArg {
    /// The terminal's own sixteen colours
    Terminal,
    /// The same, with nothing faint
    Contrast,
    /// None: bold, faint, underlined and reversed
    Mono,
}

impl From<ThemeArg> for Theme {
    fn from(theme: ThemeArg) -> Self {
        match theme {
            ThemeArg::Terminal => Self::Terminal,
            ThemeArg::Contrast => Self::Contrast,
            ThemeArg::Mono => Self::Mono,
        }
    }
}

impl Ui {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        if context.out.json {
            let settings = self.settings(context)?;
            let theme = settings.theme.as_str();
            context.out.document(&json!({ "team": settings.team, "as": settings.me, "theme": theme }))?;
            return Ok(0);
        }
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(Failure::new(ExitCode::Usage, "no_terminal", "this needs a terminal".to_owned())
                .hint("`atm status` and `atm watch` print the same"));
        }
        let settings = self.settings(context)?;
        context.out.finish()?;
        daemon::start_with_ui(context);
        stop::end_in_order(context.office.hub());
        match atm_tui::run(settings) {
            Ok(Ended::Left) => Ok(0),
            Ok(Ended::Stopped) => Ok(stop::exit_code()),
            Err(error) => Err(Failure::new(ExitCode::Io, "io", error.to_string())),
        }
    }

    fn settings(&self, context: &Context) -> Result<Settings, Failure> {
        let is_plain = context.settings.color.value == ColorChoice::Never;
        let default = if is_plain { Theme::Mono } else { Theme::Terminal };
        let times = Mutex::new(Times::new(context.global.utc));
        let clock = move |at: Stamp| times.lock().unwrap_or_else(PoisonError::into_inner).in_order(at);
        let said = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        Ok(Settings {
            // How far it has come with much mail is told on a terminal that is not ours to write on now.
            office: context.office.clone().with_observer(|_| {}),
            me: context.reader()?,
            team: first_team(context)?,
            theme: self.theme.map_or(default, Theme::from),
            ladder: context.settings.ladder.value.clone(),
            editor: said("VISUAL").or_else(|| said("EDITOR")),
            scratch: env::temp_dir(),
            inside: inside(),
            clock: Arc::new(clock),
            advice: hint::words,
            #[cfg(debug_assertions)]
            panics: env::var_os("ATM_TEST_PANIC").is_some(),
        })
    }
}

/// The team to begin with: the one that is named, which must be there, or the one that would be meant.
fn first_team(context: &Context) -> Result<Option<TeamName>, Failure> {
    match context.named_team()? {
        Some(team) => Ok(Some(team)),
        None => Ok(context.team().ok()),
    }
}

/// The socket of the tmux server that we run in.
fn inside() -> Option<PathBuf> {
    match here()? {
        Server::Here { socket, .. } => Some(socket.canonicalize().unwrap_or(socket)),
        Server::Named(_) | Server::Socket(_) => None,
    }
}
