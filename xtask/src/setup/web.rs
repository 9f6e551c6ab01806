//! What the web page and its API are tested with: axe-core from npm, schemathesis from the Python index, below the build folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::repo;

/// Exact versions: what they accept is what we promise.
const AXE: &str = "axe-core@4.14.0";
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

pub(super) fn install(folder: &Path) -> Result<()> {
    // The marker is what is installed, written last: the same again means nothing to do.
    let (marker, wanted) = (folder.join("installed"), format!("{AXE} {SCHEMATHESIS}"));
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    eprintln!("setup: npm install and pip install, for the tests of the web page");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder).arg(AXE);
    repo::run(npm.stdout(Stdio::null()))
        .context("npm could not install it; is the package registry reachable?")?;
    let python = folder.join("python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&python).stdout(Stdio::null());
    repo::run(&mut venv).context("Python has no venv here; Debian calls it python3-venv")?;
    let mut pip = Command::new(python.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", SCHEMATHESIS]);
    repo::run(pip.stdout(Stdio::null()))
        .context("pip could not install it; is the package index reachable?")?;
    fs::write(&marker, wanted).with_context(|| format!("cannot write {}", marker.display()))
}
