//! When what clients write for other machines is collected: on the thread that hears of changed files, which waits for nobody else.

use std::time::{Duration, Instant};

use atm_office::ErrorKind;

use super::worker::{Handle, Input};
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
    every: Duration,
    due: Instant,
    from: Instant,
    busy_since: Option<Instant>,
}

impl Collecting {
    /// With this collector, at least so often.
    pub fn new(collector: Collector, engine: Handle, every: Duration) -> Self {
        let now = Instant::now();
        Self { collector, engine, every, due: now, from: now, busy_since: None }
    }

    /// Files changed.
    pub fn note_change(&mut self) {
        self.due = self.due.min(self.from);
    }

    /// When it has to be carried out next.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Collects, if it is time.
    pub fn carry_out(&mut self) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
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
