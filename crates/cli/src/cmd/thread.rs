//! `atm thread`

use atm_office::trail::history::Remembered;
use clap::Args;

use super::read::Format;
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Out;
use crate::output::brief::{self, Budget};
use crate::output::message::{self, Extent};

#[derive(Debug, Args)]
pub(crate) struct Thread {
    /// Any message of the conversation: its id, at least six characters of its start or end, or `last` for the last that
    /// you sent or got
    #[arg(value_name = "ID|last")]
    id: String,
    /// The last so many; the message that was named is always among them [default: 50; with --json, all]
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// All of them, however many there are
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The most that `--format context` shows, in tokens [default: context.budget of the settings, 2000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<Budget>,
    #[command(flatten)]
    several: Several,
}

/// So many messages are shown unless somebody wants more.
const MOST: usize = 50;

impl Thread {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let teams = context.remembered_teams(self.several.all_teams)?;
        let (id, mut thread) = context.office.thread_with(&teams, &context.sender()?, &self.id)?;
        let is_json = context.out.json || self.format == Format::Json;
        let default = if is_json || self.format == Format::Context { usize::MAX } else { MOST };
        let most = if self.all { usize::MAX } else { self.last.unwrap_or(default) };
        let left_out = cut(&mut thread, &id, most);
        let budget = self.budget.unwrap_or(context.settings.budget.value);
        let now = context.office.now();
        let out = &mut context.out;
        if is_json {
            out.document(&thread)?;
            return Ok(0);
        }
        if self.format == Format::Context {
            out.line(brief::thread(&thread, &id, left_out, budget.bytes(), now))?;
            return Ok(0);
        }
        out.page();
        show(out, &thread)?;
        out.more(left_out, "--all")?;
        Ok(0)
    }
}

/// Leaves the last so many, and the one that is meant; says how many are gone.
fn cut(thread: &mut Vec<Remembered>, meant: &str, most: usize) -> usize {
    let before = thread.len();
    let first = before.saturating_sub(most.max(1));
    let is_late = thread.iter().skip(first).any(|one| one.id == meant);
    // The one that is meant takes the place of another.
    let first = if is_late || first == 0 { first } else { first + 1 };
    let mut at = 0;
    thread.retain(|one| {
        at += 1;
        at > first || one.id == meant
    });
    before - thread.len()
}

/// Messages with their whole texts.
pub(super) fn show(out: &mut Out, messages: &[Remembered]) -> Result<(), Failure> {
    for one in messages {
        message::show_head_of(out, one)?;
        message::show_text(out, &one.words(), &one.id, Extent::Whole)?;
    }
    Ok(())
}
