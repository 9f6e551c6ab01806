//! Signals at random instants.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::case::Case;
use super::oracle::{Wrong, judge, judge_answer};
use super::random::Random;
use super::report::Report;
use super::world::{self, LEAD, TEAM, World};
use super::{Trial, in_pairs};

const ROUNDS: u64 = 400;
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
const COMMANDS: [&str; 5] = ["send", "batch", "broadcast", "reply", "ack"];

pub(super) fn run(trial: &Trial) -> Result<Report> {
    println!("faults: signals: seed {}", trial.seed);
    let rounds: Vec<u64> = (0..ROUNDS).collect();
    let usual = usual_time(&World::create(trial.atm, &trial.scratch.join("signals"))?)?;
    in_pairs(
        &rounds,
        |worker| World::create(trial.atm, &trial.scratch.join(format!("signals-{worker}"))),
        |world, round, report| {
            // Each round has its own stream, so that it does not depend on which thread runs it.
            let mut random = Random::new(trial.seed.wrapping_add(*round));
            let command = *random.pick(&COMMANDS);
            let signal = *random.pick(&SIGNALS);
            let share = random.below(1300);
            let label = format!("round {round}: {signal} at {share}/1000 of a {command}");
            if !trial.wants(&label) {
                return Ok(());
            }
            let case = prepare(world, command, *round)?;
            let pause = usual * u32::try_from(share)? / 1000;
            let stop = |process: u32| {
                thread::sleep(pause);
                if let Ok(process) = i32::try_from(process) {
                    // It may be over.
                    let _ = signal::kill(Pid::from_raw(process), signal);
                }
            };
            let answer =
                world::finish(world.command(&[], case.who, &case.args()), case.input.as_deref(), stop)?;
            // A send to everybody clears up; now and then is enough.
            let judge = if round % 20 == 0 { judge } else { judge_answer };
            let mut found = judge(world, &case, &answer)?;
            let wanted = if signal == Signal::SIGTERM { 143 } else { 130 };
            if matches!(answer.code, Some(130 | 143))
                && answer.code != Some(wanted)
                && signal != Signal::SIGHUP
            {
                found.push((Wrong::Code, format!("exit {:?} after {signal}", answer.code)));
            }
            // Before a process can handle signals it dies of them, and has done nothing.
            report.add(&label, answer.code, found);
            Ok(())
        },
    )
}

fn prepare(world: &World, command: &str, round: u64) -> Result<Case> {
    let text = format!("round {round} of the signals");
    let question = |asks: &[&str]| -> Result<String> {
        let args = [&["-t", TEAM, "--json", "send", "bob", "a question"], asks].concat();
        let sent: Value = serde_json::from_str(&world.must(LEAD, &args)?.stdout)?;
        Ok(sent["id"].as_str().unwrap_or_default().to_owned())
    };
    Ok(match command {
        "batch" => Case::batch(&text),
        "broadcast" => Case::broadcast(&text),
        "reply" => Case::reply(&question(&[])?, &text),
        "ack" => Case::ack(&question(&["--ack-by", "1h"])?),
        _ => Case::send(&text),
    })
}

/// How long a command takes here, about.
fn usual_time(world: &World) -> Result<Duration> {
    const RUNS: u32 = 10;
    let start = Instant::now();
    for _ in 0..RUNS {
        world.must(LEAD, &["-t", TEAM, "send", "carol", "timed"])?;
    }
    // Two run at a time.
    Ok(start.elapsed() * 2 / RUNS)
}
