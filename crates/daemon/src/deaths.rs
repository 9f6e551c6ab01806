//! Processes whose end is a change: the system tells of it, where it can.

use std::collections::BTreeSet;

use atm_store::watch::Waker;

/// So many processes are watched; the others are looked at when that is due.
pub(crate) const MOST: usize = 512;

pub(crate) use system::Deaths;

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
    use std::thread;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open};

    use super::{BTreeSet, MOST, Waker};

    /// Watches processes, in a thread of its own.
    #[derive(Debug)]
    pub(crate) struct Deaths {
        shared: Arc<Mutex<Shared>>,
        /// Tells the thread that the list is another, and by its end that nobody listens.
        bell: UnixStream,
        most: usize,
    }

    #[derive(Debug, Default)]
    struct Shared {
        watched: BTreeMap<u64, Arc<OwnedFd>>,
        /// Those that ended and that somebody still wants watched: told once, and not again and again.
        told: BTreeSet<u64>,
        died: BTreeSet<u64>,
    }

    impl Deaths {
        /// Nobody yet; `waker` is called at each death.
        pub(crate) fn new(waker: Waker) -> io::Result<Self> {
            let (bell, ear) = UnixStream::pair()?;
            ear.set_nonblocking(true)?;
            let shared = Arc::<Mutex<Shared>>::default();
            let theirs = Arc::clone(&shared);
            thread::Builder::new().name("deaths".to_owned()).spawn(move || listen(&theirs, ear, &waker))?;
            // Files have to be opened, too.
            let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
            Ok(Self { shared, bell, most: files.map_or(MOST, |files| MOST.min(files / 4)) })
        }

        /// Watches these from now on, and no others; gives those that cannot be watched.
        pub(crate) fn watch(&mut self, wanted: &BTreeSet<u64>) -> BTreeSet<u64> {
            let mut shared = lock(&self.shared);
            let before = shared.watched.len();
            shared.watched.retain(|pid, _| wanted.contains(pid));
            let mut is_changed = shared.watched.len() != before;
            shared.told.retain(|pid| wanted.contains(pid));
            let mut others = BTreeSet::new();
            for pid in wanted {
                if shared.watched.contains_key(pid) {
                    continue;
                }
                let has_room = shared.watched.len() < self.most && !shared.told.contains(pid);
                let opened = i32::try_from(*pid).ok().and_then(Pid::from_raw).filter(|_| has_room);
                match opened.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
                    Some(Ok(opened)) => {
                        shared.watched.insert(*pid, Arc::new(opened));
                        is_changed = true;
                    }
                    // It has ended since somebody saw it run.
                    Some(Err(rustix::io::Errno::SRCH)) => {
                        shared.died.insert(*pid);
                        shared.told.insert(*pid);
                    }
                    Some(Err(_)) | None => {
                        others.insert(*pid);
                    }
                }
            }
            drop(shared);
            if is_changed {
                // If it cannot be told, it has ended, and nothing is watched.
                let _ = self.bell.write_all(&[1]);
            }
            others
        }

        /// Those that ended since the last question.
        pub(crate) fn take(&self) -> BTreeSet<u64> {
            std::mem::take(&mut lock(&self.shared).died)
        }

        /// How many are watched.
        pub(crate) fn count(&self) -> usize {
            lock(&self.shared).watched.len()
        }
    }

    fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
        shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(shared: &Mutex<Shared>, mut ear: UnixStream, waker: &Waker) {
        loop {
            let watched: Vec<(u64, Arc<OwnedFd>)> =
                lock(shared).watched.iter().map(|(pid, fd)| (*pid, Arc::clone(fd))).collect();
            let mut fds = vec![PollFd::from_borrowed_fd(ear.as_fd(), PollFlags::IN)];
            fds.extend(watched.iter().map(|(_, fd)| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
            if poll(&mut fds, None).is_err_and(|error| error != rustix::io::Errno::INTR) {
                return;
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            if ready.first() == Some(&true) {
                let mut bytes = [0; 64];
                loop {
                    match ear.read(&mut bytes) {
                        Ok(0) => return,
                        Ok(_) => {}
                        Err(_) => break,
                    }
                }
            }
            let died = watched.iter().zip(ready.iter().skip(1)).filter(|(_, is_ready)| **is_ready);
            let died: Vec<u64> = died.map(|((pid, _), _)| *pid).collect();
            if !died.is_empty() {
                let mut shared = lock(shared);
                for pid in died {
                    shared.watched.remove(&pid);
                    shared.died.insert(pid);
                    shared.told.insert(pid);
                }
                drop(shared);
                waker.wake();
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use super::{BTreeSet, Waker};

    /// The system cannot be asked to tell of the end of others' processes: all are looked at when that is due.
    #[derive(Debug)]
    pub(crate) struct Deaths;

    impl Deaths {
        pub(crate) fn new(_: Waker) -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) fn watch(&mut self, wanted: &BTreeSet<u64>) -> BTreeSet<u64> {
            wanted.clone()
        }

        pub(crate) fn take(&self) -> BTreeSet<u64> {
            BTreeSet::new()
        }

        pub(crate) fn count(&self) -> usize {
            0
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use atm_store::watch::{ManyWatch, Stop, Watcher, Woken};

    use super::*;

    #[test]
    fn the_end_of_a_process_ends_a_wait() {
        let mut watch = ManyWatch::on(&Watcher::default(), &Stop::default(), None);
        let mut deaths = Deaths::new(watch.waker()).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = u64::from(child.id());
        assert_eq!(deaths.watch(&BTreeSet::from([pid])), BTreeSet::new());
        assert_eq!(deaths.count(), 1);
        child.kill().unwrap();
        let woken = watch.wait(Some(Instant::now() + Duration::from_secs(30)));
        assert!(matches!(woken, Woken::By(_)), "{woken:?}");
        assert_eq!(deaths.take(), BTreeSet::from([pid]));
        child.wait().unwrap();
        // It is told once, as long as somebody takes it for one that runs.
        assert_eq!(deaths.watch(&BTreeSet::from([pid])), BTreeSet::from([pid]));
        assert_eq!((deaths.take(), deaths.count()), (BTreeSet::new(), 0));
        // One that has ended before somebody asks is told at once.
        deaths.watch(&BTreeSet::new());
        deaths.watch(&BTreeSet::from([pid]));
        assert_eq!((deaths.take(), deaths.count()), (BTreeSet::from([pid]), 0));
    }
}
