//! `atm clean`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use std::time::Duration;

use atm_upkeep::archive::{self, CLEAN_AFTER, Tended};
use atm_wire::{Address, counted};
use clap::Args;

use super::each_inbox;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is deleted but what dead processes left: mail that was read, rotated logs and the log layout's own
inbox-archive go into the archive, and what is due there is packed.")]
pub(crate) struct Clean {
    /// Whose inboxes [default: all of the team]
    #[arg(value_name = "NAME")]
    names: Vec<Address>,
    /// Only mail that was sent longer ago than this [default: archive.older_than in the settings, or 7d]
    #[arg(long, value_name = "TIME", value_parser = atm_wire::stamp::parse_duration)]
    older_than: Option<Duration>,
    /// Only say how much mail would be archived
    #[arg(long)]
    dry_run: bool,
}

impl Clean {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let upkeep = context.settings.upkeep.value.clone();
        let after = self.older_than.or(upkeep.older_than).unwrap_or(CLEAN_AFTER);
        let dry_run = self.dry_run;
        let words = move |tended: &Tended| {
            let verb = if dry_run { "would be archived" } else { "archived" };
            let swept = match tended.swept {
                0 => String::new(),
                swept => format!("; {} of dead processes removed", counted(swept, "temporary file")),
            };
            let line = format!(
                "{}: {} {verb}{}{swept}",
                each_inbox::whose(tended),
                tended.archived,
                each_inbox::packed(tended)
            );
            (tended.archived + tended.packed + tended.swept > 0).then_some(line)
        };
        each_inbox::each(context, self.names, "cleaning", words, |context, team, name, progress| {
            if dry_run {
                return archive::would_clean(&context.office, team, name, after);
            }
            archive::clean(&context.office, team, name, after, &upkeep, progress)
        })
    }
}
