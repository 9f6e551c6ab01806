//! `atm log`

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::trace;

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The last so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
}

impl Log {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.remembered_team()?;
        let log = context.office.log(team.as_ref(), self.last)?;
        let out = &mut context.out;
        out.page();
        if out.json {
            out.document(&log)?;
            return Ok(0);
        }
        if log.is_empty() {
            out.note("nothing was sent or seen yet")?;
        } else {
            trace::show(out, &log)?;
        }
        Ok(0)
    }
}
