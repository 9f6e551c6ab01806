//! `cargo xtask soak`: every kind of writer and reader at once on a throw-away tree, with kills and a disk that fills up. It
//! ends with a table of what was sent, what was answered, and what was lost, doubled, torn or told wrongly. Then the same for a
//! daemon that is killed again and again, for agents that edit one working tree, and for machines with a server between them.

mod account;
mod bridge;
mod daemon;
mod foreign;
mod ours;
mod reservations;
mod room;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum as _;
use signal_hook::consts::{SIGINT, SIGTERM};

use self::account::{Journal, Table};
use self::room::{ROOMS, Room};
use crate::faults::world::{LEAD, TEAM, World};
use crate::faults::{self, random};
use crate::{repo, setup};

/// How often something is said about the progress.
const EVERY: Duration = Duration::from_secs(5);
/// The disk that fills up.
const SMALL: &str = "size=16m";

/// A part of it.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Mail that is sent, read and undone.
    Mail,
    /// A daemon that is killed and started again.
    Daemon,
    /// Agents that edit one working tree.
    Reservations,
    /// Machines that share a team, and everything between them fails.
    Bridge,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// For how long each part
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    minutes: f64,
    /// Only this part
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Where random choices begin
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Try this binary instead of a fresh release build
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Try this atm-bridge instead of a fresh release build
    #[arg(long, value_name = "PATH", conflicts_with = "binary")]
    bridge: Option<PathBuf>,
    /// In the storm over machines, take one member from machine to machine, too
    #[arg(long)]
    moves: bool,
    /// The clients' lock library; we are where file systems can be mounted
    #[arg(long, hide = true, value_name = "PATH")]
    inside: Option<PathBuf>,
    /// We have a network of our own
    #[arg(long, hide = true)]
    own_network: bool,
}

impl Args {
    pub(crate) fn of(part: Part, minutes: f64) -> Self {
        Self {
            minutes,
            part: Some(part),
            seed: None,
            binary: None,
            bridge: None,
            moves: false,
            inside: None,
            own_network: false,
        }
    }

    /// With the bridge that is at this path.
    pub(crate) fn with_bridge(self, path: PathBuf) -> Self {
        Self { bridge: Some(path), ..self }
    }

    fn has(&self, part: Part) -> bool {
        self.part.is_none_or(|only| only == part)
    }
}

/// What everybody in the storm shares.
struct Storm {
    node_modules: PathBuf,
    seed: u64,
    /// A member moves about in the storm over machines.
    moves: bool,
    stop: AtomicBool,
    journal: Journal,
}

impl Storm {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sleeps, unless it is over before.
    fn pause(&self, time: Duration) {
        let start = Instant::now();
        while !self.is_over() && !is_interrupted() && start.elapsed() < time {
            thread::sleep(Duration::from_millis(5).min(time));
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display()))?,
        None => build(args)?,
    };
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&INTERRUPTED))?;
    }
    let Some(node_modules) = args.inside.clone() else {
        return run_inside(args, &atm);
    };
    let seed = args.seed.unwrap_or_else(random::seed);
    println!("soak: {} minutes, seed {seed}", args.minutes);
    let scratch = tempfile::Builder::new().prefix("soak-").tempdir_in(repo::target()?)?;
    let limit = Duration::from_secs_f64(args.minutes * 60.0);
    let storm = || Storm {
        node_modules: node_modules.clone(),
        seed,
        moves: args.moves,
        stop: AtomicBool::new(false),
        journal: Journal::default(),
    };
    let mut wrong = 0;
    if args.has(Part::Mail) {
        wrong += mail(&storm(), &atm, scratch.path(), limit)?;
    }
    if args.has(Part::Daemon) {
        wrong += daemon::run(&storm(), &atm, &scratch.path().join("daemon"), limit)?;
    }
    if args.has(Part::Reservations) {
        wrong += reservations::run(&atm, &scratch.path().join("reservations"), limit)?;
    }
    if args.has(Part::Bridge) {
        wrong += bridge::run(&storm(), &atm, &scratch.path().join("bridge"), limit, args.own_network)?;
    }
    if wrong > 0 {
        let kept = scratch.keep();
        bail!("{wrong} wrong; everything is still in {} (seed {seed})", kept.display());
    }
    Ok(())
}

/// The release binary; with the bridge beside it, where that is tried.
fn build(args: &Args) -> Result<PathBuf> {
    if let Some(bridge) = &args.bridge {
        return beside(&faults::build()?, bridge);
    }
    if args.has(Part::Bridge) {
        repo::run(&mut repo::cargo([
            "build",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "atm-bridge",
        ])?)?;
    }
    faults::build()
}

