//! `atm daemon status`

use atm_daemon::control::Client;
use atm_daemon::{Check, DaemonError, LastRun, Status};
use atm_wire::counted;
use serde_json::json;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::times::span;
use crate::version;

pub(super) fn run(context: &mut Context) -> Result<i32, Failure> {
    let build = version::build();
    let state = context.office.state().clone();
    match Client::new(&state, &build).status() {
        Ok(status) => {
            if context.out.json {
                let mut document = serde_json::to_value(&status).unwrap_or_default();
                document["running"] = json!(true);
                document["sameBuild"] = json!(status.build == build);
                context.out.document(&document)?;
            } else {
                show(context, &status, &build)?;
            }
            let has_failed = [&status.store, &status.ledger].into_iter().any(|check| check.error.is_some());
            Ok(if has_failed { i32::from(ExitCode::Io) } else { 0 })
        }
        Err(DaemonError::NotRunning) => {
            let last = LastRun::read(&state);
            if context.out.json {
                context.out.document(&json!({ "running": false, "last": last }))?;
            } else {
                context.out.line(not_running(last.as_ref()))?;
            }
            Ok(i32::from(ExitCode::NotFound))
        }
        Err(error) => Err(error.into()),
    }
}

fn not_running(last: Option<&LastRun>) -> String {
    match last {
        None => "no daemon runs, and none has run here".to_owned(),
        Some(LastRun { stopped: Some(stopped), .. }) => {
            format!("no daemon runs; the last one ended at {}: {}", stopped.at, safe::line(&stopped.why))
        }
        Some(last) => format!(
            "no daemon runs; the last one (process {}, since {}) crashed: `atm daemon logs` shows how far it came",
            last.pid, last.started
        ),
    }
}

fn show(context: &mut Context, status: &Status, build: &str) -> Result<(), Failure> {
    let now = context.office.now();
    let since = status
        .since
        .map_or_else(String::new, |since| format!(", up {}", span(now.as_millis() - since.as_millis())));
    let out = &mut context.out;
    out.line(format!("runs (process {}{since}), version {}", status.pid, safe::line(&status.version)))?;
    if status.build != build {
        out.warn(&format!(
            "it is another build than this program: {} and {build}",
            safe::line(&status.build)
        ))?;
    }
    out.line(format!(
        "watches {} below {}: {}, {}",
        counted(status.teams, "team"),
        safe::line(&status.root.display().to_string()),
        counted(status.watches, "folder"),
        counted(status.processes, "process")
    ))?;
    if status.polled > 0 {
        out.line(format!(
            "{} without events (the system's watches are used up, or the files are on another machine): looked at every 2 s",
            counted(status.polled, "folder")
        ))?;
    }
    out.line(match status.lag_ms {
        0 => "nothing is behind".to_owned(),
        lag => format!("behind the files by {lag} ms"),
    })?;
    if let Some(busy) = &status.busy {
        out.line(format!("now: {}", safe::line(busy)))?;
    }
    let next = status.next.map(|at| {
        (span((at.as_millis() - now.as_millis()).max(0)), status.next_team.as_deref().unwrap_or("-"))
    });
    out.line(match next {
        Some((span, team)) => format!("next: team {}, in {span}", safe::line(team)),
        None => "nothing is due".to_owned(),
    })?;
    out.line(format!(
        "so far: {}, {} of chores",
        counted(status.looks, "look"),
        counted(status.steps, "step")
    ))?;
    if !status.peers.is_empty() {
        let peers: Vec<_> = status.peers.iter().map(|peer| safe::line(peer)).collect();
        out.hanging("", &format!("listed for Claude Code: {}", peers.join("; ")))?;
    }
    out.line(format!("files {}; ledger {}", check(&status.store), check(&status.ledger)))?;
    if status.replaced {
        out.line("its program was replaced: it ends when it has nothing to do")?;
    }
    for trouble in &status.troubles {
        let team =
            trouble.team.as_deref().map_or_else(String::new, |team| format!("team {}: ", safe::line(team)));
        let times = if trouble.times > 1 { format!(" ({} times)", trouble.times) } else { String::new() };
        out.hanging("", &format!("{} {team}{}{times}", trouble.at, safe::line(&trouble.what)))?;
    }
    Ok(())
}

fn check(check: &Check) -> String {
    match &check.error {
        Some(error) => format!("FAILED: {}", safe::line(error)),
        None if check.ok => format!("ok ({} µs)", check.micros),
        // One of another version may not.
        None => "not tried".to_owned(),
    }
}
