//! The official programs that the MCP server is tested with: a newer Node, the inspector and the conformance tool from
//! npm, and the Python library, all below the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::repo;

/// Exact versions: what they accept is what we promise.
const NODE: &str = "node@22.23.3";
const TOOLS: [&str; 2] =
    ["@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.1.16"];
const PYTHON: &str = "mcp==2.3.0";

pub(super) fn install(folder: &Path) -> Result<()> {
    // The marker is what is installed, written last: the same again means nothing to do.
    let (marker, wanted) = (folder.join("installed"), format!("{NODE} {} {PYTHON}", TOOLS.join(" ")));
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    eprintln!("setup: npm install and pip install, for the tests of the MCP server");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    npm(folder, &[NODE], None)?;
    // The tools want a newer Node than systems have, while they are installed too.
    npm(folder, &TOOLS, Some(&folder.join("node_modules").join(".bin")))?;
    python(&folder.join("python"))?;
    fs::write(&marker, wanted).with_context(|| format!("cannot write {}", marker.display()))
}

fn npm(folder: &Path, packages: &[&str], node: Option<&Path>) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(folder)
        .args(packages)
        .stdout(Stdio::null());
    if let Some(node) = node {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [PathBuf::from(node)].into_iter().chain(std::env::split_paths(&path));
        npm.env("PATH", std::env::join_paths(path)?);
    }
    repo::run(&mut npm).context("npm could not install it; is the package registry reachable?")
}

fn python(folder: &Path) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(folder).stdout(Stdio::null());
    repo::run(&mut venv).context("Python has no venv here; Debian calls it python3-venv")?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYTHON])
        .stdout(Stdio::null());
    repo::run(&mut pip).context("pip could not install it; is the package index reachable?")
}
