//! `atm inbox`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use atm_office::mail::inbox::Filter;
use atm_wire::Address;
use clap::Args;

use super::period::Period;
use super::several::{self, Several};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::message::{self, Extent, Flags};
use crate::output::safe;

#[derive(Debug, Args)]
#[command(after_help = "Times are ISO 8601, or how long ago: 30s, 10m, 2h, 7d.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Inbox {
    /// Whose inbox [default: yours]
    name: Option<Address>,
    /// Look into the archive instead; it is there also when the team is gone
    #[arg(long)]
    archived: bool,
    /// Only what is not read
    #[arg(long)]
    unread: bool,
    /// Only what waits: written while its reader was off, not acknowledged, or taken without a sign of work
    #[arg(long)]
    pending: bool,
    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only of this type, like task_assignment
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    #[command(flatten)]
    period: Period,
    /// Only the last N of those
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// All of those, with their whole texts
    #[arg(long, conflicts_with = "last")]
    all: bool,
    #[command(flatten)]
    several: Several,
}

/// So many are shown, unless all or the last so many are asked for.
const MOST: usize = 20;

impl Inbox {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let address = match self.name {
            Some(name) => name,
            // Whom a project names may be looked at; without any name it is the person at the keyboard.
            None => match context.identity()? {
                Some(address) => address,
                None => Address { name: context.sender()?, team: None },
            },
        };
        let (teams, who, is_of_many) = if self.archived {
            let (team, who) = context.archive_of(address)?;
            (vec![team], who, false)
        } else {
            let Address { name, team } = context.resolve(address)?;
            let teams = team.map_or_else(|| self.several.teams(context), |team| Ok(vec![team]))?;
            let is_of_many = teams.len() > 1;
            // Each that does not have it is left out.
            let teams = if is_of_many { context.office.teams_that_know(&teams, &name)? } else { teams };
            (teams, name, is_of_many)
        };
        let (since, until) = self.period.ends(context.office.now())?;
        let filter = Filter {
            unread: self.unread,
            pending: self.pending,
            from: self.from,
            r#type: self.r#type,
            since,
            until,
            last: self.last,
        };
        let (most, extent) = if self.all { (usize::MAX, Extent::Whole) } else { (MOST, Extent::Start) };
        let mut everything = Vec::new();
        context.out.page();
        for team in &teams {
            let look = if self.archived {
                context.office.archived(team, &who, &filter)?
            } else {
                context.office.inbox(team, &who, &filter)?
            };
            for warning in &look.warnings {
                context.out.warn(warning)?;
            }
            if context.out.json {
                everything.extend(look.messages);
                continue;
            }
            several::head_of_many(context, is_of_many, &teams, team)?;
            let out = &mut context.out;
            if look.messages.is_empty() {
                let (who, team) = (safe::line(who.as_str()), safe::line(team.as_str()));
                out.note(format!("no such mail for {who}@{team}"))?;
                continue;
            }
            let earlier = look.messages.len().saturating_sub(self.last.unwrap_or(most));
            message::show(out, &look.messages[earlier..], Flags::Shown, extent)?;
            out.more(earlier, "--all")?;
        }
        if context.out.json {
            context.out.document(&everything)?;
        }
        Ok(0)
    }
}
