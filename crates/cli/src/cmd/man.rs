//! `atm man`

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  atm man | man -l -
  atm man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let command = crate::args::Args::command();
        let Some(folder) = self.folder else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            context.out.raw(&page)?;
            return Ok(0);
        };
        std::fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(command, &folder)).map_err(
            |error| {
                let message = format!("cannot write the pages to {}: {error}", folder.display());
                Failure::new(ExitCode::Io, "io", message)
            },
        )?;
        context.out.note(format!("wrote the pages to {}", folder.display()))?;
        Ok(0)
    }
}
