//! `atm recall`

use atm_office::machines::Stage;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{ids, safe};

#[derive(Debug, Args)]
#[command(after_help = "\
A message that is read, shown or taken stays, with exit code 4 and the reason. What it had answered or acknowledged stays
so. `atm track ID` shows `recalled`; should its reader have seen it all the same, that shows as `seen`.")]
pub(crate) struct Recall {
    /// The message: its id, at least six characters of its start or end, or `last` for the last that you sent
    #[arg(value_name = "ID|last")]
    id: String,
}

impl Recall {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.remembered_team()?;
        let recalled = context.office.recall(team.as_ref(), &context.sender()?, &self.id)?;
        let out = &mut context.out;
        for warning in &recalled.warnings {
            out.warn(warning)?;
        }
        if out.json {
            out.document(&recalled)?;
            return Ok(0);
        }
        let message = &recalled.message;
        let summary = message.summary.as_deref().map(|summary| format!(": {summary}")).unwrap_or_default();
        let to = format!("{}@{}{summary}", message.to, message.team);
        let id = out.paint.dim(&ids::short(&message.id));
        // Its recipient's machine may not have answered yet.
        let done = if recalled.stage == Stage::Recalled { "recalled from" } else { "to be recalled from" };
        out.note(format!("{done} {}  {id}", safe::line(&to)))?;
        Ok(0)
    }
}
