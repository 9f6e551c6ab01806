//! `atm pending`

use atm_office::trail::pending::Waiting;
use clap::Args;

use super::several::{self, Several};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, safe, trace};

#[derive(Debug, Args)]
#[command(after_help = "\
Listed is what was accepted and not written, queued for somebody who is off, unread for long by somebody who is not off,
not acknowledged, lost by a client, taken without a proof or without a sign of work; and steps of `atm tend` that a
process died over and that are not repeated, for a day. In the settings:
  [pending]
  unread_after = \"10m\"   # for so long mail may lie unread by a member that is there")]
pub(crate) struct Pending {
    /// All of it, however much there is
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    several: Several,
}

impl Pending {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let teams = self.several.teams(context)?;
        context.out.page();
        let mut everything = Vec::new();
        for team in &teams {
            let look = context.office.look_for_pending(team)?;
            for unreadable in &look.looked.unreadable {
                context.out.warn(unreadable)?;
            }
            if context.out.json {
                for step in &look.unknown {
                    context.out.warn(&step.words())?;
                }
                everything.extend(look.waiting);
                continue;
            }
            several::head(context, &teams, team)?;
            let out = &mut context.out;
            if !look.waiting.is_empty() {
                show(out, &look.waiting, self.all)?;
            } else if look.unknown.is_empty() {
                // Of several, each has its line above.
                let of_team = if teams.len() > 1 {
                    String::new()
                } else {
                    format!("team {}: ", safe::line(team.as_str()))
                };
                out.note(format!("{of_team}{}", look.looked.nothing()))?;
            }
            for step in &look.unknown {
                out.line(safe::line(&step.words()))?;
            }
        }
        if context.out.json {
            context.out.document(&everything)?;
        }
        Ok(0)
    }
}

/// So much is shown, unless all is asked for.
const MOST: usize = 20;

fn show(out: &mut Out, waiting: &[Waiting], all: bool) -> Result<(), Failure> {
    let most = if all { usize::MAX } else { MOST };
    trace::show_waiting(out, waiting.iter().take(most))?;
    out.more(waiting.len().saturating_sub(most), "--all")?;
    Ok(())
}
