//! `cargo xtask faults`: the release binary on small disks, with failing system calls, stopped by signals, and beside locks
//! that are held. What it answered is compared with what is there after the next command.

mod case;
mod disk;
mod held;
pub(crate) mod oracle;
pub(crate) mod random;
mod report;
mod signals;
mod syscalls;
pub(crate) mod world;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;

use self::report::Report;
use crate::repo;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Run one group only
    #[arg(long, value_name = "GROUP")]
    only: Option<Group>,
    /// Run only cases whose label contains this
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Where the random signals begin
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Try this binary instead of a fresh release build
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// We are where file systems can be mounted
    #[arg(long, hide = true)]
    inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Group {
    /// Sends, reads and tasks on a disk with little space left
    Disk,
    /// A send of which one system call fails, or which is killed at it
    Syscalls,
    /// SIGINT, SIGTERM and SIGHUP at random instants
    Signals,
    /// A send while others hold its locks
    Held,
}

/// What a group needs.
struct Trial<'a> {
    atm: &'a Path,
    scratch: &'a Path,
    wanted: Option<&'a str>,
    seed: u64,
}

impl Trial<'_> {
    fn wants(&self, label: &str) -> bool {
        self.wanted.is_none_or(|wanted| label.contains(wanted))
    }
}

/// What only builds for tests have in them.
const TEST_HOOKS: [&str; 2] = ["ATM_TEST_DIE_AT", "a test refused it"];

/// A release binary has no way in for tests.
fn without_test_hooks(binary: PathBuf) -> Result<PathBuf> {
    let bytes = std::fs::read(&binary)?;
    let has = |hook: &&&str| bytes.windows(hook.len()).any(|window| window == hook.as_bytes());
    match TEST_HOOKS.iter().find(has) {
        Some(hook) => bail!("{} has {hook:?} in it, which is for tests alone", binary.display()),
        None => Ok(binary),
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display()))?,
        None => build().and_then(without_test_hooks)?,
    };
    let scratch = tempfile::Builder::new().prefix("faults-").tempdir_in(repo::target()?)?;
    let seed = args.seed.unwrap_or_else(random::seed);
    let trial = Trial { atm: &atm, scratch: scratch.path(), wanted: args.case.as_deref(), seed };
    let is_wanted = |group: Group| args.only.is_none_or(|only| only == group);
    let mut wrong = 0;
    thread::scope(|scope| -> Result<()> {
        // It only waits, so beside the others.
        let held = is_wanted(Group::Held).then(|| scope.spawn(|| held::run(&trial)));
        if is_wanted(Group::Disk) {
            wrong += if args.inside {
                disk::run(&trial)?.print("disk", seed)
            } else {
                usize::from(!disk::run_inside(&atm, args.case.as_deref())?)
            };
        }
        if is_wanted(Group::Syscalls) {
            wrong += syscalls::run(&trial)?.print("syscalls", seed);
        }
        if is_wanted(Group::Signals) {
            wrong += signals::run(&trial)?.print("signals", seed);
        }
        if let Some(held) = held {
            let report = held.join().map_err(|_| anyhow!("a run panicked"))??;
            wrong += report.print("held", seed);
        }
        Ok(())
    })?;
    if wrong > 0 {
        bail!("{wrong} answers were not true");
    }
    Ok(())
}

pub(crate) use disk::{unmount, unshare_flags};

/// The release binary, as users have it.
pub(crate) fn build() -> Result<PathBuf> {
    repo::run(&mut repo::cargo(["build", "--quiet", "--release", "--locked", "--package", "atm"])?)?;
    Ok(repo::target()?.join("release").join("atm"))
}

/// Runs cases on two threads, each with a place of its own.
fn in_pairs<C: Sync>(
    cases: &[C],
    prepare: impl Fn(usize) -> Result<world::World> + Sync,
    run: impl Fn(&world::World, &C, &mut Report) -> Result<()> + Sync,
) -> Result<Report> {
    let next = AtomicUsize::new(0);
    let work = |worker: usize| -> Result<Report> {
        let world = prepare(worker)?;
        let mut report = Report::default();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            run(&world, case, &mut report)?;
        }
        Ok(report)
    };
    let mut all = Report::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|worker| scope.spawn(move || work(worker))).collect();
        for worker in workers {
            all.merge(worker.join().map_err(|_| anyhow!("a worker panicked"))??);
        }
        Ok(all)
    })
}
