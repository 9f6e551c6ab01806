//! How long it takes from a package to a finished demonstration, in an empty environment.

use std::time::Duration;

use anyhow::Result;

use super::Bench;
use super::report::{Row, ms};
use crate::dist;

/// Installed, and `atm demo` finished.
const AIM: Duration = Duration::from_secs(15);

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let folder = bench.scratch().join("packages");
    std::fs::create_dir(&folder)?;
    let trials = dist::trials(&bench.atm, bench.profile, &folder)?;
    let row = |trial: &dist::Trial| {
        let all = trial.installed + trial.demo;
        let operation = format!("{} installed from its file, then `atm demo`", kind(&trial.package));
        let parts = format!("{} and {}", ms(trial.installed), ms(trial.demo));
        Row::new(operation, all).note(&parts).aim(format!("≤ {} s", AIM.as_secs()), all <= AIM)
    };
    Ok(trials.iter().map(row).collect())
}

/// Which package it is: its name has the version and the machine in it.
fn kind(package: &str) -> &'static str {
    match package.rsplit('.').next() {
        Some("whl") => "the Python wheel",
        Some("tgz") => "the npm package",
        _ => "the archive",
    }
}
