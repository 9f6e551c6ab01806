//! `atm team export`

use std::path::{Path, PathBuf};

use atm_store::files::NewFile;
use atm_upkeep::export::{Format, export};
use atm_wire::counted;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
Everything that is known of the team: who is active, its tasks, and all mail, each message marked with where it
is: in its inbox, in the archive, or nowhere but in the ledger (its reader's client has drained it). `atm team
import` reads json and jsonl back. On stdout control characters are shown, not written; --out writes every byte.")]
pub(crate) struct Export {
    /// Which [default: the one that commands would use here]
    #[arg(value_name = "TEAM")]
    name: Option<String>,
    /// The form
    #[arg(long, value_enum, default_value_t = FormatArg::Json)]
    format: FormatArg,
    /// The file to be made [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Even if there is such a file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatArg {
    /// One document
    Json,
    /// JSON Lines
    Jsonl,
    /// Markdown, for people
    Md,
    /// For mail programs
    Mbox,
}

impl FormatArg {
    fn format(self) -> Format {
        match self {
            Self::Json => Format::Json,
            Self::Jsonl => Format::JsonLines,
            Self::Md => Format::Markdown,
            Self::Mbox => Format::Mbox,
        }
    }
}

impl Export {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        if context.out.json && self.out.is_none() && self.format != FormatArg::Json {
            return Err(
                Failure::usage("--json and another form cannot both be on stdout").hint("give --out FILE")
            );
        }
        let team = match super::meant(context, self.name.as_deref()) {
            // Its mail outlives a team.
            Err(Failure::Told(told)) if told.code == "no_such_team" => {
                context.office.choose_archived_team(self.name.as_deref(), &context.cwd)?
            }
            team => team?,
        };
        let format = self.format.format();
        let mut progress = context.out.progress(&format!("exporting {team}"));
        let mut at = |done, of| progress.at(done, of);
        let Some(out) = self.out.map(|out| context.cwd.join(out)) else {
            let mut text = Vec::new();
            let summary = export(&context.office, &team, format, &mut text, Path::new("stdout"), &mut at)?;
            drop(progress);
            let text = String::from_utf8_lossy(&text);
            let shown = match format {
                Format::Json | Format::JsonLines => safe::json(&text),
                Format::Markdown | Format::Mbox => safe::lines(&text),
            };
            context.out.raw(shown.as_bytes())?;
            return summary
                .warnings
                .iter()
                .try_for_each(|warning| context.out.warn(warning))
                .map_err(Into::into);
        };
        let mut file = NewFile::begin(&out, self.force).map_err(|error| exists(error.into()))?;
        let summary = export(&context.office, &team, format, &mut file, &out, &mut at)?;
        drop(progress);
        file.finish().map_err(|error| exists(error.into()))?;
        for warning in &summary.warnings {
            context.out.warn(warning)?;
        }
        if context.out.json {
            let mut document = json!(summary);
            document["file"] = json!(out);
            context.out.document(&document)?;
        } else {
            let file = out.display().to_string();
            context.out.note(format!(
                "exported team {team}: {} ({} of them only in the ledger) and {} in {}",
                counted(summary.messages, "message"),
                summary.from_history,
                counted(summary.tasks, "task"),
                safe::line(&file)
            ))?;
        }
        Ok(())
    }
}

fn exists(error: atm_office::OfficeError) -> Failure {
    match &error {
        atm_office::OfficeError::Store(atm_store::StoreError::Exists { .. }) => {
            Failure::from(error).hint("--force replaces it; --out names another")
        }
        _ => error.into(),
    }
}
