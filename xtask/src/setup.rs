//! `cargo xtask setup`: what the tests need beside Rust, installed only where it is missing.

mod mcp;
mod nats;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::unistd::Uid;

use crate::repo;

/// A program that tests run, and the packages that bring it.
struct Tool {
    program: &'static str,
    debian: &'static str,
    brew: &'static str,
}

const TOOLS: [Tool; 9] = [
    Tool { program: "jq", debian: "jq", brew: "jq" },
    Tool { program: "zsh", debian: "zsh", brew: "zsh" },
    Tool { program: "fish", debian: "fish", brew: "fish" },
    Tool { program: "tmux", debian: "tmux", brew: "tmux" },
    Tool { program: "node", debian: "nodejs", brew: "node" },
    Tool { program: "npm", debian: "npm", brew: "node" },
    Tool { program: "python3", debian: "python3", brew: "python" },
    Tool { program: "chromium", debian: "chromium", brew: "chromium" },
    Tool { program: "chromedriver", debian: "chromium-driver", brew: "chromedriver" },
];

/// For `cargo xtask faults` and `cargo xtask instructions`; other systems have nothing like them.
const LINUX_TOOLS: [Tool; 2] = [
    Tool { program: "strace", debian: "strace", brew: "" },
    Tool { program: "valgrind", debian: "valgrind", brew: "" },
];

/// The lock library of the agent clients, for the test double of a client in `crates/support/foreign`.
const LOCK_LIBRARY: &str = r#"{"private":true,"dependencies":{"proper-lockfile":"4.1.2"}}"#;

/// What the tests have to be told.
pub(crate) struct Tools {
    /// For `ATM_TEST_NODE_MODULES`.
    pub(crate) node_modules: PathBuf,
}

pub(crate) fn run() -> Result<Tools> {
    let linux = if cfg!(target_os = "linux") { &LINUX_TOOLS[..] } else { &[] };
    let missing: Vec<&Tool> =
        TOOLS.iter().chain(linux).filter(|tool| !repo::has_program(tool.program)).collect();
    if !missing.is_empty() {
        install(&missing)?;
    }
    let tools = repo::target()?.join("test-tools");
    let node = tools.join("node");
    install_lock_library(&node)?;
    mcp::install(&tools.join("mcp"))?;
    nats::install(&tools.join("nats"))?;
    web::install(&tools.join("web"))?;
    Ok(Tools { node_modules: node.join("node_modules") })
}

/// Only these, for a chore that needs no more.
pub(crate) fn need(programs: &[&str]) -> Result<()> {
    let is_missing = |tool: &&Tool| programs.contains(&tool.program) && !repo::has_program(tool.program);
    let missing: Vec<&Tool> = TOOLS.iter().filter(is_missing).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

fn install(missing: &[&Tool]) -> Result<()> {
    let debian = packages(missing, |tool| tool.debian);
    let by_hand = if cfg!(target_os = "macos") {
        format!("brew install {}", packages(missing, |tool| tool.brew).join(" "))
    } else {
        format!("apt-get install {} (or what your system calls them)", debian.join(" "))
    };
    let Some(apt_get) = apt_get() else {
        bail!("programs that are needed are not here. Install them, then run this again:\n  {by_hand}");
    };
    eprintln!("setup: apt-get install {}", debian.join(" "));
    let install =
        || run_apt(&apt_get, &[&["install", "-y", "--no-install-recommends"], &debian[..]].concat());
    if install().is_err() {
        run_apt(&apt_get, &["update"])
            .and_then(|()| install())
            .with_context(|| format!("by hand: {by_hand}"))?;
    }
    Ok(())
}

/// The packages of the missing tools, each once.
fn packages(missing: &[&Tool], name: impl Fn(&Tool) -> &'static str) -> Vec<&'static str> {
    let mut names: Vec<_> = missing.iter().map(|tool| name(tool)).collect();
    names.dedup();
    names
}

/// How `apt-get` is called here, if this is a Debian on which we may.
fn apt_get() -> Option<Vec<&'static str>> {
    if !Path::new("/etc/debian_version").exists() || !repo::has_program("apt-get") {
        return None;
    }
    if Uid::effective().is_root() {
        return Some(vec!["apt-get"]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success()).then(|| vec!["sudo", "-n", "apt-get"])
}

fn run_apt(apt_get: &[&str], args: &[&str]) -> Result<()> {
    let mut command = Command::new(apt_get[0]);
    command.args(&apt_get[1..]).args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
    repo::run(&mut command)
}

/// The marker is the manifest of what is installed, written last: the same again means nothing to do.
fn install_lock_library(folder: &Path) -> Result<()> {
    let marker = folder.join("installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == LOCK_LIBRARY) {
        return Ok(());
    }
    eprintln!("setup: npm install, for the test double of a client");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let write = |path: &Path| {
        fs::write(path, LOCK_LIBRARY).with_context(|| format!("cannot write {}", path.display()))
    };
    write(&folder.join("package.json"))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(folder)
        .stdout(Stdio::null());
    repo::run(&mut npm).context("npm could not install it; is the package registry reachable?")?;
    write(&marker)
}
