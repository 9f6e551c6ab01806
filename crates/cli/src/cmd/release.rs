//! `atm release`

use atm_office::reservations::Give;
use clap::{Args, ValueHint};

use super::holder::holder;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
Without a path, all that you hold in this working tree. A path releases what you hold there and below it. The lead may
release what its members hold, and the person at the keyboard what anybody holds, by naming the path.")]
pub(crate) struct Release {
    /// What was reserved, or a folder above it
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    paths: Vec<String>,
    /// All that you hold, in all working trees
    #[arg(long, conflicts_with = "paths")]
    all: bool,
}

impl Release {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let what = match self.paths.as_slice() {
            [] if self.all => Give::Everything,
            [] => Give::Tree,
            paths => Give::Paths(paths),
        };
        let released = context.office.release(&holder(context)?, &context.cwd, what)?;
        let out = &mut context.out;
        if out.json {
            out.document(&released)?;
            return Ok(0);
        }
        if released.is_empty() {
            out.note("nothing to release: you hold no path here")?;
        }
        for one in &released {
            out.note(format!("released {} of {}", safe::line(&one.path), safe::line(&one.address())))?;
        }
        Ok(0)
    }
}
