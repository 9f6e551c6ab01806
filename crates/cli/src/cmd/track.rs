//! `atm track`

use clap::Args;

use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::trace;

#[derive(Debug, Args)]
pub(crate) struct Track {
    /// The message: its id, at least six characters of its start or end, words of its text, or `last` for the last that
    /// you sent
    #[arg(value_name = "ID|TEXT|last")]
    what: String,
    #[command(flatten)]
    several: Several,
}

impl Track {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let teams = context.remembered_teams(self.several.all_teams)?;
        let track = context.office.track_meant(&teams, &context.sender()?, &self.what)?;
        if context.out.json {
            context.out.document(&track)?;
        } else {
            context.out.page();
            trace::show_track(&mut context.out, &track)?;
        }
        Ok(0)
    }
}
