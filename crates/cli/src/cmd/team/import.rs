//! `atm team import`

use std::path::PathBuf;

use atm_upkeep::import::{ImportPlan, import};
use clap::{Args, ValueEnum};

use super::merged;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
What the team lacks is added, as by `atm team restore --merge`: nothing is doubled, nothing is overwritten. A team
that is not there is made. Mail that was drained before the export goes into the archive.")]
pub(crate) struct Import {
    /// What `atm team export` wrote, as json or jsonl
    file: PathBuf,
    /// The form [default: it shows]
    #[arg(long, value_enum)]
    format: Option<ImportFormat>,
    /// Into another team than it is from
    #[arg(id = "who", long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ImportFormat {
    /// One document
    Json,
    /// JSON Lines
    Jsonl,
}

impl Import {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let plan = ImportPlan {
            file: context.cwd.join(self.file),
            lines: self.format.map(|format| format == ImportFormat::Jsonl),
            name: self.name,
            dry_run: self.dry_run,
        };
        let mut progress = context.out.progress("importing");
        let done = import(&context.office, &plan, &mut |done, of| progress.at(done, of))?;
        drop(progress);
        merged::tell(context, &done)
    }
}
