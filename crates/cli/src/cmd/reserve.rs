//! `atm reserve`

use std::time::Duration;

use atm_office::reservations::{Ask, DEFAULT_SPAN};
use clap::{Args, ValueHint};

use super::duration::{duration, time_left};
use super::holder::holder;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
A folder covers what is below it. In a glob, `*` and `?` are parts of a name and `**` any folders; quote it for the shell.
All paths are reserved, or none: exit 4 if somebody else has one of them, with who and until when. Reserving again extends.
A reservation ends by the clock, with `atm release`, and with the session, process or pane that made it. It counts in one
working tree: worktrees are apart. Clients that were set up with `atm install CLIENT --reservations` refuse to edit what
others have reserved; nothing keeps anybody from reading, nor a shell command from writing.")]
pub(crate) struct Reserve {
    /// A file, a folder, or a glob, in this working tree
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    paths: Vec<String>,
    /// For how long; at most 7 days [default: 30m]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    span: Option<Duration>,
    /// What for: others see it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// For some time at least: what is over at once keeps nobody away.
fn span(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|span| if span.is_zero() { Err("it would be over at once".to_owned()) } else { Ok(span) })
}

impl Reserve {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let reserved = context.office.reserve(&Ask {
            holder: &holder(context)?,
            cwd: &context.cwd,
            paths: &self.paths,
            span: self.span.unwrap_or(DEFAULT_SPAN),
            reason: self.reason.as_deref(),
        })?;
        let now = context.office.now();
        let out = &mut context.out;
        if out.json {
            out.document(&reserved)?;
            return Ok(0);
        }
        for one in &reserved {
            let left = time_left(one.until, now);
            out.note(format!(
                "reserved {} for {}, for {left}",
                safe::line(&one.path),
                safe::line(&one.address())
            ))?;
        }
        Ok(0)
    }
}
