//! `atm thread`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

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
        for message in &thread {
            let names = format!("{} → {}", out.paint.name(&message.from, None), safe::line(&message.to));
            let id = out.paint.dim(&safe::line(&message.id));
            out.line(format!("{names}  {}  {}  {id}", message.timestamp, message.stage_words()))?;
            for line in message.text.lines() {
                out.line(format!("  {}", safe::line(line)))?;
            }
        }
        Ok(0)
    }
}
