//! Eight senders at a time, fifty messages each, into one inbox, and the same one at a time: all 400 must be there. Once
//! more on a simulated slow disk.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use atm_office::Office;
use atm_office::mail::send::{Letter, SendOptions};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::slow_disk::{SLOWER, SlowDisk};
use super::world::{TEAM, World};

const SENDERS: usize = 8;
const EACH: usize = 50;
const TOTAL: u32 = 400;
/// One at a time on a slow disk, fewer will do.
const SLOW_SENDERS: usize = 2;
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

    let in_turn = processes_in_turn(&bench.world("in-turn")?, SENDERS, None)?;
    let parallel = processes_at_once(&bench.world("parallel")?, None)?;
    let staying_in_turn = timed(&bench.world("staying-in-turn")?, SENDERS, |world| {
        let office = world.office();
        (0..SENDERS).try_for_each(|n| send_by(&office, n))
    })?;
    let staying = timed(&bench.world("staying")?, SENDERS, |world| at_once(|n| send_by(&world.office(), n)))?;

    let mut rows = vec![
        Row::of_run("process start (`atm --version`)", start),
        Row::new("two fsyncs", median(&fsyncs)),
        Row::new("400 sends one at a time, one inbox", in_turn).note(&rate(in_turn)).against(
            "400 × (process start + two fsyncs)",
            limit,
            in_turn,
        ),
        compared(Row::new("8 × 50 sends in parallel, one inbox", parallel), parallel, in_turn),
        Row::new("400 sends one at a time by a long-lived process, one inbox", staying_in_turn)
            .note(&rate(staying_in_turn)),
        compared(
            Row::new("8 × 50 sends in parallel by long-lived processes, one inbox", staying),
            staying,
            staying_in_turn,
        ),
    ];
    if let Some(disk) = SlowDisk::build(bench.scratch(), &bench.atm)? {
        rows.extend(on_a_slow_disk(bench, &disk)?);
    }
    Ok(rows)
}

fn on_a_slow_disk(bench: &Bench, disk: &SlowDisk) -> Result<Vec<Row>> {
    let few = processes_in_turn(&bench.world("slow-in-turn")?, SLOW_SENDERS, Some(disk))?;
    let (sent, more) = (u32::try_from(SLOW_SENDERS * EACH)?, u32::try_from(SENDERS / SLOW_SENDERS)?);
    ensure!(few >= SLOWER * 2 * sent, "{sent} sends took {few:?}: the slow disk was not slow");
    let in_turn = few * more;
    let parallel = processes_at_once(&bench.world("slow-parallel")?, Some(disk))?;
    let row = |what: &str, took| Row::new(format!("{what}, each fsync 5 ms slower (simulated)"), took);
    Ok(vec![
        row("400 sends one at a time, one inbox", in_turn)
            .note(&rate(in_turn))
            .note(&format!("of {sent} × {more}")),
        compared(row("8 × 50 sends in parallel, one inbox", parallel), parallel, in_turn),
    ])
}

fn rate(took: Duration) -> String {
    format!("{:.0} a second", f64::from(TOTAL) / took.as_secs_f64())
}

fn compared(row: Row, took: Duration, in_turn: Duration) -> Row {
    let times_as_fast = in_turn.as_secs_f64() / took.as_secs_f64();
    row.note(&rate(took))
        .note(&format!("{times_as_fast:.2} × as fast"))
        .against("one at a time", in_turn, took)
        .aim("≥ 5 × as fast", times_as_fast >= 5.0)
}

fn processes_in_turn(world: &World, senders: usize, disk: Option<&SlowDisk>) -> Result<Duration> {
    timed(world, senders, |world| (0..senders).try_for_each(|n| send(world, n, disk)))
}

fn processes_at_once(world: &World, disk: Option<&SlowDisk>) -> Result<Duration> {
    timed(world, SENDERS, |world| at_once(|n| send(world, n, disk)))
}

/// How long `work` takes to send all messages of so many senders, which must be there then.
fn timed(world: &World, senders: usize, work: impl FnOnce(&World) -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work(world)?;
    let took = start.elapsed();
    let texts: Vec<String> =
        (0..senders).flat_map(|sender| (0..EACH).map(move |n| text(sender, n))).collect();
    world.must_have(&texts)?;
    Ok(took)
}

/// Eight senders, each in its own thread.
fn at_once(send: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let send = &send;
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS).map(|sender| scope.spawn(move || send(sender))).collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| anyhow!("a sender panicked"))?)
    })
}

fn send(world: &World, sender: usize, disk: Option<&SlowDisk>) -> Result<()> {
    (0..EACH).try_for_each(|n| {
        let mut atm = world.atm("team-lead");
        if let Some(disk) = disk {
            disk.under(&mut atm);
        }
        measure::run(atm.args(["send", "bob", &text(sender, n)])).map(drop)
    })
}

/// The same through the library: nothing but the send itself.
fn send_by(office: &Office, sender: usize) -> Result<()> {
    let (team, lead) = (TEAM.parse()?, "team-lead".parse()?);
    (0..EACH).try_for_each(|n| {
        let letter = Letter::new("bob".parse()?, text(sender, n));
        Ok(office.send(&team, &lead, &letter, SendOptions::default()).map(drop)?)
    })
}

fn text(sender: usize, n: usize) -> String {
    format!("sender {sender}, message {n}")
}
