//! `atm team restore`

use std::path::PathBuf;

use atm_office::OfficeError;
use atm_store::StoreError;
use atm_store::backup::Limits;
use atm_upkeep::backup::{self, RestorePlan};
use atm_upkeep::restore_config::{ConfigRestored, restore_config};
use atm_wire::counted;
use clap::Args;

use super::merged;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::size;

#[derive(Debug, Args)]
#[command(after_help = "\
Every file is unpacked beside its place and checked against the manifest; then the team is there at once, byte
for byte and with its modes. A file that leads elsewhere, a link, a file twice, one that the manifest does not
name, another hash, or more than is allowed: the backup is refused (exit 6), and nothing is changed.
--merge adds to a team that is at work: messages that neither inbox nor archive has, by their ids or else by
sender, time and text; members of other names; tasks of other numbers; other files. Nothing is overwritten.
What a reader is known to have seen comes as read.
--config-only puts config.json in the place of the one that is there, for a team whose own is broken or gone:
mail and tasks stay as they are, and `atm doctor --undo` puts the old one back.")]
pub(crate) struct Restore {
    /// The backup
    file: PathBuf,
    /// Under another name than it had
    #[arg(id = "who", long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Add what is missing to a team that is there
    #[arg(long, conflicts_with = "config_only")]
    merge: bool,
    /// Only put config.json back, in the place of the one that is there
    #[arg(long)]
    config_only: bool,
    /// Only check it, and say what would be done
    #[arg(long)]
    dry_run: bool,
    /// How much it may hold when it is unpacked [default: 16GB, and a thousand times its size]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    max_size: Option<u64>,
}

impl Restore {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let plan = RestorePlan {
            file: context.cwd.join(self.file),
            name: self.name,
            merge: self.merge,
            dry_run: self.dry_run,
            limits: Limits { most: self.max_size },
        };
        let mut progress = context.out.progress("restoring");
        if plan.merge {
            let done = backup::restore_into(&context.office, &plan, &mut |done, of| progress.at(done, of));
            drop(progress);
            return merged::tell(context, &done.map_err(explain)?);
        }
        if self.config_only {
            let done = restore_config(&context.office, &plan, &mut |done, of| progress.at(done, of));
            drop(progress);
            return tell_config(context, &done.map_err(explain)?);
        }
        let done = backup::restore(&context.office, &plan, &mut |done, of| progress.at(done, of));
        drop(progress);
        let done = done.map_err(explain)?;
        if context.out.json {
            context.out.document(&done)?;
            return Ok(());
        }
        for warning in &done.warnings {
            context.out.warn(warning)?;
        }
        let what = format!("{}, {}", counted(done.files, "file"), size::about(done.bytes));
        let made = context.out.times.moment(done.created_at);
        let team = safe::line(&done.team);
        let path = done.path.display().to_string();
        context.out.note(if done.dry_run {
            format!("the backup is sound: {what}, made {made}; it would become team {team}")
        } else {
            format!("restored team {team}, backed up {made}: {what} in {}", safe::line(&path))
        })?;
        Ok(())
    }
}

fn tell_config(context: &mut Context, done: &ConfigRestored) -> Result<(), Failure> {
    let out = &mut context.out;
    if out.json {
        return Ok(out.document(done)?);
    }
    for (names, what) in [(&done.added, "is a member again"), (&done.removed, "is no member any more")] {
        for name in names {
            out.line(format!("{} {what}", safe::line(name)))?;
        }
    }
    let what = format!("the configuration of {} in {}", done.created_at, done.file.display());
    out.note(safe::line(&match &done.journal {
        Some(id) => format!("put back {what}; `atm doctor --undo {id}` undoes it"),
        None if done.dry_run => format!("would put back {what}"),
        None => format!("it is as it was: {what}"),
    }))?;
    Ok(())
}

/// What to do next, which is not what other commands would say.
fn explain(error: OfficeError) -> Failure {
    let hint = match &error {
        OfficeError::Exists { .. } | OfficeError::Store(StoreError::Exists { .. }) => {
            "--as NAME restores it under another name, --merge adds what is missing"
        }
        OfficeError::Store(StoreError::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            "there is no such file"
        }
        _ => return error.into(),
    };
    Failure::from(error).hint(hint)
}
