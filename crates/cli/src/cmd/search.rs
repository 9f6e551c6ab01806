//! `atm search`

use clap::Args;

use super::period::Period;
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::message;

#[derive(Debug, Args)]
#[command(
    after_help = "All words have to be there; the last may be cut short if nothing has it whole; \"…\" is a phrase."
)]
pub(crate) struct Search {
    /// What to look for
    #[arg(required = true)]
    words: Vec<String>,
    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only for this recipient
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only of this type
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    #[command(flatten)]
    period: Period,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// All of it, however much there is
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    #[command(flatten)]
    several: Several,
}

/// More than anybody has.
const ALL: usize = u32::MAX as usize;

impl Search {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let limit = if self.all { ALL } else { self.limit };
        let (since, until) = self.period.ends(context.office.now())?;
        let search = atm_office::trail::history::Search {
            party: None,
            words: self.words.join(" "),
            teams: context.remembered_teams(self.several.all_teams)?,
            from: self.from,
            to: self.to,
            r#type: self.r#type,
            since,
            until,
            // One more tells whether there is more.
            limit: if context.out.json { limit } else { limit + 1 },
        };
        let waiting = context.out.waiting("searching");
        let mut found = context.office.search(&search)?;
        drop(waiting);
        let out = &mut context.out;
        out.page();
        if out.json {
            out.document(&found)?;
            return Ok(0);
        }
        if found.is_empty() {
            out.note("nothing found")?;
        }
        let has_more = found.len() > limit;
        found.truncate(limit);
        for one in &found {
            message::show_head_of(out, one)?;
            message::show_found(out, one)?;
        }
        if has_more {
            out.line(
                out.paint.dim(&format!("… more than {limit}: --limit {}, --all", limit.saturating_mul(5))),
            )?;
        }
        Ok(0)
    }
}
