//! `atm nudge`

use atm_wire::MemberName;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
Only into a pane that waits: its screen does not move, nobody scrolls there, and either the member's last word was
that it is idle, or a shell shows its prompt there. Only once for each new message; never for mail that is read.")]
pub(crate) struct Nudge {
    /// Who
    name: MemberName,
    /// What to type [default: how much mail there is, and how to read it]
    text: Option<String>,
}

impl Nudge {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let nudged = context.office.nudge(&team, &self.name, self.text.as_deref())?;
        let out = &mut context.out;
        if out.json {
            out.document(&nudged)?;
            return Ok(0);
        }
        match &nudged.why {
            Some(why) => out.note(format!("{}@{team} was not nudged: {why}", self.name))?,
            None => out.note(format!("nudged {}@{team}: unread {}", self.name, nudged.unread))?,
        }
        Ok(0)
    }
}
