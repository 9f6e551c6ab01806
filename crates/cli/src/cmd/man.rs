//! `atm man`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::help::manual;

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    folder: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let Some(folder) = self.folder else {
            context.out.raw(&manual::main_page()?)?;
            return Ok(0);
        };
        write_pages(&folder).map_err(|error| {
            let message = format!("cannot write the pages to {}: {error}", folder.display());
            Failure::new(ExitCode::Io, "io", message)
        })?;
        context.out.note(format!("wrote the pages to {}", folder.display()))?;
        Ok(0)
    }
}

fn write_pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, page) in manual::pages()? {
        fs::write(folder.join(name), page)?;
    }
    Ok(())
}
