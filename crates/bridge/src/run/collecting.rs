//! When what clients write for other machines is collected: on the thread that hears of changed files, which waits for nobody else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atm_office::ErrorKind;
use atm_store::watch::{ManyWatch, Stop, Watcher, Woken};

use super::worker::{Handle, Input, look_every};
use crate::house::Collector;

/// Files are not looked at again within this time: what is written into them comes in many events.
const APART: Duration = Duration::from_millis(20);
/// How soon an inbox is looked at again that could not be written.
const AGAIN: Duration = Duration::from_secs(1);
/// A client holds its lock for milliseconds: people are told of one that is held for so long.
const BUSY: Duration = Duration::from_secs(12);

/// Collects when files change, and now and then.
#[derive(Debug)]
pub struct Collecting {
    collector: Collector,
    engine: Handle,
    has_events: bool,
    every: Duration,
    due: Instant,
    from: Instant,
    watched: BTreeSet<PathBuf>,
    /// Something changed in a folder that has watched folders in it: another one may be in the place of one of them.
    is_replaced: bool,
    busy_since: Option<Instant>,
}

impl Collecting {
    /// With this collector. `has_events`: the system tells of changes in the files of this machine.
    pub fn new(collector: Collector, engine: Handle, has_events: bool) -> Self {
        let now = Instant::now();
        Self {
            collector,
            engine,
            has_events,
            every: look_every(has_events),
            due: now,
            from: now,
            watched: BTreeSet::new(),
            is_replaced: false,
            busy_since: None,
        }
    }

    /// Collects and hears of changed files, until somebody says stop. `also` is done whenever something may have changed.
    pub fn run(mut self, watcher: &Watcher, stop: &Stop, mut also: impl FnMut(&Handle)) {
        let mut watch = ManyWatch::on(watcher, stop, None);
        loop {
            if Instant::now() >= self.due {
                // First of all: a client may delete its team's folder a moment later.
                self.carry_out();
                let has_come = self.watch(&mut watch);
                if has_come | std::mem::take(&mut self.is_replaced) {
                    // What was written there before it was watched gave no event, and neither did the bell. What `atm` has accepted is in
                    // the ledger already, so there is nothing of it to collect.
                    self.due = self.due.min(self.from);
                    self.engine.send(Input::Wake);
                }
            }
            also(&self.engine);
            match watch.wait(Some(self.due)) {
                Woken::Over => return,
                woken @ (Woken::By(_) | Woken::EventsLost) => {
                    self.is_replaced |= match woken {
                        Woken::By(changed) => {
                            let above = |folder: &PathBuf| {
                                folder.parent().is_some_and(|above| changed.contains(above))
                            };
                            self.watched.iter().any(above)
                        }
                        _ => true,
                    };
                    self.engine.send(Input::Wake);
                    self.due = self.due.min(self.from);
                }
                // Nobody else tells the engine, where the system has no watches left.
                Woken::Due if self.has_events && self.every == look_every(false) => {
                    self.engine.send(Input::Wake);
                }
                Woken::Due => {}
            }
        }
    }

    /// Watches the folders that are there. Says whether they are others than before: if one came, what is below it may come next.
    fn watch(&mut self, watch: &mut ManyWatch) -> bool {
        let folders = self.collector.folders();
        watch.set(folders.iter().cloned());
        let has_changed = folders != self.watched;
        self.watched = folders;
        self.every = look_every(self.has_events && watch.unwatched().next().is_none());
        has_changed
    }

    /// Collects.
    fn carry_out(&mut self) {
        let collected = self.collector.collect();
        let now = Instant::now();
        (self.due, self.from) = (now + self.every, now + APART);
        match collected {
            Ok(count) => {
                self.busy_since = None;
                if count > 0 {
                    self.engine.send(Input::Wake);
                }
            }
            Err(error) => {
                self.due = now + self.every.min(AGAIN);
                let is_busy = error.kind() == ErrorKind::Busy;
                let since = *self.busy_since.get_or_insert(now);
                if !is_busy || now.duration_since(since) >= BUSY {
                    self.engine.send(Input::Trouble(error.to_string()));
                }
                // What could be read is in the log all the same.
                self.engine.send(Input::Wake);
            }
        }
    }
}
