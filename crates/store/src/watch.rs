//! Waiting for files to change, by the system's events, with a slow look of our own in case one gets lost.

mod many;
mod stop;
mod watcher;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use watcher::Subscription;

use crate::idle::Idle;
use crate::interrupt::{self, Waiter};

pub use many::{ManyWatch, Waker, Woken, has_events};
pub use stop::Stop;
pub use watcher::{Identity, Watcher, identity};

/// Events get lost on network file systems and when the kernel's queue overflows.
const SAFETY_LOOK: Duration = Duration::from_secs(3);
/// How long nothing has to happen before there is time for something else.
const IDLE_PAUSE: Duration = Duration::from_millis(25);
/// While a folder that we were asked to watch is not there.
const MISSING_LOOK: Duration = Duration::from_millis(250);

/// Waits for changes in folders. A file's own watch would die with the first rename, so folders it is.
#[derive(Debug)]
pub struct FolderWatch {
    folders: Subscription,
    events: Receiver<()>,
    stop: Stop,
    idle: Option<Idle>,
    _waiter: Waiter,
}

impl FolderWatch {
    /// Starts to watch, by a watcher of its own. Where the system has no watches left, looking now and then takes their
    /// place.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::until(folders, &Stop::default())
    }

    /// The same, until somebody says stop.
    pub fn until(folders: impl IntoIterator<Item = PathBuf>, stop: &Stop) -> Self {
        Self::on(&Watcher::default(), folders, stop)
    }

    /// The same, by a watcher that others use, too.
    pub fn on(watcher: &Watcher, folders: impl IntoIterator<Item = PathBuf>, stop: &Stop) -> Self {
        let (send, events) = mpsc::channel();
        stop.wakes(&send);
        let waiter = Waiter::register(&send);
        let mut subscription = Subscription::new(watcher, send);
        subscription.set(folders);
        Self { folders: subscription, events, stop: stop.clone(), idle: None, _waiter: waiter }
    }

    /// With something to do while nothing happens.
    #[must_use]
    pub fn with_idle(mut self, idle: Option<Idle>) -> Self {
        self.idle = idle;
        self
    }

    /// Waits for an event, for so long at most. What there is to do meanwhile begins after a pause, and goes on after each:
    /// where something happens all the time, there is no idle moment.
    fn receive(&self, within: Duration) -> Result<(), RecvTimeoutError> {
        let end = Instant::now() + within;
        let left = || end.saturating_duration_since(Instant::now());
        while let Some(idle) = &self.idle
            && left() > IDLE_PAUSE * 2
        {
            match self.events.recv_timeout(IDLE_PAUSE) {
                Err(RecvTimeoutError::Timeout) if !self.is_over() => {}
                received => return received,
            }
            if !idle.work() {
                break;
            }
        }
        self.events.recv_timeout(left())
    }

    /// The folders in which something changed since the last time.
    pub fn take_changed(&mut self) -> BTreeSet<PathBuf> {
        self.folders.take().folders
    }

    /// Waits until something may have changed, or `deadline` is over; says whether it is not over yet. It is over when
    /// somebody said stop, also to the whole process ([`interrupt::request`]).
    ///
    /// Look at the files before the first call: what happened before the watch began gives no event.
    pub fn wait(&mut self, deadline: Option<Instant>) -> bool {
        self.folders.attach();
        let look = if self.folders.has_all() { SAFETY_LOOK } else { MISSING_LOOK };
        let left = deadline.map_or(look, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() || self.is_over() {
            return false;
        }
        match self.receive(left.min(look)) {
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
            self.folders.attach();
            let left = deadline.map_or(SAFETY_LOOK, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() || self.is_over() {
                return false;
            }
            if self.receive(left.min(SAFETY_LOOK)).is_ok() {
                while self.events.try_recv().is_ok() {}
                return !self.is_over();
            }
        }
    }

    /// Whether somebody said stop.
    pub fn is_over(&self) -> bool {
        self.stop.is_stopped() || interrupt::ends_wait()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

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
    fn those_who_wait_by_one_watcher_hear_of_their_own_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&two).unwrap();
        let (watcher, stop) = (Watcher::default(), Stop::default());
        let mut first = FolderWatch::on(&watcher, [one.clone()], &stop);
        let mut both = FolderWatch::on(&watcher, [one.clone(), two.clone()], &stop);
        fs::write(two.join("file"), "").unwrap();
        let soon = || Some(Instant::now() + Duration::from_secs(30));
        assert!(both.wait_for_change(soon()));
        assert_eq!(both.take_changed(), BTreeSet::from([two.clone()]));
        drop(both);
        fs::write(one.join("file"), "").unwrap();
        assert!(first.wait_for_change(soon()), "its folder is watched as before");
        assert_eq!(first.take_changed(), BTreeSet::from([one.clone()]));
        fs::remove_dir_all(&one).unwrap();
        let _ = first.wait(soon());
        fs::create_dir(&one).unwrap();
        while first.take_changed().is_empty() {
            fs::write(one.join("again"), "").unwrap();
            assert!(first.wait(soon()), "a folder that comes again is watched again");
        }
    }

    #[test]
    fn idle_work_is_done_while_nothing_happens_and_delays_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (did, done) = mpsc::channel();
        let idle = Idle::new(move || did.send(()).is_ok());
        let mut watch = FolderWatch::new([folder.path().to_owned()]).with_idle(Some(idle));
        let path = folder.path().join("file");
        let writer = thread::spawn(move || {
            (0..3).for_each(|_| done.recv().unwrap());
            fs::write(path, "").unwrap();
            done
        });
        assert!(watch.wait_for_change(Some(Instant::now() + Duration::from_secs(60))));
        drop(writer.join().unwrap());
        assert!(!watch.wait_for_change(Some(Instant::now())), "there is more to do, and no time for it");
    }

    #[test]
    fn a_child_stops_alone() {
        let stop = Stop::default();
        stop.child().stop();
        assert!(!stop.is_stopped());
    }
}
