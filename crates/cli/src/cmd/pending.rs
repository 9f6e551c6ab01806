//! `atm pending`

use atm_office::trail::pending::Waiting;
use clap::Args;

use super::duration::span;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, safe, table};

#[derive(Debug, Args)]
#[command(after_help = "\
Listed is what was accepted and not written, queued for somebody who is off, unread for long although its reader is there,
not acknowledged, lost by a client, taken without a proof or without a sign of work; and steps of `atm tend` that a
process died over and that are not repeated, for a day. In the settings:
  [pending]
  unread_after = \"10m\"   # for so long mail may lie unread by a member that is there")]
pub(crate) struct Pending {}

impl Pending {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let look = context.office.look_for_pending(&team)?;
        let out = &mut context.out;
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
            show(out, &look.waiting)?;
        } else if look.unknown.is_empty() {
            out.note(format!("team {}: {}", safe::line(team.as_str()), look.looked.nothing()))?;
        }
        for step in &look.unknown {
            out.line(safe::line(&step.words()))?;
        }
        Ok(0)
    }
}

pub(super) fn show(out: &mut Out, waiting: &[Waiting]) -> Result<(), Failure> {
    let line = |text: &str| safe::line(text).into_owned();
    let rows = waiting.iter().map(|waiting| {
        let message = &waiting.message;
        vec![
            span(waiting.waited_ms),
            line(&message.to),
            line(&message.from),
            message.stage_words(),
            line(message.summary.as_deref().unwrap_or(&message.r#type)),
            waiting.why.words(None),
            line(&message.id),
        ]
    });
    out.line(table::columns(&["WAITED", "FOR", "FROM", "STAGE", "WHAT", "WHY", "ID"], rows))?;
    Ok(())
}
