//! `atm stats`

use std::path::PathBuf;

use atm_charts::{Bars, Style, Tick};
use atm_ledger::{Count, Stats as Numbers};
use atm_wire::{Stamp, counted};
use clap::Args;

use super::duration::{span, time};
use super::several::Several;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, private};

/// How many bars the chart has.
const PARTS: usize = 48;
const DAY: i64 = 24 * 60 * 60 * 1_000;
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Count what was sent then or later
    #[arg(long, value_name = "TIME", default_value = "1d")]
    since: String,
    /// Write the chart as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    several: Several,
}

impl Stats {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let now = context.office.now();
        let since = time("--since", Some(&self.since), now)?.unwrap_or(now);
        let teams = context.remembered_teams(self.several.all_teams)?;
        let stats = context.office.stats(&teams, since, PARTS)?;
        if let Some(path) = &self.svg {
            private::write(path, &chart(&stats))?;
            context.out.note(format!("wrote {}", path.display()))?;
        }
        if context.out.json {
            context.out.document(&in_iso(&stats)?)?;
        } else {
            show(&mut context.out, &stats)?;
        }
        Ok(0)
    }
}

/// The numbers as JSON, with times as everywhere else: the ledger counts milliseconds.
fn in_iso(stats: &Numbers) -> Result<serde_json::Value, Failure> {
    let mut document = serde_json::to_value(stats).map_err(std::io::Error::from)?;
    for (key, time) in [("since", stats.since), ("until", stats.until)] {
        document[key] = Stamp::from_millis(time).to_string().into();
    }
    Ok(document)
}

fn show(out: &mut Out, stats: &Numbers) -> Result<(), Failure> {
    let window = span(stats.until - stats.since);
    if stats.messages == 0 {
        return Ok(out.hanging("", &format!("no mail in {window}; --since goes further back"))?);
    }
    out.hanging(
        "",
        &format!("{} in {window}, {:.2} a minute", counted(stats.messages, "message"), stats.per_minute),
    )?;
    let most = stats.over_time.iter().max().copied().unwrap_or(0).max(1);
    let bar = |count: &u64| match count {
        0 => ' ',
        count => BARS[usize::try_from((count * 8).div_ceil(most)).unwrap_or(1).clamp(1, 8) - 1],
    };
    out.line(format!("  |{}|", stats.over_time.iter().map(bar).collect::<String>()))?;
    let lists = [("senders", &stats.by_sender), ("types", &stats.by_type), ("teams", &stats.by_team)];
    for (head, counts) in lists {
        list(out, head, counts)?;
    }
    for wait in &stats.waits {
        let (p50, p90, p99) = (span(wait.p50), span(wait.p90), span(wait.p99));
        let head = out.paint.bold(&format!("to {:<6}", wait.stage.as_str()));
        let text = format!("half within {p50}, 90 % within {p90}, 99 % within {p99} ({})", wait.messages);
        out.hanging(&format!("{head} "), &text)?;
    }
    Ok(())
}

/// So many of each are named.
const MOST: usize = 8;

/// Who or what has most, in a line that is wrapped.
fn list(out: &mut Out, head: &str, counts: &[Count]) -> Result<(), Failure> {
    let named: Vec<String> =
        counts.iter().take(MOST).map(|count| format!("{} {}", count.key, count.messages)).collect();
    let more = counts.len().saturating_sub(MOST);
    let more = if more > 0 { format!(", … {more} more") } else { String::new() };
    let head = out.paint.bold(&format!("{head:<8}"));
    out.hanging(&format!("{head} "), &format!("{}{more}", named.join(", ")))?;
    Ok(())
}

/// The chart as a picture: a bar for each part of the time.
fn chart(stats: &Numbers) -> String {
    let length = (stats.until - stats.since).max(0);
    let parts = i64::try_from(stats.over_time.len()).unwrap_or(1).max(1);
    let title = format!(
        "{} in {}, {:.2} a minute",
        counted(stats.messages, "message"),
        span(length),
        stats.per_minute
    );
    let part_seconds = length / parts / 1_000;
    let each = if part_seconds < 600 { format!("{part_seconds} s") } else { span(length / parts) };
    let unit = format!("messages in {each}");
    // Of a longer time the days are told apart, not the minutes.
    let part = if length > 2 * DAY { 5..10 } else { 11..16 };
    let tick = |sixth: i64| {
        let stamp = Stamp::from_millis(stats.since + length * sixth / 6).to_string();
        let label = stamp.get(part.clone()).unwrap_or_default().to_owned();
        Tick { at: u16::try_from(sixth * 1_000 / 6).unwrap_or(0), label }
    };
    let ticks: Vec<Tick> = (0..=6).map(tick).collect();
    let since = Stamp::from_millis(stats.since).to_string();
    let axis = format!("UTC, from {}", since.get(..10).unwrap_or_default());
    let bars = Bars { title: &title, unit: &unit, values: &stats.over_time, ticks: &ticks, axis: &axis };
    bars.draw(Style::Own)
}
