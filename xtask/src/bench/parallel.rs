//! Eight senders at a time, fifty messages each, into one inbox, and the same one at a time: all 400 must be there.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use atm_office::Office;
use atm_office::send::{Letter, SendOptions};

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::{TEAM, World};

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

    let in_turn = timed(&bench.world("in-turn")?, |world| (0..SENDERS).try_for_each(|n| send(world, n)))?;
    let parallel = timed(&bench.world("parallel")?, |world| at_once(|n| send(world, n)))?;
    let staying_in_turn = timed(&bench.world("staying-in-turn")?, |world| {
        let office = world.office();
        (0..SENDERS).try_for_each(|n| send_by(&office, n))
    })?;
    let staying = timed(&bench.world("staying")?, |world| at_once(|n| send_by(&world.office(), n)))?;

    let rate = |took: Duration| format!("{:.0} a second", f64::from(TOTAL) / took.as_secs_f64());
    let compared = |row: Row, took: Duration, in_turn: Duration| {
        let times_as_fast = in_turn.as_secs_f64() / took.as_secs_f64();
        row.note(&rate(took))
            .note(&format!("{times_as_fast:.2} × as fast"))
            .against("one at a time", in_turn, took)
            .aim("≥ 5 × as fast", times_as_fast >= 5.0)
    };
    Ok(vec![
        Row::of_run("process start (`atm --version`)", start),
        Row::new("two fsyncs", median(&fsyncs)),
        Row::new("400 sends one at a time, one inbox", in_turn).note(&rate(in_turn)).against(
            "400 × (process start + two fsyncs)",
            limit,
            in_turn,
        ),
        compared(Row::new("8 × 50 sends in parallel, one inbox", parallel), parallel, in_turn),
        Row::new("400 sends one at a time by a program that stays, one inbox", staying_in_turn)
            .note(&rate(staying_in_turn)),
        compared(
            Row::new("8 × 50 sends in parallel by programs that stay, one inbox", staying),
            staying,
            staying_in_turn,
        ),
    ])
}

/// How long `work` takes to send all the messages, which must be there then.
fn timed(world: &World, work: impl FnOnce(&World) -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work(world)?;
    let took = start.elapsed();
    let texts: Vec<String> =
        (0..SENDERS).flat_map(|sender| (0..EACH).map(move |n| text(sender, n))).collect();
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

fn send(world: &World, sender: usize) -> Result<()> {
    (0..EACH).try_for_each(|n| {
        measure::run(world.atm("team-lead").args(["send", "bob", &text(sender, n)])).map(drop)
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
