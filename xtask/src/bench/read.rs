//! Taking 5,000 messages at once: all of them are marked as read.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::Bench;
use super::measure::{self, median, median_cost};
use super::report::Row;

const RUNS: usize = 7;
const MESSAGES: u32 = 5_000;
const READ: [&str; 4] = ["read", "--limit", "5000", "--json"];

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    everything_is_handed_over(bench)?;
    let (mut copies, mut costs) = (Vec::new(), Vec::new());
    for run in 0..RUNS {
        let world = bench.world(&format!("read-{run}"))?;
        world.fill(0..MESSAGES, false)?;
        copies.push(measure::durable_copy(&world.inbox())?);
        costs.push(measure::run(world.atm("bob").args(READ))?);
        let unread = world.entries()?.iter().filter(|entry| entry["read"] != true).count();
        ensure!(unread == 0, "{unread} of {MESSAGES} messages are still unread after `atm read`");
    }
    let cost = median_cost(&costs);
    let row = Row::of_run("`atm read` of 5,000 unread, all new to the ledger", cost)
        .against("durable copy", median(&copies), cost.wall)
        .aim_cpu_ms(50, cost);
    Ok(vec![row])
}

fn everything_is_handed_over(bench: &Bench) -> Result<()> {
    let world = bench.world("read-all")?;
    world.fill(0..MESSAGES, false)?;
    let output = world.atm("bob").args(READ).output()?;
    let messages: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let count = messages.len();
    ensure!(count == MESSAGES as usize, "`atm read` handed over {count} of {MESSAGES} messages");
    Ok(())
}
