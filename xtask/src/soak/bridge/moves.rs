//! A member that moves from machine to machine in the storm. Nobody reads its mail: in the end all of it has to be where it is.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Scene;
use crate::faults::world::{self, Answer, LEAD};

/// Who moves. It begins and ends on the first machine.
pub(super) const MOVER: &str = "max";
/// How often it is tried to bring it home when everything is up.
const ATTEMPTS: usize = 60;

/// Takes the member to a machine, again and again, until the storm is over.
pub(super) fn wander(scene: &Scene) -> Result<()> {
    let mut random = scene.random(400);
    while !scene.storm.is_over() {
        scene.storm.pause(Duration::from_millis(3_000 + random.below(9_000)));
        let machine = usize::try_from(random.below(scene.machines.len() as u64))?;
        let answer = take(scene, machine)?;
        // Where the server cannot be reached, or another machine is faster, it stays.
        if answer.hangs || !matches!(answer.code, Some(0 | 5 | 7)) {
            let why = answer.stderr.trim();
            scene.account.wrong(format!("take of {MOVER} ended with {:?}: {why}", answer.code));
        }
    }
    Ok(())
}

/// Takes it to the first machine, when everything is up.
pub(super) fn come_home(scene: &Scene) -> Result<()> {
    for _ in 0..ATTEMPTS {
        if take(scene, 0)?.code == Some(0) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    bail!("{MOVER} cannot be taken although everything is up")
}

fn take(scene: &Scene, machine: usize) -> Result<Answer> {
    let machine = &scene.machines[machine];
    let command = machine.world.command(&machine.way.before(), LEAD, &["bridge", "take", MOVER]);
    let answer = world::finish(command, None, |_| ())?;
    let code = answer.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
    scene.account.answer("take", &code);
    Ok(answer)
}
