//! `atm log`
#![expect(clippy::doc_markdown, reason = "some of these comments are the help text")]

use atm_office::trail::history::Trace;
use clap::Args;

use super::period::Period;
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::trace;

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// The last so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    last: usize,
    /// All of them, however many there are
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// Only from this sender
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only for this recipient
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only what this one sent or got
    #[arg(long, value_name = "NAME")]
    with: Option<String>,
    #[command(flatten)]
    period: Period,
    /// Only with this in its text, summary or sender, in small or capital letters
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// Only of this type, like task_assignment
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// With their whole texts
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    several: Several,
}

impl Log {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let filters = [&self.from, &self.to, &self.with, &self.grep, &self.r#type];
        let is_filtered = self.period.is_given() || filters.iter().any(|filter| filter.is_some());
        let limit = if self.all { ALL } else { self.last };
        // One more tells whether there is more.
        let one_more = usize::from(!context.out.json && !self.all);
        let (since, until) = self.period.ends(context.office.now())?;
        let trace = Trace {
            teams: context.remembered_teams(self.several.all_teams)?,
            from: self.from,
            to: self.to,
            with: self.with,
            since,
            until,
            grep: self.grep,
            r#type: self.r#type,
            limit: limit.saturating_add(one_more),
        };
        let mut log = context.office.trace(&trace)?;
        let earlier = match log.len().saturating_sub(limit) {
            0 => None,
            more => {
                log.drain(..more);
                Some(count_earlier(context, &trace, limit)?)
            }
        };
        let out = &mut context.out;
        out.page();
        if out.json {
            out.document(&log)?;
            return Ok(0);
        }
        if log.is_empty() && earlier.is_none() {
            out.note(if is_filtered { "no such mail" } else { "nothing was sent or seen yet" })?;
        } else if self.full {
            super::thread::show(out, &log)?;
        } else if !log.is_empty() {
            trace::show(out, &log)?;
        }
        if let Some(earlier) = earlier {
            let next = limit.saturating_mul(5).max(1);
            out.line(out.paint.dim(&format!("… {earlier}: --last {next} or --all")))?;
        }
        Ok(0)
    }
}

/// More than anybody has.
const ALL: usize = u32::MAX as usize;
/// So far it is counted how many there are.
const MOST_COUNTED: usize = 10_000;

/// How many there are besides those that are shown, in words. With `--grep` every text would have to be read for that.
fn count_earlier(context: &Context, trace: &Trace, shown: usize) -> Result<String, Failure> {
    if trace.grep.is_some() {
        return Ok("more".to_owned());
    }
    let most = shown.saturating_add(MOST_COUNTED);
    let count = context.office.count_trace(trace, most)?;
    let over = if count == most { "over " } else { "" };
    Ok(format!("{over}{} more", count.saturating_sub(shown)))
}
