//! Sixteen agents of four clients at one working tree, as processes of their own that call the real hook before every edit;
//! some of them die with a path in their hands. No edit may be lost, and nobody may be refused for nobody.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::is_interrupted;
use crate::faults::world::{LEAD, TEAM, World};
use crate::repo;

const AGENTS: usize = 16;
const FILES: usize = 6;
/// Of each agent, in each round.
const EDITS: usize = 10;
/// In each round.
const DEATHS: usize = 4;

/// What is added up over the rounds, and what must be none of it.
const COUNTED: [&str; 3] = ["edits", "asked", "refused"];
const WRONG: [&str; 4] = ["lost", "doubled", "refused_without_holder", "holders_kept_out"];

/// Runs rounds for so long, at least one; gives the number of what is wrong.
pub(super) fn run(atm: &Path, scratch: &Path, limit: Duration) -> Result<usize> {
    let world = World::create(atm, &scratch.join("world"))?;
    for number in 0..AGENTS {
        world.must(LEAD, &["-t", TEAM, "member", "add", &format!("agent-{number}")])?;
    }
    let (start, mut rounds) = (Instant::now(), Vec::new());
    while (rounds.is_empty() || start.elapsed() < limit) && !is_interrupted() {
        let tree = scratch.join(format!("tree-{}", rounds.len()));
        fs::create_dir_all(tree.join(".git"))?;
        let report = round(atm, &world, &tree)?;
        println!("soak: {:>4.0} s: {report}", start.elapsed().as_secs_f64());
        rounds.push(report);
    }
    let sum = |key: &str| rounds.iter().filter_map(|round| round[key].as_u64()).sum::<u64>();
    println!(
        "\nreservations: {AGENTS} agents of 4 clients, {DEATHS} deaths a round, {} rounds",
        rounds.len()
    );
    for key in COUNTED.into_iter().chain(WRONG) {
        println!("  {key:<24}{:>8}", sum(key));
    }
    for key in ["hook_ms_median", "hook_ms_p95"] {
        let worst = rounds.iter().filter_map(|round| round[key].as_f64()).fold(0.0, f64::max);
        println!("  {key:<24}{worst:>8.1} (of the slowest round)");
    }
    Ok(usize::try_from(WRONG.into_iter().map(sum).sum::<u64>())?)
}

fn round(atm: &Path, world: &World, tree: &Path) -> Result<Value> {
    let mut editors = Command::new("python3");
    editors.arg(repo::root()?.join("crates/support/foreign/editors.py"));
    editors.arg("--atm").arg(atm).arg("--root").arg(world.root()).arg("--state").arg(world.state());
    editors.arg("--home").arg(world.folder().join("home")).arg("--tree").arg(tree).args(["--team", TEAM]);
    for (option, number) in
        [("--agents", AGENTS), ("--files", FILES), ("--edits", EDITS), ("--deaths", DEATHS)]
    {
        editors.arg(option).arg(number.to_string());
    }
    let output = editors.output().context("cannot start python3")?;
    ensure!(output.status.success(), "the agents failed: {}", String::from_utf8_lossy(&output.stderr));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(report.trim()).with_context(|| format!("no report: {report}"))
}
