//! Waiting for files to change, by the system's events, with a slow look of our own in case one gets lost.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::interrupt::{self, Waiter};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Events get lost on network file systems and when the kernel's queue overflows.
const SAFETY_LOOK: Duration = Duration::from_secs(3);
/// While a folder that we were asked to watch is not there.
const MISSING_LOOK: Duration = Duration::from_millis(250);

/// Ends waiting from another thread, for good.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Mutex<Stopping>>);

#[derive(Debug, Default)]
struct Stopping {
    stopped: bool,
    waiting: Vec<Sender<()>>,
    children: Vec<Weak<Mutex<Stopping>>>,
}

impl Stop {
    /// Wakes all that wait with this, now and later.
    pub fn stop(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.stopped = true;
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(());
        }
        for child in state.children.drain(..).filter_map(|child| child.upgrade()) {
            Self(child).stop();
        }
    }

    /// One that can be stopped by itself, and stops with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::default();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            child.stop();
        } else {
            state.children.retain(|child| child.strong_count() > 0);
            state.children.push(Arc::downgrade(&child.0));
        }
        child
    }

    /// Whether somebody has said so.
    pub fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }

    fn wakes(&self, waiting: &Sender<()>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            let _ = waiting.send(());
        } else {
            state.waiting.push(waiting.clone());
        }
    }
}

/// Watches folders. A file's own watch would die with the first rename, so folders it is.
#[derive(Debug)]
pub struct FolderWatch {
    watcher: Option<RecommendedWatcher>,
    events: Receiver<()>,
    folders: Vec<(PathBuf, bool)>,
    stop: Stop,
    _waiter: Waiter,
}

impl FolderWatch {
    /// Starts to watch. Where the system has no watches left, looking now and then takes their place.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::until(folders, &Stop::default())
    }

    /// The same, until somebody says stop.
    pub fn until(folders: impl IntoIterator<Item = PathBuf>, stop: &Stop) -> Self {
        let (send, events) = mpsc::channel();
        stop.wakes(&send);
        let waiter = Waiter::register(&send);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                let _ = send.send(());
            }
        });
        let mut folders: Vec<_> = folders.into_iter().map(|folder| (folder, false)).collect();
        folders.sort();
        folders.dedup();
        let mut watch = Self { watcher: watcher.ok(), events, folders, stop: stop.clone(), _waiter: waiter };
        watch.attach();
        watch
    }

    /// Waits until something may have changed, or `deadline` is over; says whether it is not over yet. It is over when
    /// somebody said stop, also to the whole process ([`interrupt::request`]).
    ///
    /// Look at the files before the first call: what happened before the watch began gives no event.
    pub fn wait(&mut self, deadline: Option<Instant>) -> bool {
        self.attach();
        let look = if self.folders.iter().all(|(_, watched)| *watched) { SAFETY_LOOK } else { MISSING_LOOK };
        let left = deadline.map_or(look, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() || self.is_over() {
            return false;
        }
        match self.events.recv_timeout(left.min(look)) {
            Ok(()) => while self.events.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left.min(look)),
        }
        !self.is_over()
    }

    /// Waits until something has changed; `false` if `deadline` came first, or it is over. Unlike [`wait`](Self::wait) it
    /// does not end for a slow look of our own: the caller sets a deadline for that.
    pub fn wait_for_change(&mut self, deadline: Option<Instant>) -> bool {
        loop {
            self.attach();
            let left = deadline.map_or(SAFETY_LOOK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() || self.is_over() {
                return false;
            }
            if self.events.recv_timeout(left.min(SAFETY_LOOK)).is_ok() {
                while self.events.try_recv().is_ok() {}
                return !self.is_over();
            }
        }
    }

    /// Whether somebody said stop.
    pub fn is_over(&self) -> bool {
        self.stop.is_stopped() || interrupt::ends_wait()
    }

    fn attach(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        for (folder, watched) in &mut self.folders {
            if *watched && !Path::exists(folder) {
                let _ = watcher.unwatch(folder);
                *watched = false;
            } else if !*watched {
                *watched = watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn stopping_ends_a_wait_that_is_under_way_and_those_to_come() {
        let folder = tempfile::tempdir().unwrap();
        let stop = Stop::default();
        let mut watch = FolderWatch::until([folder.path().to_owned()], &stop.child());
        let start = Instant::now();
        let waiting = thread::spawn(move || while watch.wait(None) {});
        stop.stop();
        waiting.join().unwrap();
        assert!(start.elapsed() < SAFETY_LOOK, "it did not wait for the next look");
        assert!(stop.is_stopped());
        let mut later = FolderWatch::until([folder.path().to_owned()], &stop);
        assert!(!later.wait(None));
        assert!(stop.child().is_stopped());
    }

    #[test]
    fn a_child_stops_alone() {
        let stop = Stop::default();
        stop.child().stop();
        assert!(!stop.is_stopped());
    }
}