/// Both programs in one folder, where `atm` finds the bridge.
fn beside(atm: &Path, bridge: &Path) -> Result<PathBuf> {
    let folder = repo::target()?.join("tmp").join("soak");
    fs::create_dir_all(&folder)?;
    for program in [bridge, atm] {
        let name = program.file_name().with_context(|| format!("no program at {}", program.display()))?;
        fs::copy(program, folder.join(name)).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    Ok(folder.join("atm"))
}

/// The storm of mail; gives the number of what is wrong.
fn mail(storm: &Storm, atm: &Path, scratch: &Path, limit: Duration) -> Result<usize> {
    let crowded = crowded_world(atm, &scratch.join("crowded"))?;
    let small = small_world(atm, &scratch.join("small"))?;
    thread::scope(|scope| -> Result<()> {
        let mut workers = Vec::new();
        for room in &ROOMS {
            for actor in room.actors() {
                let world = &crowded;
                workers.push(scope.spawn(move || actor.run(storm, world, room)));
            }
        }
        if let Some(world) = &small {
            for actor in Room::SMALL.actors() {
                workers.push(scope.spawn(move || actor.run(storm, world, &Room::SMALL)));
            }
            workers.push(scope.spawn(move || ours::fill_and_free(storm, world)));
        }
        let start = Instant::now();
        while start.elapsed() < limit
            && !is_interrupted()
            && workers.iter().all(|worker| !worker.is_finished())
        {
            storm.pause(EVERY.min(limit.saturating_sub(start.elapsed())));
            println!("soak: {:>4.0} s: {}", start.elapsed().as_secs_f64(), storm.journal.progress());
        }
        storm.stop.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a part of the storm panicked"))??;
        }
        Ok(())
    })?;
    let mut table = Table::default();
    table.settle(&crowded, &ROOMS, &storm.journal)?;
    if let Some(world) = &small {
        table.settle(world, std::slice::from_ref(&Room::SMALL), &storm.journal)?;
        faults::unmount(&scratch.join("small"));
    }
    Ok(table.print(&storm.journal))
}

static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Ctrl-C ends the storm early, with its table. The children are in process groups of their own and do not get it.
fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Runs this program again where a small disk can be mounted that nobody else sees; without one, where that is forbidden.
fn run_inside(args: &Args, atm: &Path) -> Result<()> {
    let tools = setup::run()?;
    let exe = env::current_exe()?;
    let flags = faults::unshare_flags();
    // The machines of a storm have a network that nobody else sees, either.
    let has_network = args.has(Part::Bridge) && flags.is_some_and(bridge::network::can_separate);
    let mut again = match flags {
        Some(flags) => {
            let mut command = Command::new("unshare");
            command.arg(flags).args(has_network.then_some("--net")).arg(exe);
            command
        }
        None => Command::new(exe),
    };
    again.args(["soak", "--minutes", &args.minutes.to_string(), "--binary"]).arg(atm);
    again.arg("--inside").arg(&tools.node_modules);
    if has_network {
        again.arg("--own-network");
    }
    if args.moves {
        again.arg("--moves");
    }
    if let Some(seed) = args.seed {
        again.args(["--seed", &seed.to_string()]);
    }
    if let Some(part) = args.part.and_then(|part| part.to_possible_value()) {
        again.args(["--part", part.get_name()]);
    }
    repo::run(&mut again)
}

/// A team with a member for each room. Each inbox begins with a message that was read, so that it is never empty.
fn crowded_world(atm: &Path, folder: &Path) -> Result<World> {
    let world = World::create(atm, folder)?;
    for room in &ROOMS {
        world.must(LEAD, &["-t", TEAM, "member", "add", room.name])?;
        let old = r#"[{"from":"team-lead","text":"from before","timestamp":"2026-11-01T00:00:00.000Z","read":true}]"#;
        fs::write(world.inbox(room.name), old)?;
    }
    Ok(world)
}

fn small_world(atm: &Path, folder: &Path) -> Result<Option<World>> {
    fs::create_dir(folder)?;
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", SMALL, "tmpfs"]).arg(folder);
    if !mount.output().is_ok_and(|output| output.status.success()) {
        println!("soak: SKIPPED: the disk that fills up, which cannot be mounted here");
        return Ok(None);
    }
    let world = World::create(atm, &folder.join("world"))?;
    world.must(LEAD, &["-t", TEAM, "member", "add", Room::SMALL.name])?;
    Ok(Some(world))
}
