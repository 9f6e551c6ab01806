//! Sends into inboxes of 1, 1,000 and 20,000 messages (10 MB), beside what people do by hand.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::Bench;
use super::measure::{self, median, median_cost};
use super::report::Row;
use super::world::World;
use crate::repo;

const RUNS: usize = 9;

const JQ: &str = r#"jq '. += [{"from":"team-lead","text":"by jq","timestamp":"2026-11-15T10:00:00Z","read":false}]' "$1" > "$1.tmp" && mv "$1.tmp" "$1""#;

const PYTHON: &str = r#"
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    messages = json.load(file)
messages.append({"from": "team-lead", "text": "by Python", "timestamp": "2026-11-15T10:00:00Z", "read": False})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(messages, file, indent=2, ensure_ascii=False)
"#;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (size, label) in [(1, "1 message"), (1_000, "1,000 messages"), (20_000, "20,000 messages (10 MB)")] {
        rows.extend(sends(bench, size, label)?);
    }
    Ok(rows)
}

fn sends(bench: &Bench, size: u32, label: &str) -> Result<Vec<Row>> {
    let world = bench.world(&format!("send-{size}"))?;
    world.fill(0..size, true)?;
    let by_hand = world.inbox().with_extension("by-hand");
    fs::copy(world.inbox(), &by_hand)?;

    let (mut texts, mut copies, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        let text = format!("measured send {run}");
        copies.push(measure::durable_copy(&world.inbox())?);
        costs.push(measure::run(world.atm("team-lead").args(["send", "bob", &text]))?);
        texts.push(text);
    }
    world.must_have(&texts)?;

    let limit = median(&copies);
    let row = |operation: String, cost: measure::Cost| {
        Row::of_run(operation, cost).against("durable copy", limit, cost.wall)
    };
    let cost = median_cost(&costs);
    let ours = row(format!("`atm send` into {label}"), cost);
    let mut rows = match size {
        1 => vec![ours.aim_cpu_ms(3, cost)],
        20_000 => {
            let after = after_others(&world)?;
            let after_row = row(format!("`atm send` into {label}, last written by another program"), after);
            vec![ours.aim_ratio(1.3).aim_cpu_ms(25, cost), after_row.aim_ratio(1.3).aim_cpu_ms(25, after)]
        }
        _ => vec![ours],
    };
    if repo::has_program("jq") {
        let cost = measure::run_often(RUNS, || script("sh", JQ, &by_hand))?;
        rows.push(row(format!("the `jq` recipe, {label}"), cost));
    }
    if let Some(python) = python() {
        let cost = measure::run_often(RUNS, || script(&python, PYTHON, &by_hand))?;
        rows.push(row(format!("Python's read, append, write, {label}"), cost));
    }
    Ok(rows)
}

/// Sends after somebody else wrote the inbox: then it has to be checked first.
fn after_others(world: &World) -> Result<measure::Cost> {
    let copy = world.inbox().with_extension("copy");
    let mut costs = Vec::new();
    for run in 0..RUNS {
        fs::copy(world.inbox(), &copy)?;
        fs::rename(&copy, world.inbox())?;
        // Past the time in which its age does not tell whether it changed again.
        thread::sleep(Duration::from_millis(50));
        costs.push(measure::run(world.atm("team-lead").args([
            "send",
            "bob",
            &format!("after others {run}"),
        ]))?);
    }
    Ok(median_cost(&costs))
}

/// Python itself: on the `PATH` there may be a wrapper that is slower to start.
fn python() -> Option<String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!path.is_empty()).then_some(path)
}

/// The script with the inbox as its first argument; `sh -c` has one more before it.
fn script(interpreter: &str, script: &str, inbox: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.args(["-c", script]);
    if interpreter == "sh" {
        command.arg("sh");
    }
    command.arg(inbox);
    command
}
