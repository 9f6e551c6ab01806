//! `atm read`

use std::io;
use std::time::Duration;

use atm_office::sessions;
use atm_wire::counted;
use clap::{Args, ValueEnum};

use super::duration::{duration, span_of as span};
use super::recipient::{self, Acting};
use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::brief::{Brief, Budget, brief};
use crate::output::{message, message::Extent, message::Flags};

#[derive(Debug, Args)]
pub(crate) struct Read {
    /// Leave it unread
    #[arg(long)]
    peek: bool,
    /// Wait for mail, at the most this long: 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    wait: Option<Duration>,
    /// At the most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The most that `--format context` shows, in tokens; the rest stays unread [default: context.budget of the
    /// settings, 2000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<Budget>,
}

/// How to show mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// As with --json
    Json,
    /// For an agent's prompt: short, and nothing at all when there is nothing
    Context,
}

impl Read {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let named = |context: &Context| Ok((context.team()?, context.reader()?));
        let Acting { team, who, .. } = recipient::acting(context, named)?;
        // Of the mail of a folder, the session that asks gets what is for it.
        let session = sessions::is_team(&team).then(|| recipient::session_here(context)).flatten();
        let team = context.office.team(&team)?.in_session(session);
        if !self.peek {
            context.out.check_open().map_err(|error| unseen(&error))?;
        }
        let limit = self.limit.unwrap_or(usize::MAX);
        if let Some(wait) = self.wait {
            let waiting = context.out.waiting(&format!("waiting for mail for {who}, at most {}", span(wait)));
            team.wait_for_mail(&who, wait)?;
            drop(waiting);
        }
        let mut reading =
            if self.peek { team.peek(&who, limit)? } else { team.begin_read_from(&who, None, limit)? };
        let out = &mut context.out;
        for warning in reading.warnings() {
            out.warn(warning)?;
        }
        match self.format {
            _ if out.json => out.document(&reading.document())?,
            Format::Json => out.document(&reading.document())?,
            Format::Context if reading.messages().is_empty() => {}
            Format::Context => {
                let budget = self.budget.unwrap_or(context.settings.budget.value);
                let Brief { text, shown } =
                    brief(reading.messages(), 0, budget.bytes(), context.office.now());
                let mut is_shown = shown.into_iter();
                reading.retain(|_| is_shown.next().unwrap_or(false));
                out.line(text)?;
            }
            Format::Text if reading.messages().is_empty() => out.note(nothing(reading.on_its_way()))?,
            Format::Text => message::show(out, reading.messages(), Flags::Hidden, Extent::Whole)?,
        }
        // Shown first, marked then: whatever stops us in between, nothing counts as read that nobody saw.
        out.finish()?;
        if !self.peek {
            for warning in reading.confirm()?.warnings {
                context.out.warn(&warning)?;
            }
        }
        Ok(0)
    }
}

/// There is no mail to be read, but so much comes into the conversation by itself.
fn nothing(on_its_way: usize) -> String {
    match on_its_way {
        0 => "no new mail".to_owned(),
        some => format!("no new mail; {} on the way into this conversation", counted(some, "message")),
    }
}

/// Nobody would see the mail, so it stays unread.
fn unseen(error: &io::Error) -> Failure {
    Failure::new(ExitCode::Io, "io", format!("cannot show mail: {error}"))
        .hint("nothing was marked as read; `> /dev/null`, opened for writing alone, marks without showing")
}
