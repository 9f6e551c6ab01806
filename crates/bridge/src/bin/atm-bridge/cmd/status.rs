//! `atm bridge status`.

use atm_bridge::run::status::Status as Report;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Show whether the bridge runs, is connected, and what waits
///
/// Examples:
///   atm bridge status
///   atm bridge status --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(context: &Context) -> Result<i32, Failure> {
        let is_running = context.office().machines().is_served();
        let report = Report::load(&context.files());
        if context.json {
            let mut document = match &report {
                Some(report) => serde_json::to_value(report).unwrap_or_default(),
                None => json!({}),
            };
            document["running"] = is_running.into();
            if !is_running {
                document["connected"] = false.into();
            }
            output::json(&document)?;
            return Ok(0);
        }
        output::lines(&describe(report.as_ref(), is_running))?;
        Ok(0)
    }
}

fn describe(report: Option<&Report>, is_running: bool) -> String {
    let Some(report) = report else {
        return "no bridge has run here: `atm bridge run --nats URL --team NAME` starts one".to_owned();
    };
    let mut lines = Vec::new();
    let Report { machine, realm, nats, pid, since, .. } = report;
    if is_running {
        let connected = if report.connected { "connected to" } else { "not connected to" };
        lines.push(format!("{machine} in realm {realm}: {connected} {nats} (process {pid}, since {since})"));
    } else {
        lines.push(format!("{machine} in realm {realm}: no bridge runs; mail for other machines waits"));
    }
    lines.push(match &report.stream {
        Some(stream) => format!("stream    messages {} to {}", stream.first, stream.last),
        None => "stream    out of reach".to_owned(),
    });
    let outbox: usize = report.outbox.values().sum();
    let by_machine: Vec<String> =
        report.outbox.iter().map(|(name, count)| format!("{name} {count}")).collect();
    lines.push(format!("outbox    {outbox} unconfirmed {}", by_machine.join(", ")));
    lines.push(format!("inbound   {} waiting at the server, {} held for order", report.lag, report.held));
    if let Some(offset) = report.clock_offset_ms {
        lines.push(format!("clock     at most {offset} ms ahead of the server's"));
    }
    let tally = &report.tally;
    lines.push(format!(
        "since start  published {} ({} again), confirmed {}, taken in {}, receipts {}, refused {}, dead {}",
        tally.published,
        tally.published_again,
        tally.confirmed,
        tally.taken_in,
        tally.receipts,
        tally.all_refused(),
        tally.dead
    ));
    for (why, count) in &tally.refused {
        lines.push(format!("  refused {why}: {count}"));
    }
    for (name, machine) in &report.machines {
        let state = if machine.present { "present" } else { "away" };
        lines.push(format!(
            "machine   {name} {state}, {} members, heard from {}",
            machine.members, machine.seen_at
        ));
    }
    for held in &report.held_elsewhere {
        lines.push(format!(
            "name      {} of team {} is held by {}: rename yours, or `atm bridge take {} --team {}`",
            held.name, held.team, held.machine, held.name, held.team
        ));
    }
    if let Some(trouble) = &report.last_error {
        lines.push(format!("last error  {} ({})", trouble.what, trouble.at));
    }
    lines.join("\n")
}
