//! What clients' hooks cost: the one that has nothing to say, the one that hands over mail, and how soon one that waits
//! for mail ends and so wakes its client.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::{self, World};

const RUNS: u32 = 20;

/// By then a waiting hook has started, has found nothing, and waits.
const SETTLED: Duration = Duration::from_millis(300);

/// What a client says after a tool.
const SAID: &str = r#"{"session_id":"bench","transcript_path":"/none","cwd":"/","hook_event_name":"PostToolUse",
    "tool_name":"Bash","tool_input":{"command":"true"},"tool_response":{"stdout":""}}"#;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let mut starts = Vec::new();
    let mut silent = Vec::new();
    let mut handing_over = Vec::new();
    let world = bench.world("hook")?;
    // A thousand messages that were read: nothing to say is what there is most of the time.
    world.fill(0..1000, true)?;
    thread::sleep(SETTLED);
    hook(&world)?;
    for number in 0..RUNS {
        starts.push(measure::run(world.command().arg("--version"))?.wall);
        let (time, output) = hook(&world)?;
        ensure!(
            output.stdout.is_empty(),
            "a hook without mail said: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        silent.push(time);
        handing_over.push(hand_over(bench, number)?);
    }
    let mut waking = Vec::new();
    let mut fsyncs = Vec::new();
    let waiting = bench.world("hook-waiting")?;
    for number in 0..RUNS {
        fsyncs.push(measure::two_fsyncs(bench.scratch())?);
        waking.push(wake(&waiting, number)?);
    }
    let (start, silent, waking) = (median(&starts), median(&silent), median(&waking));
    let handing_over = median(&handing_over);
    Ok(vec![
        Row::new("`atm hook` with nothing to say, 1,000 messages read", silent)
            .against("process start", start, silent)
            .aim_ms(10, silent),
        Row::new("`atm hook` hands over one new message", handing_over).against(
            "process start",
            start,
            handing_over,
        ),
        Row::new("`atm wake wait` of a hook ends after a foreign write", waking)
            .against("two fsyncs", median(&fsyncs), waking)
            .aim_ms(10, waking),
    ])
}

/// One call of a hook, from its start to its end.
fn hook(world: &World) -> Result<(Duration, Output)> {
    let start = Instant::now();
    let mut child = world
        .atm("bob")
        .args(["hook", "PostToolUse", "--client", "claude"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the hook")?;
    child.stdin.take().context("the hook has an input")?.write_all(SAID.as_bytes())?;
    let output = child.wait_with_output()?;
    let time = start.elapsed();
    let well = output.status.success() && output.stderr.is_empty();
    ensure!(well, "the hook ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok((time, output))
}

/// In a world of its own: what was handed over once is not handed over again.
fn hand_over(bench: &Bench, number: u32) -> Result<Duration> {
    let world = bench.world(&format!("hook-{number}"))?;
    world.fill(number..number + 1, false)?;
    let (time, output) = hook(&world)?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.contains(&format!("Step {number}:")), "the hook did not hand over the mail: {said}");
    Ok(time)
}

/// From a foreign writer's rename to the end of a hook that waits: that is what wakes its client.
fn wake(world: &World, number: u32) -> Result<Duration> {
    world.fill(0..0, false)?;
    let waiting = world
        .atm("bob")
        .args(["wake", "wait", "--for", "30s"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the waiting hook")?;
    thread::sleep(SETTLED);
    let temp = world.inbox().with_extension("json.tmp.0badcafe");
    measure::write_synced(&temp, world::inbox(number..number + 1, false).as_bytes())?;
    let start = Instant::now();
    fs::rename(&temp, world.inbox())?;
    ended(waiting, start)
}

fn ended(waiting: Child, start: Instant) -> Result<Duration> {
    let output = waiting.wait_with_output()?;
    let time = start.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(2) && !said.is_empty(),
        "`atm wake wait` ended with {}: {said}",
        output.status
    );
    Ok(time)
}
