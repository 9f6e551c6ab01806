//! How soon a waiting reader answers: from a foreign writer's rename to the first byte of output.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::{self, World};

const RUNS: u32 = 30;

/// By then a reader has started, has found nothing, and waits.
const SETTLED: Duration = Duration::from_millis(300);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("wake")?;
    let (mut fsyncs, mut times) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        fsyncs.push(measure::two_fsyncs(bench.scratch())?);
        times.push(wake(&world, number)?);
    }
    let time = median(&times);
    let row = Row::new("a waiting `atm read` answers a foreign write", time)
        .against("two fsyncs", median(&fsyncs), time)
        .aim_ms(5, time);
    Ok(vec![row])
}

fn wake(world: &World, number: u32) -> Result<Duration> {
    let mut reader = world
        .atm("bob")
        .args(["read", "--wait", "30s", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the waiting reader")?;
    let mut output = reader.stdout.take().context("the reader has an output")?;
    thread::sleep(SETTLED);
    ensure!(reader.try_wait()?.is_none(), "`atm read --wait 30s` did not wait");

    let temp = world.inbox().with_extension("json.tmp.0badcafe");
    measure::write_synced(&temp, world::inbox(number..number + 1, false).as_bytes())?;
    let start = Instant::now();
    fs::rename(&temp, world.inbox())?;
    let mut first = [0];
    let got = output.read(&mut first)?;
    let time = start.elapsed();

    let mut rest = String::new();
    output.read_to_string(&mut rest)?;
    let status = reader.wait()?;
    let arrived = got == 1 && status.success() && rest.contains(&world::text(number));
    ensure!(arrived, "the waiting reader ended with {status} and without the message that woke it");
    Ok(time)
}
