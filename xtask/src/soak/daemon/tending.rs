//! Other runners of chores, some of which die over them.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;

use super::Scene;
use crate::faults::world;

/// Of a hundred runners, so many are killed, within so many microseconds.
const KILLED: u64 = 30;
const WITHIN: u64 = 80_000;
/// They come in bursts, all at the same time: in between the daemon is alone, and what it misses nobody sees.
const EVERY: Duration = Duration::from_secs(8);
const BURST: Duration = Duration::from_secs(3);

pub(super) fn run(scene: &Scene, number: u64) -> Result<()> {
    let mut random = scene.random(10 + number);
    while !scene.storm.is_over() {
        let since = scene.begun.elapsed().as_millis() % EVERY.as_millis();
        if since > BURST.as_millis() {
            scene.storm.pause(Duration::from_millis(20));
            continue;
        }
        let is_killed = random.below(100) < KILLED;
        let pause = Duration::from_micros(random.below(WITHIN));
        let answer = world::finish(scene.runner(&["tend", "--all-teams"]), None, |process| {
            if let (true, Ok(process)) = (is_killed, i32::try_from(process)) {
                thread::sleep(pause);
                // It may be over.
                let _ = signal::kill(Pid::from_raw(process), Signal::SIGKILL);
            }
        })?;
        scene.account.tend(answer.code, &answer.stderr);
        if answer.hangs {
            scene.account.wrong("atm tend --all-teams hangs".to_owned());
        }
        scene.storm.pause(Duration::from_millis(random.below(300)));
    }
    Ok(())
}
