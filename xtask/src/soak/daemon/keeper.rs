//! Who starts daemons, and kills them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::Scene;

/// How long a daemon may take until it serves, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest life of one, and the longest time without one, in milliseconds.
const LIFE: u64 = 4_000;
const WITHOUT: u64 = 400;

/// A daemon, and since when it serves.
pub(super) struct Daemon {
    child: Child,
    since: Instant,
}

/// Starts daemons and ends them until the storm is over.
pub(super) fn keep(scene: &Scene) -> Result<()> {
    let mut random = scene.random(1);
    while !scene.storm.is_over() {
        let mut daemon = start(scene)?;
        scene.storm.pause(Duration::from_millis(random.below(LIFE)));
        if let Some(ended) = daemon.child.try_wait()? {
            scene.account.wrong(format!("a daemon ended by itself: {ended}"));
        }
        match random.below(10) {
            0 | 1 => {
                let ended = end(scene, daemon)?;
                if !ended.success() {
                    scene.account.wrong(format!("a daemon that was told to stop ended with {ended}"));
                }
            }
            fate => {
                if fate == 2 {
                    refuse_a_second(scene)?;
                }
                // It counts as dead before it is: what comes from here on may be missed.
                scene.account.served(daemon.since, Instant::now());
                daemon.child.kill()?;
                daemon.child.wait()?;
                scene.account.kill();
            }
        }
        scene.storm.pause(Duration::from_millis(random.below(WITHOUT)));
    }
    Ok(())
}

fn refuse_a_second(scene: &Scene) -> Result<()> {
    let second = crate::faults::world::finish(scene.runner(&["daemon", "run", "--for", "1s"]), None, |_| ())?;
    if second.code != Some(5) {
        scene.account.wrong(format!("a second daemon ended with {:?}: {}", second.code, second.stderr));
    }
    Ok(())
}

/// Starts one, and waits until it watches.
pub(super) fn start(scene: &Scene) -> Result<Daemon> {
    let mut command = scene.runner(&["daemon", "run"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().context("cannot start a daemon")?;
    let begun = Instant::now();
    loop {
        let is_it = |status: &Value| status["pid"] == child.id() && status["watches"].as_u64() > Some(0);
        if status(scene).is_some_and(|status| is_it(&status)) {
            return Ok(Daemon { child, since: Instant::now() });
        }
        if let Some(ended) = child.try_wait()? {
            bail!("a daemon ended at its start: {ended}");
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            bail!("a daemon does not serve after {} s", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends one as it should be ended.
pub(super) fn end(scene: &Scene, mut daemon: Daemon) -> Result<ExitStatus> {
    scene.account.served(daemon.since, Instant::now());
    signal::kill(Pid::from_raw(i32::try_from(daemon.child.id())?), Signal::SIGTERM)?;
    let begun = Instant::now();
    loop {
        if let Some(ended) = daemon.child.try_wait()? {
            return Ok(ended);
        }
        if begun.elapsed() > PATIENCE {
            daemon.child.kill()?;
            bail!("a daemon that was told to stop has not ended after {} s", PATIENCE.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the daemon has looked at all that changed, and nothing is due soon.
pub(super) fn rests(scene: &Scene) -> bool {
    status(scene).is_some_and(|status| {
        status["lag_ms"] == 0 && status["busy"].is_null() && status["looks"].as_u64() > Some(0)
    })
}

fn status(scene: &Scene) -> Option<Value> {
    let mut stream = UnixStream::connect(scene.world.state().join("daemon/socket")).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"{\"atm\":1,\"ask\":\"status\"}\n").ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    Some(serde_json::from_str::<Value>(&line).ok()?["answer"].take())
}
