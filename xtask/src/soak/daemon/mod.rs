//! A daemon that is killed and started again at random moments, beside other programs whose teams come and go, members that
//! have to be reminded and woken, and other runners of chores. At its end every message that stood for a moment while a
//! daemon served is known, with a truthful stage, and every step was taken once.

mod account;
mod inbox;
mod keeper;
mod reminded;
mod teams;
mod tending;
mod woken;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use self::account::{Account, Table};
use super::{EVERY, Storm, is_interrupted};
use crate::faults::random::Random;
use crate::faults::world::{LEAD, World};

/// Offers and escalations follow each other within seconds; a wake is for each message, once.
const SETTINGS: &str = "\
[delivery]
retry_after = [\"300ms\", \"600ms\"]
escalate_to = [\"lead\"]
[wake]
after = [\"0s\"]
";
/// How long the last daemon may take until everything is settled.
const SETTLES_WITHIN: Duration = Duration::from_secs(60);

/// Where all of it happens, and what was seen there.
struct Scene<'a> {
    storm: &'a Storm,
    world: World,
    account: Account,
    begun: Instant,
    /// Where `codex` is a test double that notes each call.
    programs: PathBuf,
}

impl Scene<'_> {
    /// `atm` as a runner of chores: it finds the program that wakes.
    fn runner(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(&[], LEAD, args);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs.clone()].into_iter().chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }

    /// Choices of one actor.
    fn random(&self, actor: u64) -> Random {
        Random::new(self.storm.seed ^ actor.wrapping_mul(0x9e37_79b9))
    }

    /// A word that is in every text of this storm.
    fn word(&self) -> String {
        format!("soak{:x}", self.storm.seed)
    }

    fn calls(&self) -> PathBuf {
        self.world.folder().join("home/calls")
    }
}

/// Runs it for a while; gives the number of what is wrong.
pub(super) fn run(storm: &Storm, atm: &Path, folder: &Path, limit: Duration) -> Result<usize> {
    let world = World::create(atm, folder)?;
    let home = folder.join("home");
    fs::create_dir_all(home.join(".config/atm"))?;
    fs::write(home.join(".config/atm/config.toml"), SETTINGS)?;
    let programs = folder.join("programs");
    fs::create_dir(&programs)?;
    let codex = programs.join("codex");
    fs::write(&codex, "#!/bin/sh\necho \"$*\" >> \"$HOME/calls\"\n")?;
    fs::set_permissions(&codex, fs::Permissions::from_mode(0o755))?;
    let scene = Scene { storm, world, account: Account::default(), begun: Instant::now(), programs };
    thread::scope(|scope| -> Result<()> {
        let scene = &scene;
        let mut actors = vec![
            scope.spawn(|| keeper::keep(scene)),
            scope.spawn(|| woken::run(scene)),
            scope.spawn(|| teams::stays(scene)),
        ];
        actors.extend((0..2).map(|number| scope.spawn(move || tending::run(scene, number))));
        actors.extend((0..2).map(|number| scope.spawn(move || reminded::run(scene, number))));
        for (number, kind) in teams::Kind::ALL.into_iter().enumerate() {
            actors.push(scope.spawn(move || teams::come_and_go(scene, number, kind)));
        }
        let start = Instant::now();
        while start.elapsed() < limit && !is_interrupted() && actors.iter().all(|actor| !actor.is_finished())
        {
            storm.pause(EVERY.min(limit.saturating_sub(start.elapsed())));
            println!("soak: {:>4.0} s: {}", start.elapsed().as_secs_f64(), scene.account.progress());
        }
        storm.stop.store(true, Ordering::Relaxed);
        for actor in actors {
            actor.join().map_err(|_| anyhow::anyhow!("a part of the storm panicked"))??;
        }
        Ok(())
    })?;
    settle(&scene)?;
    let mut table = Table::default();
    table.compare(&scene)?;
    Ok(table.print(&scene))
}

/// A last daemon, which nobody kills, does what is left.
fn settle(scene: &Scene) -> Result<()> {
    let daemon = keeper::start(scene)?;
    let begun = Instant::now();
    while !(keeper::rests(scene) && reminded::go_on(scene)?) {
        if begun.elapsed() > SETTLES_WITHIN {
            println!("soak: not everything is settled after {} s", SETTLES_WITHIN.as_secs());
            break;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let ended = keeper::end(scene, daemon)?;
    if !ended.success() {
        bail!("the last daemon ended with {ended}");
    }
    Ok(())
}
