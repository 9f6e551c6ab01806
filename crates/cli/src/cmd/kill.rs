//! `atm kill`

use atm_wire::Address;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "It is not asked: `atm shutdown request NAME` does that.")]
pub(crate) struct Kill {
    /// Who
    name: Address,
}

impl Kill {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name) = context.whom(self.name)?;
        let killed = atm_panes::kill(&mut context.office.team(&team)?, &name)?;
        let out = &mut context.out;
        if out.json {
            out.document(&killed)?;
        } else if killed.killed {
            out.note(format!("ended {name}@{team}; its inbox stays"))?;
        } else {
            out.note(format!("{name}@{team} did not run any more"))?;
        }
        Ok(0)
    }
}
