//! Waiting for changes in many folders that come and go. While nothing happens, nothing is done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::watcher::{Changes, Subscription};
use super::{IDLE_PAUSE, Stop, Watcher};
use crate::idle::Idle;
use crate::interrupt::{self, Waiter};

/// Longer than anything waits: a deadline that nobody set.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// Something changed in these folders, or was called for by a [`Waker`], if there are none.
    By(BTreeSet<PathBuf>),
    /// The system lost events: anything may have changed.
    EventsLost,
    /// The time is over.
    Due,
    /// Somebody said stop.
    Over,
}

/// Ends a wait from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Sender<()>);

impl Waker {
    /// Ends the wait that is under way, or the next one.
    pub fn wake(&self) {
        // Nobody waits any more: then there is nothing to end.
        let _ = self.0.send(());
    }
}

/// Waits for changes in folders, which can be changed meanwhile. Its user watches the folders above those that may
/// come and go.
#[derive(Debug)]
pub struct ManyWatch {
    folders: Subscription,
    events: Receiver<()>,
    wake: Sender<()>,
    stop: Stop,
    idle: Option<Idle>,
    _waiter: Waiter,
}

impl ManyWatch {
    /// Of no folder yet, until somebody says stop.
    pub fn on(watcher: &Watcher, stop: &Stop, idle: Option<Idle>) -> Self {
        let (wake, events) = mpsc::channel();
        stop.wakes(&wake);
        let waiter = Waiter::register(&wake);
        let folders = Subscription::new(watcher, wake.clone());
        Self { folders, events, wake, stop: stop.clone(), idle, _waiter: waiter }
    }

    /// What ends its waits from another thread.
    pub fn waker(&self) -> Waker {
        Waker(self.wake.clone())
    }

    /// Watches exactly these folders from now on, as far as they are there. One that was removed and made again is watched
    /// again.
    pub fn set(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        self.folders.set(folders);
    }

    /// The folders that are there and that the system does not watch: it has no watches left.
    pub fn unwatched(&self) -> impl Iterator<Item = &Path> {
        self.folders.unwatched().filter(|folder| folder.is_dir())
    }

    /// How many folders the system watches.
    pub fn watched(&self) -> usize {
        self.folders.watched()
    }

    /// Waits until something changes, somebody calls, or the time is over. What changed since the last wait counts.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Woken {
        let received = self.receive(deadline);
        if self.stop.is_stopped() || interrupt::ends_wait() {
            return Woken::Over;
        }
        while self.events.try_recv().is_ok() {}
        let Changes { folders: changed, lost } = self.folders.take();
        match (lost, changed.is_empty()) {
            (true, _) => Woken::EventsLost,
            (false, true) if !received => Woken::Due,
            (false, _) => Woken::By(changed),
        }
    }

    /// Whether something came before the time was over.
    fn receive(&self, deadline: Option<Instant>) -> bool {
        let left =
            || deadline.map_or(FOR_EVER, |deadline| deadline.saturating_duration_since(Instant::now()));
        while let Some(idle) = &self.idle
            && left() > IDLE_PAUSE * 2
            && !self.stop.is_stopped()
        {
            if self.events.recv_timeout(IDLE_PAUSE).is_ok() {
                return true;
            }
            if !idle.work() {
                break;
            }
        }
        if self.stop.is_stopped() {
            return true;
        }
        self.events.recv_timeout(left()).is_ok()
    }
}

/// Whether the system tells of changes that are made below this folder by others: not if they may be made on another machine.
pub fn has_events(folder: &Path) -> bool {
    remote::kind(folder).is_none()
}

#[cfg(target_os = "linux")]
mod remote {
    use std::path::Path;

    /// The numbers by which the kernel knows file systems whose files change elsewhere: NFS, SMB in three generations, AFS,
    /// 9P, Ceph, FUSE.
    const KINDS: [(u64, &str); 8] = [
        (0x6969, "nfs"),
        (0x517B, "smb"),
        (0xFF53_4D42, "cifs"),
        (0xFE53_4D42, "smb2"),
        (0x5346_414F, "afs"),
        (0x0102_1997, "9p"),
        (0x00C3_6400, "ceph"),
        (0x6573_5546, "fuse"),
    ];

