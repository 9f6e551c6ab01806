//! `atm team backup`

use std::path::{Path, PathBuf};

use atm_store::backup::Packing;
use atm_upkeep::backup::{self, BackupPlan, default_name};
use atm_wire::counted;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::size;

#[derive(Debug, Args)]
#[command(after_help = "\
The backup is a tar of the team's folder, its tasks and its archive, with a manifest of every file's size, mode
and hash. Nobody has to stop for it: each file is copied as it was at one moment, under its own locks. It is
readable by you alone. `atm team restore` checks all of it before anything is put in place.")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Backup {
    /// Which [default: the one that commands would use here]
    #[arg(value_name = "TEAM")]
    name: Option<String>,
    /// The file to be made [default: TEAM-TIME.tar.zst in this folder]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only config.json
    #[arg(long)]
    config_only: bool,
    /// Pack with gzip, which every machine can unpack
    #[arg(long, conflicts_with = "zstd")]
    gzip: bool,
    /// Pack with zstd, small and fast [default, unless FILE ends in .gz or .tgz]
    #[arg(long)]
    zstd: bool,
    /// Even if there is such a file
    #[arg(long)]
    force: bool,
}

impl Backup {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let team = super::meant(context, self.name.as_deref())?;
        let packing = self.packing();
        let name = self.out.unwrap_or_else(|| default_name(&team, context.office.now(), packing));
        let out = context.cwd.join(name);
        let plan = BackupPlan { out, force: self.force, packing, config_only: self.config_only };
        let mut progress = context.out.progress(&format!("backing up {team}"));
        let done = backup::backup(&context.office, &team, &plan, &mut |done, of| progress.at(done, of));
        drop(progress);
        let done = done.map_err(|error| match &error {
            atm_office::OfficeError::Store(atm_store::StoreError::Exists { .. }) => {
                Failure::from(error).hint("--force replaces it; --out names another")
            }
            _ => error.into(),
        })?;
        for warning in &done.warnings {
            context.out.warn(warning)?;
        }
        if context.out.json {
            context.out.document(&done)?;
        } else {
            let file = done.file.display().to_string();
            context.out.note(format!(
                "backed up team {}: {}, {} in {}, packed {}",
                safe::line(&done.team),
                counted(done.files, "file"),
                size::about(done.bytes),
                safe::line(&file),
                size::about(done.size)
            ))?;
        }
        Ok(())
    }

    fn packing(&self) -> Packing {
        let ending = self.out.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
        match (self.gzip, self.zstd, ending) {
            (true, ..) | (false, false, Some("gz" | "tgz")) => Packing::Gzip,
            _ => Packing::Zstd,
        }
    }
}
