//! `atm pending`

use atm_office::trail::pending::Waiting;
use clap::Args;

use super::duration::span;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, safe, table};

#[derive(Debug, Args)]
pub(crate) struct Pending {}

impl Pending {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let waiting = context.office.pending(&team)?;
        let out = &mut context.out;
        if out.json {
            out.document(&waiting)?;
        } else if waiting.is_empty() {
            out.note(format!("nothing waits in team {}", safe::line(team.as_str())))?;
        } else {
            show(out, &waiting)?;
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
