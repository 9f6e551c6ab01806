//! `cargo xtask test`: every check of the project, the tests last.

use std::num::NonZero;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::{docs, faults, instructions, licences, repo, setup, soak};

/// With the tests that need what `setup` installs.
const OUTSIDE: &str = "--features=atm/test-tools,atm-bridge/test-tools";

/// Minutes of the storms that each run of the tests gets.
const SOAK: f64 = 2.0;
const SOAK_OF_DAEMON: f64 = 0.5;
const SOAK_OF_BRIDGE: f64 = 2.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the tests: no format check, lints, documents, licences, faults instruction counts or soak
    #[arg(long)]
    fast: bool,
    /// Only tests whose name contains one of these
    filter: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let tools = step("setup", "cargo xtask setup", setup::run)?;
    if !args.fast {
        checks()?;
        step("faults", "cargo xtask faults", || faults::run(&faults::Args::default()))?;
        step("instructions", "cargo xtask instructions", || {
            instructions::run(&instructions::Args::default())
        })?;
        step("soak", "cargo xtask soak --part mail", || soak::run(&soak::Args::of(soak::Part::Mail, SOAK)))?;
        step("soak of the daemon", "cargo xtask soak --part daemon", || {
            soak::run(&soak::Args::of(soak::Part::Daemon, SOAK_OF_DAEMON))
        })?;
        // A release build of the bridge takes longer than the storm, and the one that the tests have checks its own sums.
        let bridge = repo::target()?.join("debug").join("atm-bridge");
        step(
            "soak of the bridge",
            &format!("cargo xtask soak --part bridge --bridge {}", bridge.display()),
            || soak::run(&soak::Args::of(soak::Part::Bridge, SOAK_OF_BRIDGE).with_bridge(bridge.clone())),
        )?;
    }
    let mut tests = tests(Run::All)?;
    tests.env("ATM_TEST_NODE_MODULES", &tools.node_modules);
    if !args.filter.is_empty() {
        tests.arg("--").args(&args.filter);
    }
    // The runner's summary is the last thing to be seen, so nothing is said after it.
    let alone = repo::shown(&tests);
    announce("tests", &alone);
    repo::run(&mut tests).with_context(|| failure("tests", &alone))
}

fn checks() -> Result<()> {
    command_step("format", repo::cargo(["fmt", "--all", "--check"])?)?;
    command_step(
        "lints",
        repo::cargo(["clippy", "--workspace", "--all-targets", OUTSIDE, "--locked", "--", "-D", "warnings"])?,
    )?;
    // First of what needs the program: what is built here, with these features, is all that the tests need later.
    command_step("build", tests(Run::Not)?)?;
    let atm = repo::target()?.join("debug").join("atm");
    step("documents", "cargo xtask docs", || docs::check(&atm))?;
    let mut doc = repo::cargo(["doc", "--workspace", "--no-deps", "--locked"])?;
    doc.env("RUSTDOCFLAGS", "-D warnings");
    command_step("API documents", doc)?;
    command_step("documented examples", repo::cargo(["test", "--doc", "--workspace", OUTSIDE, "--locked"])?)?;
    if repo::has_cargo("deny")? {
        command_step("licences", repo::cargo(["deny", "check", "licenses", "bans", "sources"])?)
    } else {
        step("licences", "cargo deny check licenses (by our own reading of deny.toml)", licences::check)
    }
}

/// Whether tests are run, or only built.
#[derive(Clone, Copy)]
enum Run {
    All,
    Not,
}

fn tests(run: Run) -> Result<Command> {
    let has_nextest = repo::has_cargo("nextest")?;
    let mut tests = if has_nextest {
        repo::cargo(["nextest", "run", "--workspace", OUTSIDE, "--locked"])?
    } else {
        repo::cargo(["test", "--workspace", OUTSIDE, "--locked", "--lib", "--bins", "--tests"])?
    };
    match run {
        Run::Not => tests.arg("--no-run"),
        // Most tests wait for other processes, for locks and for clocks: two for each core leave it idle less often.
        Run::All if has_nextest => {
            tests.args(["--no-fail-fast", "--test-threads"]).arg((2 * cores()).to_string())
        }
        Run::All => tests.arg("--no-fail-fast"),
    };
    Ok(tests)
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn command_step(name: &str, mut command: Command) -> Result<()> {
    let alone = repo::shown(&command);
    step(name, &alone, || repo::run(&mut command))
}

/// Announces, runs and times one step; `alone` is how to run just that.
fn step<T>(name: &str, alone: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    announce(name, alone);
    let start = Instant::now();
    let result = work().with_context(|| failure(name, alone))?;
    announce(name, &format!("ok, {:.1} s", start.elapsed().as_secs_f64()));
    Ok(result)
}

fn announce(name: &str, what: &str) {
    eprintln!("== {name}: {what}");
}

fn failure(name: &str, alone: &str) -> String {
    format!("step \"{name}\" failed. To run it alone:\n  {alone}")
}
