//! `atm peek`

use atm_wire::Address;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Peek {
    /// Whose screen
    name: Address,
    /// How many lines
    #[arg(long, value_name = "N", default_value_t = 40)]
    lines: usize,
}

impl Peek {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name) = context.whom(self.name)?;
        let peek = atm_panes::screen(&mut context.office.team(&team)?, &name, self.lines)?;
        let out = &mut context.out;
        if out.json {
            out.document(&peek)?;
        } else {
            for line in &peek.lines {
                out.line(safe::line(line))?;
            }
        }
        Ok(0)
    }
}
