//! `atm pending`

use atm_office::trail::pending::Waiting;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, safe, trace};

#[derive(Debug, Args)]
#[command(after_help = "\
Listed is what was accepted and not written, queued for somebody who is off, unread for long although its reader is there,
not acknowledged, lost by a client, taken without a proof or without a sign of work; and steps of `atm tend` that a
process died over and that are not repeated, for a day. In the settings:
  [pending]
  unread_after = \"10m\"   # for so long mail may lie unread by a member that is there")]
pub(crate) struct Pending {
    /// All of it, however much there is
    #[arg(long)]
    all: bool,
}

impl Pending {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let look = context.office.look_for_pending(&team)?;
        let out = &mut context.out;
        out.page();
        for unreadable in &look.looked.unreadable {
            out.warn(unreadable)?;
        }
        if out.json {
            for step in &look.unknown {
                out.warn(&step.words())?;
            }
            out.document(&look.waiting)?;
            return Ok(0);
        }
        if !look.waiting.is_empty() {
            show(out, &look.waiting, self.all)?;
        } else if look.unknown.is_empty() {
            out.note(format!("team {}: {}", safe::line(team.as_str()), look.looked.nothing()))?;
        }
        for step in &look.unknown {
            out.line(safe::line(&step.words()))?;
        }
        Ok(0)
    }
}

/// So much is shown, unless all is asked for.
const MOST: usize = 20;

pub(super) fn show(out: &mut Out, waiting: &[Waiting], all: bool) -> Result<(), Failure> {
    let most = if all { usize::MAX } else { MOST };
    trace::show_waiting(out, waiting.iter().take(most))?;
    out.more(waiting.len().saturating_sub(most), "atm pending --all")?;
    Ok(())
}
