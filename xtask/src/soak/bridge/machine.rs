//! A machine: a root and a state of its own, members, and a daemon that keeps a bridge running.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::network::Way;
use crate::faults::world::{LEAD, TEAM, World};

/// One of the machines.
pub(super) struct Machine {
    pub(super) name: &'static str,
    /// Everybody at home here but the lead.
    pub(super) members: [&'static str; 2],
    pub(super) world: World,
    pub(super) way: Way,
    daemon: Mutex<Option<Child>>,
}

impl Machine {
    pub(super) fn new(
        atm: &Path,
        folder: &Path,
        name: &'static str,
        members: [&'static str; 2],
        way: Way,
    ) -> Result<Self> {
        let world = World::with_lead(atm, folder)?;
        for member in members {
            world.must(LEAD, &["-t", TEAM, "member", "add", member])?;
        }
        let settings = folder.join("home/.config/atm");
        fs::create_dir_all(&settings)?;
        let bridge =
            format!("[bridge]\nnats = \"{}\"\nmachine = \"{name}\"\nteams = [\"{TEAM}\"]\n", way.url());
        fs::write(settings.join("config.toml"), bridge)?;
        Ok(Self { name, members, world, way, daemon: Mutex::default() })
    }

    fn daemon(&self) -> MutexGuard<'_, Option<Child>> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts its daemon, if none runs.
    pub(super) fn start(&self) -> Result<()> {
        let mut daemon = self.daemon();
        if let Some(child) = daemon.as_mut()
            && child.try_wait()?.is_none()
        {
            return Ok(());
        }
        let mut command = self.world.command(&self.way.before(), LEAD, &["daemon", "run"]);
        let log =
            fs::File::options().create(true).append(true).open(self.world.folder().join("daemon.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
        *daemon = Some(command.spawn().context("cannot start a daemon")?);
        Ok(())
    }

    /// Kills its daemon; gives the bridge that it kept, which has to end by itself.
    pub(super) fn kill_daemon(&self) -> Result<Option<u32>> {
        let Some(mut child) = self.daemon().take() else { return Ok(None) };
        let bridge = bridge_of(child.id());
        child.kill()?;
        child.wait()?;
        Ok(bridge)
    }

    /// Kills its bridge, if one runs; the daemon starts another.
    pub(super) fn kill_bridge(&self) -> Result<bool> {
        let daemon = self.daemon();
        let Some(bridge) = daemon.as_ref().and_then(|child| bridge_of(child.id())) else { return Ok(false) };
        // It may be over.
        Ok(signal::kill(Pid::from_raw(i32::try_from(bridge)?), Signal::SIGKILL).is_ok())
    }

    /// Whether its configuration has all of these.
    pub(super) fn knows(&self, names: &[String]) -> bool {
        let path = self.world.root().join("teams").join(TEAM).join("config.json");
        let config: Value =
            fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let is_there = |name: &String| {
            let members = config["members"].as_array();
            members.is_some_and(|members| members.iter().any(|member| member["name"] == name.as_str()))
        };
        names.iter().all(is_there)
    }

    /// What its bridge said of itself last.
    pub(super) fn status(&self) -> Value {
        let path = self.world.state().join("bridge/status.json");
        fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Its bridge ends with it.
        let _ = self.kill_daemon();
    }
}

/// The bridge that a daemon keeps.
fn bridge_of(daemon: u32) -> Option<u32> {
    let tasks = fs::read_dir(format!("/proc/{daemon}/task")).ok()?;
    let children = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = children
        .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| pid.parse().ok())
        .collect();
    children.into_iter().find(|pid| is_bridge(*pid))
}

/// Whether this process is a bridge that runs.
pub(super) fn is_bridge(pid: u32) -> bool {
    let runs = |stat: String| {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        Some(name == "atm-bridge" && !rest.trim_start().starts_with('Z'))
    };
    fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(runs).unwrap_or(false)
}
