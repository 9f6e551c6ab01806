//! Eight senders at a time, fifty messages each, into one inbox: all 400 must be there.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::World;

const SENDERS: usize = 8;
const EACH: usize = 50;
const TOTAL: u32 = 400;
const BASELINE_RUNS: usize = 21;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let fsyncs =
        (0..BASELINE_RUNS).map(|_| measure::two_fsyncs(bench.scratch())).collect::<Result<Vec<_>>>()?;
    let start = measure::run_often(BASELINE_RUNS, || {
        let mut command = Command::new(&bench.atm);
        command.arg("--version");
        command
    })?;
    let limit = (median(&fsyncs) + start.wall) * TOTAL;

    let world = bench.world("parallel")?;
    let took = send_all(&world)?;
    let texts: Vec<String> =
        (0..SENDERS).flat_map(|sender| (0..EACH).map(move |n| text(sender, n))).collect();
    world.must_have(&texts)?;

    let rate = f64::from(TOTAL) / took.as_secs_f64();
    Ok(vec![
        Row::of_run("process start (`atm --version`)", start),
        Row::new("two fsyncs", median(&fsyncs)),
        Row::new("8 × 50 sends in parallel, one inbox", took)
            .note(&format!("{rate:.0} a second"))
            .against("400 × (process start + two fsyncs)", limit, took)
            .aim_ratio(1.0),
    ])
}

fn send_all(world: &World) -> Result<Duration> {
    let start = Instant::now();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS).map(|sender| scope.spawn(move || send(world, sender))).collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| anyhow!("a sender panicked"))?)
    })?;
    Ok(start.elapsed())
}

fn send(world: &World, sender: usize) -> Result<()> {
    (0..EACH).try_for_each(|n| {
        measure::run(world.atm("team-lead").args(["send", "bob", &text(sender, n)])).map(drop)
    })
}

fn text(sender: usize, n: usize) -> String {
    format!("sender {sender}, message {n}")
}
