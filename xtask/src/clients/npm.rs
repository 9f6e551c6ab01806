//! The real clients, from npm, below the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::client::{CLIENTS, Client};
use crate::repo;

/// Newer than systems have; one of the clients wants it.
const NODE: &str = "node@22.23.3";

/// Older versions of Claude Code: one that has a socket, and one that has none.
const OLDER: [&str; 2] = ["2.1.282", "2.1.197"];

/// Installs what is meant: each client with the folder of its program, Claude Code in its older versions, too, unless the newest are
/// asked for.
pub(super) fn each(only: Option<&str>, newest: bool) -> Result<Vec<(Client, PathBuf)>> {
    let programs = install(newest)?;
    let mut all = Vec::new();
    for client in CLIENTS.into_iter().filter(|client| only.is_none_or(|only| only == client.name)) {
        all.push((client, programs.clone()));
        for version in OLDER.into_iter().filter(|_| client.name == "claude" && !newest) {
            all.push((Client { version, ..client }, install_claude(version)?));
        }
    }
    Ok(all)
}

/// Installs all of them; gives the folder with the programs.
fn install(newest: bool) -> Result<PathBuf> {
    let folder = repo::target()?.join("clients");
    let programs = folder.join("node_modules").join(".bin");
    let packages = CLIENTS
        .map(|client| format!("{}@{}", client.package, if newest { "latest" } else { client.version }));
    // The marker is what is installed, written last: the same again means nothing to do.
    let (marker, wanted) = (folder.join("installed"), format!("{NODE} {}", packages.join(" ")));
    if !newest && fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    eprintln!("clients: npm install {} (more than a gigabyte)", packages.join(" "));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    npm(&folder, &programs, &[NODE.to_owned()])?;
    npm(&folder, &programs, &packages)?;
    fs::write(&marker, wanted).with_context(|| format!("cannot write {}", marker.display()))?;
    Ok(programs)
}

/// Installs one version of Claude Code; gives the folder with the program.
pub(super) fn install_claude(version: &str) -> Result<PathBuf> {
    let folder = repo::target()?.join("clients-claude").join(version);
    let programs = folder.join("node_modules").join(".bin");
    let (marker, package) = (folder.join("installed"), format!("@anthropic-ai/claude-code@{version}"));
    if !marker.exists() {
        eprintln!("clients: npm install {package} (some hundred megabytes)");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        npm(&folder, &programs, &[package])?;
        fs::write(&marker, version).with_context(|| format!("cannot write {}", marker.display()))?;
    }
    Ok(programs)
}

fn npm(folder: &Path, programs: &Path, packages: &[String]) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(folder)
        .args(packages)
        .env("PATH", repo::path_with([programs])?)
        .stdout(Stdio::null());
    repo::run(&mut npm).context("npm could not install it; is the package registry reachable?")
}
