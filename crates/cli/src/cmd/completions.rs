//! `atm completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::args::Args::command(), "atm", &mut script);
        context.out.raw(&script)?;
        Ok(0)
    }
}
