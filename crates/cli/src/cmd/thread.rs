//! `atm thread`

use atm_office::trail::history::Remembered;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Out;
use crate::output::message::{self, Extent};

#[derive(Debug, Args)]
pub(crate) struct Thread {
    /// Any message of the conversation: its id, at least six characters of its start or end, or `last` for the last that
    /// you sent or got
    #[arg(value_name = "ID|last")]
    id: String,
}

impl Thread {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let teams = context.remembered_teams()?;
        let meant = context.office.message_with(&teams, &context.sender()?, &self.id)?;
        let thread = context.office.thread(Some(&meant.team), &meant.id)?;
        let out = &mut context.out;
        if out.json {
            out.document(&thread)?;
            return Ok(0);
        }
        out.page();
        show(out, &thread)?;
        Ok(0)
    }
}

/// Messages with their whole texts.
pub(super) fn show(out: &mut Out, messages: &[Remembered]) -> Result<(), Failure> {
    for one in messages {
        message::show_head_of(out, one)?;
        message::show_text(out, &one.text, &one.id, Extent::Whole)?;
    }
    Ok(())
}
