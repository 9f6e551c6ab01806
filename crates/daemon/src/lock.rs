//! One daemon for each state folder: who holds the lock is it. The system takes the lock back when its process dies.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::{Duration, Instant};

use atm_store::State;

use crate::error::{DaemonError, Doing};

/// A daemon that was killed has the lock until the system has taken it back, which takes a moment on a busy machine.
const DYING: Duration = Duration::from_secs(2);
/// Those who ask for the holder share the lock for a moment, if there is none: they are no daemon, however long they take.
const PEEKING: Duration = Duration::from_secs(10);
/// How often it is tried.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The lock, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

/// Who has the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Nobody: no daemon runs.
    Nobody,
    /// A daemon; 0 if its number cannot be told yet.
    Process(u32),
}

impl Lock {
    /// Takes it; an error that names the holder if there is one.
    pub(crate) fn take(state: &State) -> Result<Self, DaemonError> {
        let path = state.daemon_lock()?;
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .doing("open", &path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    // What can be shared belongs to no daemon.
                    let is_shared = file.try_lock_shared().is_ok();
                    let _ = file.unlock();
                    if begun.elapsed() > if is_shared { PEEKING } else { DYING } {
                        return Err(DaemonError::Runs { pid: pid_in(&mut file) });
                    }
                    thread::sleep(LOOK_EVERY);
                }
                Err(TryLockError::Error(cause)) => return Err(cause).doing("lock", &path),
            }
        }
        file.set_len(0).doing("write", &path)?;
        write!(file, "{}", std::process::id()).doing("write", &path)?;
        Ok(Self { file })
    }

    /// Whether the file still stands in its place: if it was removed, another daemon may take a new one.
    pub(crate) fn is_there(&self, state: &State) -> bool {
        let identity = |found: std::io::Result<Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let there = identity(fs::metadata(state.daemon().join("lock")));
        there.is_some() && there == identity(self.file.metadata())
    }
}

/// Who runs, by the lock alone: also of one that hangs.
pub fn holder(state: &State) -> Holder {
    let path = state.daemon().join("lock");
    let Ok(mut file) = File::open(path) else { return Holder::Nobody };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Holder::Process(pid_in(&mut file)),
        Ok(()) | Err(TryLockError::Error(_)) => Holder::Nobody,
    }
}

fn pid_in(file: &mut File) -> u32 {
    let mut text = String::new();
    let read = file.read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        assert_eq!(holder(&state), Holder::Nobody);
        let lock = Lock::take(&state).unwrap();
        let ours = std::process::id();
        assert!(matches!(Lock::take(&state), Err(DaemonError::Runs { pid }) if pid == ours));
        assert_eq!(holder(&state), Holder::Process(ours));
        drop(lock);
        assert_eq!(holder(&state), Holder::Nobody);
        Lock::take(&state).unwrap();
    }

    /// Another handle of the lock's file.
    fn handle(state: &State) -> File {
        File::open(state.daemon().join("lock")).unwrap()
    }

    /// On a busy machine one that was killed, or one that asks, may have the lock for a while.
    #[test]
    fn who_holds_it_for_a_moment_longer_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        drop(Lock::take(&state).unwrap());
        for (is_shared, wait) in [(false, DYING / 10), (true, DYING + DYING / 10)] {
            let other = handle(&state);
            if is_shared { other.lock_shared() } else { other.lock() }.unwrap();
            let leaving = thread::spawn(move || {
                thread::sleep(wait);
                drop(other);
            });
            assert!(Lock::take(&state).is_ok(), "shared: {is_shared}");
            leaving.join().unwrap();
        }
    }

    #[test]
    fn who_asks_for_the_holder_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        drop(Lock::take(&state).unwrap());
        let is_over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        holder(&state);
                    }
                });
            }
            let taken: Vec<bool> = (0..500).map(|_| Lock::take(&state).is_ok()).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(taken.iter().all(|taken| *taken), "{taken:?}");
        });
    }
}
