//! What a person waits for in a terminal: the line of a status bar, and the first screen of `atm ui`.

use std::io::{ErrorKind, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::Bench;
use super::measure::{self, median};
use super::report::Row;
use super::world::World;

const RUNS: usize = 15;
/// What the first screen has, before anything is looked up.
const FIRST: &str = "Needs";

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let world = bench.world("ui")?;
    world.fill(0..100, false)?;
    measure::run(world.atm("user").arg("status"))?;
    let line = measure::run_often(RUNS, || {
        let mut command = world.atm("user");
        command.args(["status", "--line"]);
        command
    })?;
    let screens = (0..RUNS).map(|_| first_screen(&world)).collect::<Result<Vec<_>>>()?;
    let start = measure::run_often(RUNS, || {
        let mut command = world.command();
        command.arg("--version");
        command
    })?;
    Ok(vec![
        Row::of_run("`atm status --line`, a team with 100 messages", line)
            .against("process start", start.wall, line.wall)
            .aim_ms(10, line.wall),
        Row::new("`atm ui`: to its first screen, in a terminal of `script`", median(&screens))
            .aim_ms(50, median(&screens)),
    ])
}

/// Starts it in a terminal of its own, and waits for its first screen.
fn first_screen(world: &World) -> Result<Duration> {
    let atm = world.atm("user");
    let mut line = format!("stty rows 30 cols 100; exec '{}'", atm.get_program().display());
    let words = atm.get_args().map(|word| format!(" '{}'", word.display()));
    line.extend(words.chain([" ui".to_owned()]));
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-c", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    for (name, value) in atm.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("TERM", "xterm-256color").process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().context("`script` of util-linux is needed")?;
    let mut output = child.stdout.take().context("no output")?;
    let (mut shown, mut room) = (Vec::new(), [0; 4_096]);
    let took = loop {
        let count = match output.read(&mut room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        ensure!(count > 0, "it ended: {}", String::from_utf8_lossy(&shown));
        shown.extend(&room[..count]);
        if String::from_utf8_lossy(&shown).contains(FIRST) {
            break start.elapsed();
        }
    };
    let _ = killpg(Pid::from_raw(i32::try_from(child.id())?), Signal::SIGTERM);
    drop(output);
    child.wait()?;
    Ok(took)
}
