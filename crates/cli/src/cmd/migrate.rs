//! `atm migrate`

use atm_upkeep::migrate;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "\
Adds `schemaVersion` to config.json, or raises it. With --dialect current, older spellings are
rewritten too: keys like created_at, times as numbers, flags like \"true\", messages without an
id (they get the one by which they are known), line numbers in strings. What clients write is
right without it. All else in the files stays, byte for byte, and so do rotated logs and the
archive. Each file is replaced whole, under its locks; if it is stopped halfway, run it again.

A configuration of a later generation than this atm knows is read, and never written (exit 6):
mail goes on, what would change the team or its members is refused.")]
pub(crate) struct Migrate {
    /// Which [default: the one that commands would use here]
    #[arg(value_name = "TEAM")]
    name: Option<String>,
    /// Only say what would be changed
    #[arg(long)]
    dry_run: bool,
    /// Rewrite older spellings, too
    #[arg(long, value_enum)]
    dialect: Option<Dialect>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Dialect {
    /// As this atm writes
    Current,
}

impl Migrate {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = match &self.name {
            Some(name) => context.office.choose_team(Some(name), &context.cwd)?,
            None => context.team()?,
        };
        let mut progress = context.out.progress(&format!("migrating {team}"));
        let at = &mut |done, of| progress.at(done, of);
        let files = migrate::migrate(&context.office, &team, self.dialect.is_some(), self.dry_run, at)?;
        drop(progress);
        let out = &mut context.out;
        if out.json {
            out.document(&json!({ "team": team, "dry_run": self.dry_run, "files": files }))?;
            return Ok(0);
        }
        for file in &files {
            out.line(safe::line(&file.file.display().to_string()))?;
            for step in &file.changes {
                let line = match &step.before {
                    Some(before) => format!("  {}: {before} -> {}", step.place, step.after),
                    None => format!("  {}: {} (new)", step.place, step.after),
                };
                out.line(safe::line(&line))?;
            }
        }
        let count: usize = files.iter().map(|file| file.changes.len()).sum();
        let verb = if self.dry_run { "would be changed; nothing was" } else { "changed" };
        out.note(if count == 0 { "nothing to do".to_owned() } else { format!("{count} {verb}") })?;
        Ok(0)
    }
}
