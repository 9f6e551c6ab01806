//! `atm rotate`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use atm_upkeep::archive::{self, Tended};
use atm_wire::Address;
use clap::Args;

use super::each_inbox;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::size;

#[derive(Debug, Args)]
#[command(after_help = "\
An array inbox gives what was read to the archive. A log that was read to its end is renamed to
inbox.YYYYmmdd-HHMMSS, where it is read as before, and a new one begins; `atm clean` archives it in time.")]
pub(crate) struct Rotate {
    /// Whose inboxes [default: all of the team]
    #[arg(value_name = "NAME")]
    names: Vec<Address>,
    /// Only files larger than this [default: archive.rotate_over in the settings, at first 10MB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    over: Option<u64>,
    /// Also with unread mail in them
    #[arg(long)]
    force: bool,
}

impl Rotate {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let upkeep = context.settings.upkeep.value.clone();
        let over = self.over.unwrap_or(upkeep.rotate_over);
        let force = self.force;
        let words = |tended: &Tended| {
            let whose = each_inbox::whose(tended);
            let files: Vec<_> = tended
                .rotated
                .iter()
                .map(|file| safe::line(&file.display().to_string()).into_owned())
                .collect();
            if !files.is_empty() {
                return Some(format!("{whose}: rotated to {}", files.join(", ")));
            }
            let line = format!(
                "{whose}: {} archived, {}{}",
                tended.archived,
                each_inbox::left(tended),
                each_inbox::packed(tended)
            );
            (tended.archived > 0).then_some(line)
        };
        each_inbox::each(context, self.names, "rotating", words, |context, team, name, progress| {
            archive::rotate(&context.office, team, name, over, force, &upkeep, progress)
        })
    }
}