    /// The name of a file system whose files others may change without an event here.
    pub(super) fn kind(folder: &Path) -> Option<&'static str> {
        let found = u64::try_from(rustix::fs::statfs(folder).ok()?.f_type).ok()?;
        KINDS.iter().find(|(number, _)| *number == found & 0xFFFF_FFFF).map(|(_, name)| *name)
    }
}

#[cfg(not(target_os = "linux"))]
mod remote {
    use std::path::Path;

    /// Not asked here: the system's own events are trusted.
    pub(super) fn kind(_: &Path) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn folders_come_and_go() {
        let top = tempfile::tempdir().unwrap();
        let (one, two) = (top.path().join("one"), top.path().join("two"));
        fs::create_dir(&one).unwrap();
        let (watcher, stop) = (Watcher::default(), Stop::default());
        let mut watch = ManyWatch::on(&watcher, &stop, None);
        watch.set([top.path().to_owned(), one.clone(), two.clone()]);
        assert_eq!((watch.watched(), watch.unwatched().count()), (2, 0));
        fs::write(one.join("file"), "").unwrap();
        assert_eq!(watch.wait(Some(soon())), Woken::By(BTreeSet::from([one.clone()])));
        fs::create_dir(&two).unwrap();
        assert!(matches!(watch.wait(Some(soon())), Woken::By(changed) if changed.contains(top.path())));
        watch.set([top.path().to_owned(), two.clone()]);
        fs::write(one.join("file"), "again").unwrap();
        fs::write(two.join("file"), "").unwrap();
        assert_eq!(watch.wait(Some(soon())), Woken::By(BTreeSet::from([two.clone()])));
        // Another folder of the same name is watched as well as the first.
        fs::remove_dir_all(&two).unwrap();
        fs::create_dir(&two).unwrap();
        while watch.wait(Some(Instant::now() + Duration::from_millis(50))) != Woken::Due {}
        watch.set([top.path().to_owned(), two.clone()]);
        fs::write(two.join("file"), "").unwrap();
        assert!(matches!(watch.wait(Some(soon())), Woken::By(changed) if changed.contains(&two)));
    }

    /// News of the first folder's end may come after the second is watched.
    #[test]
    fn a_folder_that_is_made_again_at_once_is_watched() {
        let top = tempfile::tempdir().unwrap();
        let one = top.path().join("one");
        fs::create_dir(&one).unwrap();
        let mut watch = ManyWatch::on(&Watcher::default(), &Stop::default(), None);
        let folders = [top.path().to_owned(), one.clone()];
        watch.set(folders.clone());
        for _ in 0..50 {
            let again = one.clone();
            let maker = thread::spawn(move || {
                for _ in 0..20 {
                    fs::remove_dir_all(&again).unwrap();
                    fs::create_dir(&again).unwrap();
                }
            });
            while !maker.is_finished() {
                watch.set(folders.clone());
            }
            maker.join().unwrap();
            watch.set(folders.clone());
            while watch.wait(Some(Instant::now() + Duration::from_millis(5))) != Woken::Due {}
            fs::write(one.join("file"), "").unwrap();
            assert!(matches!(watch.wait(Some(soon())), Woken::By(changed) if changed.contains(&one)));
        }
    }

    #[test]
    fn a_wait_ends_when_somebody_calls_or_says_stop_or_the_time_is_over() {
        let stop = Stop::default();
        let mut watch = ManyWatch::on(&Watcher::default(), &stop, None);
        assert_eq!(watch.wait(Some(Instant::now())), Woken::Due);
        let waker = watch.waker();
        let caller = thread::spawn(move || waker.wake());
        assert_eq!(watch.wait(Some(soon())), Woken::By(BTreeSet::new()));
        caller.join().unwrap();
        stop.stop();
        assert_eq!(watch.wait(None), Woken::Over);
    }

    #[test]
    fn a_local_folder_has_events() {
        assert!(has_events(&std::env::temp_dir()));
    }
}
