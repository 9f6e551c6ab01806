//! `atm thread`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::message::{self, Extent};

#[derive(Debug, Args)]
pub(crate) struct Thread {
    /// Any message of the conversation: its id, or at least six characters of its start or end
    #[arg(value_name = "ID")]
    id: String,
}

impl Thread {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.remembered_team()?;
        let thread = context.office.thread(team.as_ref(), &self.id)?;
        let out = &mut context.out;
        if out.json {
            out.document(&thread)?;
            return Ok(0);
        }
        out.page();
        for one in &thread {
            message::show_head_of(out, one)?;
            message::show_text(out, &one.text, &one.id, Extent::Whole)?;
        }
        Ok(0)
    }
}
