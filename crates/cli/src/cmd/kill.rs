//! `atm kill`

use atm_wire::MemberName;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "It is not asked: `atm shutdown request NAME` does that.")]
pub(crate) struct Kill {
    /// Who
    name: MemberName,
}

impl Kill {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let killed = atm_panes::kill(&mut context.office.team(&team)?, &self.name)?;
        let out = &mut context.out;
        if out.json {
            out.document(&killed)?;
        } else if killed.killed {
            out.note(format!("ended {}@{team}; its inbox stays", self.name))?;
        } else {
            out.note(format!("{}@{team} did not run any more", self.name))?;
        }
        Ok(0)
    }
}
