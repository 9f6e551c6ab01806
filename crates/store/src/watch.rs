//! Waiting for files to change, by the system's events, with a slow look of our own in case one gets lost.

mod many;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use crate::idle::Idle;
use crate::interrupt::{self, Waiter};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

pub use many::{ManyWatch, Waker, Woken, has_events};

/// Events get lost on network file systems and when the kernel's queue overflows.
const SAFETY_LOOK: Duration = Duration::from_secs(3);
/// How long nothing has to happen before there is time for something else.
const IDLE_PAUSE: Duration = Duration::from_millis(25);
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
        self.also_stops(&child);
        child
    }

    /// Lets another one stop with this one, too.
    pub fn also_stops(&self, other: &Self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.stopped {
            other.stop();
        } else {
            state.children.retain(|child| child.strong_count() > 0);
            state.children.push(Arc::downgrade(&other.0));
        }
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

/// The system's file events for all that wait in one process: one watch for each folder, however many wait for it.
#[derive(Debug, Clone, Default)]
pub struct Watcher(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    system: Mutex<System>,
    /// Locked inside the system's own thread, so never while the system is asked for something.
    subscribers: Arc<Mutex<Vec<Subscriber>>>,
}

#[derive(Debug, Default)]
struct System {
    /// Made when it is first needed.
    watcher: Option<RecommendedWatcher>,
    /// The system has none left.
    has_none: bool,
    watches: HashMap<PathBuf, Watch>,
    next: u64,
}

#[derive(Debug)]
struct Watch {
    id: u64,
    users: usize,
    /// The folder that it is of: another one may have its name by now.
    of: Identity,
}

/// What tells a folder from a later one of the same name, which may have the same number.
type Identity = (u64, u64, Option<SystemTime>);

/// Somebody who waits for folders.
#[derive(Debug)]
struct Subscriber {
    id: u64,
    folders: HashSet<PathBuf>,
    changed: BTreeSet<PathBuf>,
    /// Events were lost: everything may have changed.
    lost: bool,
    wake: Sender<()>,
}

impl Watcher {
    fn subscribe(&self, folders: HashSet<PathBuf>, wake: Sender<()>) -> u64 {
        let id = lock(&self.0.system).next_id();
        lock(&self.0.subscribers).push(Subscriber {
            id,
            folders,
            changed: BTreeSet::new(),
            lost: false,
            wake,
        });
        id
    }

    /// Sees that a folder is watched for somebody who has the watch `held` of it; gives the watch that it has now.
    fn hold(&self, folder: &Path, held: Option<u64>) -> Option<u64> {
        let mut system = lock(&self.0.system);
        let identity = |found: fs::Metadata| (found.dev(), found.ino(), found.created().ok());
        let found = fs::metadata(folder).ok().map(identity);
        if system.watches.get(folder).is_some_and(|watch| Some(watch.of) != found) {
            // Its watch is gone with it, for everybody.
            system.watches.remove(folder);
            if let Some(watcher) = system.watcher(&self.0.subscribers) {
                let _ = watcher.unwatch(folder);
            }
        }
        let of = found?;
        match system.watches.get_mut(folder) {
            Some(watch) if held == Some(watch.id) => return held,
            Some(watch) => {
                watch.users += 1;
                return Some(watch.id);
            }
            None => {}
        }
        system.watcher(&self.0.subscribers)?.watch(folder, RecursiveMode::NonRecursive).ok()?;
        let id = system.next_id();
        system.watches.insert(folder.to_owned(), Watch { id, users: 1, of });
        Some(id)
    }

    fn release(&self, folder: &Path, held: u64) {
        let mut system = lock(&self.0.system);
        let Some(watch) = system.watches.get_mut(folder).filter(|watch| watch.id == held) else { return };
        watch.users -= 1;
        if watch.users == 0 {
            system.watches.remove(folder);
            if let Some(watcher) = system.watcher(&self.0.subscribers) {
                let _ = watcher.unwatch(folder);
            }
        }
    }
}

impl System {
    fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn watcher(&mut self, subscribers: &Arc<Mutex<Vec<Subscriber>>>) -> Option<&mut RecommendedWatcher> {
        let make = || {
            let subscribers = Arc::clone(subscribers);
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if let Ok(event) = event
                    && !event.kind.is_access()
                {
                    lock(&subscribers).iter_mut().for_each(|subscriber| subscriber.tell(&event.paths));
                }
            })
        };
        if self.watcher.is_none() && !self.has_none {
            self.watcher = make().ok();
            self.has_none = self.watcher.is_none();
        }
        self.watcher.as_mut()
    }
}

impl Subscriber {
    fn tell(&mut self, paths: &[PathBuf]) {
        let folders = paths.iter().flat_map(|path| [Some(path.as_path()), path.parent()]).flatten();
        let ours: Vec<PathBuf> =
            folders.filter(|folder| self.folders.contains(*folder)).map(ToOwned::to_owned).collect();
        // An event without a path says that some were lost.
        if !ours.is_empty() || paths.is_empty() {
            self.lost |= paths.is_empty();
            self.changed.extend(ours);
            let _ = self.wake.send(());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for changes in folders. A file's own watch would die with the first rename, so folders it is.
#[derive(Debug)]
pub struct FolderWatch {
    watcher: Watcher,
    id: u64,
    events: Receiver<()>,
    /// Each with the watch that it has.
    folders: Vec<(PathBuf, Option<u64>)>,
    stop: Stop,
    idle: Option<Idle>,
    _waiter: Waiter,
}

impl Drop for FolderWatch {
    fn drop(&mut self) {
        lock(&self.watcher.0.subscribers).retain(|subscriber| subscriber.id != self.id);
        for (folder, held) in &self.folders {
            if let Some(held) = held {
                self.watcher.release(folder, *held);
            }
        }
    }
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
        let folders: BTreeSet<PathBuf> = folders.into_iter().collect();
        let id = watcher.subscribe(folders.iter().cloned().collect(), send);
        let folders = folders.into_iter().map(|folder| (folder, None)).collect();
        let (watcher, stop) = (watcher.clone(), stop.clone());
        let mut watch = Self { watcher, id, events, folders, stop, idle: None, _waiter: waiter };
        watch.attach();
        watch
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
        let mut subscribers = lock(&self.watcher.0.subscribers);
        let ours = subscribers.iter_mut().find(|subscriber| subscriber.id == self.id);
        ours.map(|ours| mem::take(&mut ours.changed)).unwrap_or_default()
    }

    /// Waits until something may have changed, or `deadline` is over; says whether it is not over yet. It is over when
    /// somebody said stop, also to the whole process ([`interrupt::request`]).
    ///
    /// Look at the files before the first call: what happened before the watch began gives no event.
    pub fn wait(&mut self, deadline: Option<Instant>) -> bool {
        self.attach();
        let look =
            if self.folders.iter().all(|(_, watch)| watch.is_some()) { SAFETY_LOOK } else { MISSING_LOOK };
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
            self.attach();
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

    fn attach(&mut self) {
        for (folder, held) in &mut self.folders {
            *held = self.watcher.hold(folder, *held);
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
