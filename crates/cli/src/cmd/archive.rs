//! `atm archive`

use std::time::Duration;

use atm_upkeep::archive::{self, Rule, Tended, Upkeep};
use atm_wire::Address;
use clap::Args;

use super::each_inbox;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::size;

#[derive(Debug, Args)]
#[command(after_help = "\
Only what was read goes, and it is durably in the archive before it leaves the inbox. If one of --keep and
--older-than is given, only that counts; if both are, a message has to be beyond both. Without them the
settings count:
  [archive]
  keep = 1000             # the newest of each inbox stay
  older_than = \"7d\"       # and so does what is younger; not set at first
  shrink_over = \"1MB\"     # `atm tend`: in a larger inbox less stays, however young
  compress_after = \"7d\"   # the archive is packed when its oldest message came so long ago,
  rotate_over = \"10MB\"    # or when it has grown so large
With --over, only inboxes that have grown larger than that are made small again: an array inbox gives all that was
read to the archive; a log that was read to its end is renamed to inbox.YYYYmmdd-HHMMSS, where it is read as before,
and a new one begins. `atm clean` archives it in time.
`atm inbox NAME --archived` looks into the archive.")]
pub(crate) struct Archive {
    /// Whose inboxes [default: all of the team]
    #[arg(value_name = "NAME")]
    names: Vec<Address>,
    /// How many messages stay, the newest
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Only what was sent longer ago than this, like 7d
    #[arg(long, value_name = "TIME", value_parser = atm_wire::stamp::parse_duration)]
    older_than: Option<Duration>,
    /// Only inboxes whose files are larger than this, like 10MB; all that was read in them goes
    #[arg(long, value_name = "SIZE", value_parser = size::parse, conflicts_with_all = ["keep", "older_than", "dry_run"])]
    over: Option<u64>,
    /// Only say what would be archived
    #[arg(long)]
    dry_run: bool,
    /// Also what was not read
    #[arg(long)]
    force: bool,
}

impl Archive {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let upkeep = context.settings.upkeep.value.clone();
        if let Some(over) = self.over {
            return rotate(context, self.names, over, self.force, &upkeep);
        }
        let rule = self.rule(&upkeep);
        let dry_run = self.dry_run;
        let words = move |tended: &Tended| {
            let verb = if dry_run { "would be archived" } else { "archived" };
            let left = if dry_run { String::new() } else { format!(", {}", each_inbox::left(tended)) };
            let line = format!(
                "{}: {} {verb}{left}{}",
                each_inbox::whose(tended),
                tended.archived,
                each_inbox::packed(tended)
            );
            (tended.archived > 0 || tended.packed > 0).then_some(line)
        };
        each_inbox::each(context, self.names, "archiving", words, |context, team, name, progress| {
            if dry_run {
                return archive::would_archive(&context.office, team, name, &rule);
            }
            archive::archive(&context.office, team, name, &rule, &upkeep, progress)
        })
    }

    fn rule(&self, upkeep: &Upkeep) -> Rule {
        let (keep, older_than) = match (self.keep, self.older_than) {
            (None, None) => (upkeep.keep, upkeep.older_than),
            (keep, older_than) => (keep.unwrap_or(0), older_than),
        };
        Rule { keep, older_than, force: self.force }
    }
}

/// Makes inboxes small again whose files are larger than `over`.
fn rotate(
    context: &mut Context,
    names: Vec<Address>,
    over: u64,
    force: bool,
    upkeep: &Upkeep,
) -> Result<i32, Failure> {
    let words = |tended: &Tended| {
        let whose = each_inbox::whose(tended);
        let files: Vec<_> =
            tended.rotated.iter().map(|file| safe::line(&file.display().to_string()).into_owned()).collect();
        if !files.is_empty() {
            return Some(format!("{whose}: rotated to {}", files.join(", ")));
        }
        let (left, packed) = (each_inbox::left(tended), each_inbox::packed(tended));
        (tended.archived > 0).then(|| format!("{whose}: {} archived, {left}{packed}", tended.archived))
    };
    each_inbox::each(context, names, "rotating", words, |context, team, name, progress| {
        archive::rotate(&context.office, team, name, over, force, upkeep, progress)
    })
}
