//! The locks of everybody who writes these files, and our own queue before them.
//!
//! | lock | who takes it | kind |
//! |---|---|---|
//! | our queue, in our state folder | every `atm` process | [`queue`]: `flock` |
//! | `inboxes/.lock` | Python tools | [`flock`]: `flock` |
//! | `<file>.lock` | agent clients | [`mkdir`]: a directory |
//!
//! They are always taken in this order. Every wait is bounded by one deadline and its error names the lock.

pub mod flock;
pub mod mkdir;
pub mod queue;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::interrupt;

/// How soon a wait notices that the process was told to stop.
const NOTICE_STOP: Duration = Duration::from_millis(20);

/// How long to wait for locks, and when a lock is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTimes {
    /// How long an operation waits for all its locks together.
    pub wait: Duration,
    /// A directory lock that was not touched for this long belongs to nobody. Real clients use ten seconds.
    pub stale: Duration,
}

impl Default for LockTimes {
    /// Twelve seconds: past the ten after which a dead client's lock may be taken.
    fn default() -> Self {
        Self { wait: Duration::from_secs(12), stale: Duration::from_secs(10) }
    }
}

impl LockTimes {
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline { start: Instant::now(), wait: self.wait }
    }
}

/// One operation's patience, shared by all the locks it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    start: Instant,
    wait: Duration,
}

impl Deadline {
    pub(crate) fn left(&self) -> Duration {
        self.wait.saturating_sub(self.start.elapsed())
    }

    /// How long to wait until it is time to [`Deadline::check`] again.
    pub(crate) fn next_look(&self) -> Duration {
        self.left().min(NOTICE_STOP)
    }

    /// Whether waiting for `lock` may go on: there is time left, and nobody told the process to stop.
    pub(crate) fn check(&self, lock: &Path) -> Result<(), StoreError> {
        if interrupt::is_requested() {
            return Err(StoreError::Interrupted { path: lock.to_owned() });
        }
        if self.left().is_zero() { Err(self.busy(lock)) } else { Ok(()) }
    }

    pub(crate) fn busy(&self, lock: &Path) -> StoreError {
        StoreError::Busy { lock: lock.to_owned(), waited: self.start.elapsed() }
    }
}
