//! What came of each state, as a table.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;

/// What came of the messages of one state.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) sent: usize,
    /// In a request to the model.
    pub(super) arrived: usize,
    /// `seen`, with an entry of the conversation as evidence; handed over by a hook counts apart.
    pub(super) proved: usize,
    pub(super) by_hook: usize,
    /// More than once in one request.
    pub(super) doubled: usize,
    /// Not in the order in which they were sent.
    pub(super) out_of_order: usize,
    /// From the send, or from the event that lets it in, to the request.
    pub(super) times: Vec<Duration>,
    pub(super) note: &'static str,
}

pub(super) struct Row {
    pub(super) version: String,
    pub(super) state: &'static str,
    pub(super) outcome: Result<Outcome>,
}

impl Row {
    pub(super) fn is_true(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|it| {
            it.arrived == it.sent && it.proved + it.by_hook == it.sent && it.doubled + it.out_of_order == 0
        })
    }
}

pub(super) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| Claude Code | state | sent | arrived | proved by the transcript | handed over by a hook | doubled | out of order | median time, slowest | |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Row { version, state, outcome } in rows {
        let _ = match outcome {
            Ok(it) => {
                let mut times = it.times.clone();
                times.sort();
                let middle = times.get(times.len() / 2).copied().unwrap_or_default();
                let slowest = times.last().copied().unwrap_or_default();
                writeln!(
                    table,
                    "| {version} | {state} | {} | {} | {} | {} | {} | {} | {:.1} s, {:.1} s | {} |",
                    it.sent,
                    it.arrived,
                    it.proved,
                    it.by_hook,
                    it.doubled,
                    it.out_of_order,
                    middle.as_secs_f64(),
                    slowest.as_secs_f64(),
                    it.note
                )
            }
            Err(error) => {
                let words = format!("{error:#}").replace(['|', '\n'], " ");
                writeln!(table, "| {version} | {state} | - | - | - | - | - | - | - | did not run: {words} |")
            }
        };
    }
    table
}
