//! `cargo xtask bench`: what the binary costs beside what the machine can do at best.
//!
//! A slow result is a result; only a wrong one (lost or doubled mail, a command that fails) is an error.

mod archive;
mod before;
mod bridge;
mod corpus;
mod daemon;
mod hook;
mod install;
mod ledger;
mod lock;
mod mcp;
mod measure;
mod parallel;
mod read;
mod realm;
mod report;
mod scale;
mod send;
mod slow_disk;
mod tokens;
mod ui;
mod wake;
mod web;
mod world;

use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use self::report::Row;
use self::world::World;
use crate::repo;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Put the results into docs/BENCHMARKS.md
    #[arg(long, conflicts_with = "only")]
    write: bool,
    /// Run one scenario only
    #[arg(long, value_name = "NAME")]
    only: Option<Scenario>,
    /// Measure this binary instead of a fresh release build
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Messages in the large ledger
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..))]
    messages: u32,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Scenario {
    /// Sends into small, large and huge inboxes
    Send,
    /// Taking 5,000 messages at once
    Read,
    /// Eight senders at a time
    Parallel,
    /// From a foreign write to the answer of a waiting reader
    Wake,
    /// Hooks: with nothing to say, with mail, and waiting for it
    Hook,
    /// How long the clients' lock is held
    Lock,
    /// Sends and searches with a large ledger
    Ledger,
    /// Answers in large teams and beside many
    Scale,
    /// Times in a gigabyte of archived mail
    Archive,
    /// The MCP server: its start, its memory, a waiting call
    Mcp,
    /// The daemon beside 1,000 teams
    Daemon,
    /// The web server: its pages, and under load
    Web,
    /// The line of a status bar, and the first screen of the terminal UI
    Ui,
    /// What mail costs in tokens on a scripted day
    Tokens,
    /// The bridge between two machines: at rest, one letter, many
    Bridge,
    /// Realms of 3, 100 and 1,000 machines on one server
    Realm,
    /// From a package to a finished demonstration
    Install,
}

impl Scenario {
    fn run(self, bench: &Bench) -> Result<Vec<Row>> {
        match self {
            Self::Send => send::run(bench),
            Self::Read => read::run(bench),
            Self::Parallel => parallel::run(bench),
            Self::Wake => wake::run(bench),
            Self::Hook => hook::run(bench),
            Self::Lock => lock::run(bench),
            Self::Ledger => ledger::run(bench),
            Self::Scale => scale::run(bench),
            Self::Archive => archive::run(bench),
            Self::Mcp => mcp::run(bench),
            Self::Daemon => daemon::run(bench),
            Self::Web => web::run(bench),
            Self::Ui => ui::run(bench),
            Self::Tokens => tokens::run(bench),
            Self::Bridge => bridge::run(bench),
            Self::Realm => realm::run(bench),
            Self::Install => install::run(bench),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What is measured, and where.
struct Bench {
    atm: PathBuf,
    /// What it was built with, if it was built here.
    profile: Option<&'static str>,
    scratch: tempfile::TempDir,
    messages: u32,
}

impl Bench {
    fn world(&self, name: &str) -> Result<World> {
        World::new(&self.atm, self.scratch.path(), name)
    }

    fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // Tokens are as many in a slow program, and installing is timed in other programs.
    let is_slowed = !matches!(args.only, Some(Scenario::Tokens | Scenario::Install));
    if cfg!(debug_assertions) && is_slowed {
        return again_optimized();
    }
    let atm = match &args.binary {
        Some(path) => path.canonicalize().with_context(|| format!("no binary at {}", path.display()))?,
        None => build(args.only.is_none_or(|only| only == Scenario::Bridge))?,
    };
    // Below the build folder: the system's own place for temporary files may be in memory.
    let scratch = tempfile::Builder::new().prefix("bench-").tempdir_in(repo::target()?)?;
    let atm = installed(&atm, scratch.path())?;
    let profile = args.binary.is_none().then_some("release");
    let bench = Bench { atm, profile, scratch, messages: args.messages };
    let mut rows = Vec::new();
    for scenario in Scenario::value_variants() {
        if args.only.is_none_or(|only| only == *scenario) {
            eprintln!("bench: {}", scenario.name());
            let more = scenario.run(&bench).with_context(|| format!("scenario \"{}\"", scenario.name()))?;
            rows.extend(more);
        }
    }
    print!("{}", report::table(&rows));
    if args.write {
        let document = repo::root()?.join("docs").join("BENCHMARKS.md");
        report::write(&document, &rows, bench.scratch())?;
    }
    Ok(())
}

/// Runs this program's release build instead: parts of the library are measured in this process.
fn again_optimized() -> Result<()> {
    repo::run(&mut repo::cargo(["build", "--quiet", "--release", "--locked", "--package", "xtask"])?)?;
    let program = repo::target()?.join("release").join("xtask");
    // What is measured should look for its libraries where it does for users, and not where cargo wants us to.
    let error = Command::new(&program).args(env::args_os().skip(1)).env_remove("LD_LIBRARY_PATH").exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// A copy of the program, as users have it who installed it. The linker writes its file in small pieces, which lie so
/// in the system's cache: started from there, a send took a quarter more CPU.
fn installed(program: &Path, folder: &Path) -> Result<PathBuf> {
    let copy = folder.join("atm");
    fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
    // Where the bridge is measured, it is beside it.
    let bridge = program.with_file_name(bridge::PROGRAM);
    if bridge.exists() {
        fs::copy(&bridge, folder.join(bridge::PROGRAM))?;
    }
    Ok(copy)
}

fn build(with_bridge: bool) -> Result<PathBuf> {
    if with_bridge {
        repo::run(&mut repo::cargo(["build", "--release", "--locked", "--package", bridge::PROGRAM])?)?;
    }
    repo::run(&mut repo::cargo(["build", "--release", "--locked", "--package", "atm"])?)?;
    Ok(repo::target()?.join("release").join("atm"))
}
