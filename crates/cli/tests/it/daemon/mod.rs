//! The daemon: a real one, beside real commands and other programs.

mod control;
mod disk;
mod lifecycle;
mod limits;
mod peers;
mod service;
mod watching;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use atm_ledger::{Cursor, Event, Feed, Ledger};
use atm_support::{wait_until, wait_until_visible};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::scene::World;

/// What is in a log.
fn events(ledger: &Ledger) -> Vec<Event> {
    let start: Cursor = ledger.start().unwrap();
    match ledger.events_since(&start, 10_000).unwrap() {
        Feed::Events { events, .. } => events,
        Feed::Reset { .. } => panic!("a log has no start"),
    }
}

/// A process that looks like bob's client.
fn bob(world: &World) -> Child {
    let member = Command::new("sh")
        .args(["-c", "read -r line", "member", "--agent-id", "bob@dev"])
        .arg0("claude")
        .env("CLAUDE_CONFIG_DIR", world.root())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_visible(&member);
    member
}

/// A world with a daemon, which is stopped at the end.
pub(crate) struct Watched {
    pub(crate) world: World,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = self.world.command(&["daemon", "stop"]).output();
    }
}

impl Watched {
    pub(crate) fn new(world: World) -> Self {
        let watched = Self { world };
        watched.start();
        watched
    }

    pub(crate) fn start(&self) -> Value {
        self.world.json(&["daemon", "start"])
    }

    pub(crate) fn status(&self) -> Value {
        self.world.json(&["daemon", "status"])
    }

    /// The number in the lock.
    fn pid(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.folder().join("lock")).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }

    fn folder(&self) -> PathBuf {
        self.world.state().join("daemon")
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid().unwrap(), signal).unwrap();
    }

    /// The word that the last daemon left.
    fn last_words(&self) -> Value {
        let text = std::fs::read_to_string(self.folder().join("last.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A process that looks like bob's client, which the daemon watches when this returns.
    pub(crate) fn start_bob(&self) -> Child {
        let member = bob(&self.world);
        self.world.ok(&["member", "set", "bob", "--active", "true"]);
        wait_until("it watches the process", || self.status()["processes"] == 1);
        member
    }

    /// Waits until it has looked at all that changed.
    pub(crate) fn wait_until_it_rests(&self) {
        wait_until("the daemon rests", || {
            let status = self.status();
            status["lag_ms"] == 0 && status["busy"].is_null() && status["looks"].as_u64() > Some(0)
        });
    }

    /// The log, once there is one. It is opened once: opening it writes.
    fn ledger(&self) -> Ledger {
        let path = self.world.state().join("log.db");
        wait_until("there is a log", || path.exists());
        Ledger::open(&path).unwrap()
    }

    /// Waits for something in the log, without a look of our own.
    pub(crate) fn has_event(&self, what: &str, is_it: impl Fn(&Event) -> bool) {
        let ledger = self.ledger();
        wait_until(what, || events(&ledger).iter().any(&is_it));
    }
}
