//! `atm stats`

use std::fmt::Write;
use std::path::PathBuf;

use atm_ledger::{Count, Stats as Numbers};
use clap::Args;

use super::duration::{span, time};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::private;
use crate::output::{Out, safe};

/// How many bars the chart has.
const PARTS: usize = 48;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Count what was sent then or later
    #[arg(long, value_name = "TIME", default_value = "1d")]
    since: String,
    /// Write the chart as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Stats {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let now = context.office.now();
        let since = time("--since", Some(&self.since), now)?.unwrap_or(now);
        let team = context.remembered_team()?;
        let stats = context.office.stats(team.as_ref(), since, PARTS)?;
        if let Some(path) = &self.svg {
            private::write(path, &chart(&stats))?;
        }
        if context.out.json {
            context.out.document(&stats)?;
        } else {
            show(&mut context.out, &stats)?;
        }
        Ok(0)
    }
}

fn show(out: &mut Out, stats: &Numbers) -> Result<(), Failure> {
    let window = span(stats.until - stats.since);
    out.line(format!("{} messages in {window}, {:.2} a minute", stats.messages, stats.per_minute))?;
    let most = stats.over_time.iter().max().copied().unwrap_or(0).max(1);
    let bar = |count: &u64| match count {
        0 => ' ',
        count => BARS[usize::try_from((count * 8).div_ceil(most)).unwrap_or(1).clamp(1, 8) - 1],
    };
    out.line(format!("  |{}|", stats.over_time.iter().map(bar).collect::<String>()))?;
    let mut list = |head: &str, counts: &[Count]| -> Result<(), Failure> {
        let all: Vec<String> = counts
            .iter()
            .take(8)
            .map(|count| format!("{} {}", safe::line(&count.key), count.messages))
            .collect();
        Ok(out.line(format!("{head:<8} {}", all.join(", ")))?)
    };
    list("senders", &stats.by_sender)?;
    list("types", &stats.by_type)?;
    list("teams", &stats.by_team)?;
    for wait in &stats.waits {
        let (p50, p90, p99) = (span(wait.p50), span(wait.p90), span(wait.p99));
        let stage = wait.stage.as_str();
        out.line(format!(
            "to {stage:<6} half within {p50}, 90 % within {p90}, 99 % within {p99} ({})",
            wait.messages
        ))?;
    }
    Ok(())
}

/// The chart as a picture: a bar for each part of the time.
fn chart(stats: &Numbers) -> String {
    const WIDTH: u64 = 640;
    const HEIGHT: u64 = 160;
    let most = stats.over_time.iter().max().copied().unwrap_or(0).max(1);
    let step = WIDTH / stats.over_time.len().max(1) as u64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\" role=\"img\">\
         <title>{} messages, {:.2} a minute</title>",
        HEIGHT + 24,
        stats.messages,
        stats.per_minute
    );
    for (index, count) in stats.over_time.iter().enumerate() {
        let height = count * HEIGHT / most;
        let (x, y) = (index as u64 * step, HEIGHT - height);
        let _ = write!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{height}\" fill=\"#4a7\"/>",
            step - 1
        );
    }
    let (since, until) =
        (atm_wire::Stamp::from_millis(stats.since), atm_wire::Stamp::from_millis(stats.until));
    let _ =
        write!(svg, "<text x=\"0\" y=\"{}\" font-size=\"11\">{since} to {until}</text></svg>", HEIGHT + 18);
    svg
}
