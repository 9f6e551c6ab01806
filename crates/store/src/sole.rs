//! One process of a kind for each state folder: the one that holds the lock. The system takes the lock back when its process
//! dies.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::paths::create_private_folders;

/// A process that was killed has the lock until the system has taken it back, which takes a moment on a busy machine.
const DYING: Duration = Duration::from_secs(2);
/// Those who ask for the holder share the lock for a moment, if there is none: they are not it, however long they take.
const PEEKING: Duration = Duration::from_secs(10);
/// How often it is tried.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The lock, for as long as it lives.
#[derive(Debug)]
pub struct Sole {
    file: File,
}

/// Who has the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Nobody: none runs.
    Nobody,
    /// A process; 0 if its number cannot be told yet.
    Process(u32),
}

impl Sole {
    /// Takes the lock that is the file at `path`. The inner error is the number of the process that has it.
    pub fn take(path: &Path) -> Result<Result<Self, u32>, StoreError> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = disk::open(&options, path).doing("open", path)?;
        let begun = Instant::now();
        loop {
            match disk::try_lock(&file) {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    // What can be shared belongs to no holder.
                    let is_shared = file.try_lock_shared().is_ok();
                    let _ = file.unlock();
                    if begun.elapsed() > if is_shared { PEEKING } else { DYING } {
                        return Ok(Err(pid_in(&mut file)));
                    }
                    thread::sleep(LOOK_EVERY);
                }
                Err(TryLockError::Error(cause)) => return Err(cause).doing("lock", path),
            }
        }
        disk::set_len(&file, 0).doing("write", path)?;
        write!(file, "{}", std::process::id()).doing("write", path)?;
        Ok(Ok(Self { file }))
    }

    /// Takes it for a moment, to change what belongs to it; who else does that is waited for.
    pub fn hold(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            create_private_folders(folder)?;
        }
        Self::take(path)?.map_err(|_| StoreError::Busy { lock: path.to_owned(), waited: DYING })
    }

    /// Whether the file still stands in its place: if it was removed, another process may take a new one.
    pub fn is_at(&self, path: &Path) -> bool {
        let identity = |found: io::Result<Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
        let there = identity(fs::metadata(path));
        there.is_some() && there == identity(self.file.metadata())
    }
}

impl Holder {
    /// Who has the lock at `path`, by the lock alone: also one that hangs.
    pub fn of(path: &Path) -> Self {
        let Ok(mut file) = disk::open_to_read(path) else { return Self::Nobody };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Self::Process(pid_in(&mut file)),
            Ok(()) | Err(TryLockError::Error(_)) => Self::Nobody,
        }
    }
}

fn pid_in(file: &mut File) -> u32 {
    let mut text = String::new();
    let read = file.read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn lock() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        (folder, path)
    }

    #[test]
    fn there_is_one_at_a_time() {
        let (_folder, path) = lock();
        assert_eq!(Holder::of(&path), Holder::Nobody);
        let held = Sole::take(&path).unwrap().unwrap();
        let ours = std::process::id();
        assert_eq!(Sole::take(&path).unwrap().unwrap_err(), ours);
        assert_eq!(Holder::of(&path), Holder::Process(ours));
        drop(held);
        assert_eq!(Holder::of(&path), Holder::Nobody);
        Sole::take(&path).unwrap().unwrap();
    }

    /// On a busy machine one that was killed, or one that asks, may have the lock for a while.
    #[test]
    fn who_holds_it_for_a_moment_longer_is_waited_for() {
        let (_folder, path) = lock();
        drop(Sole::take(&path).unwrap().unwrap());
        for (is_shared, wait) in [(false, DYING / 10), (true, DYING + DYING / 10)] {
            let other = File::open(&path).unwrap();
            if is_shared { other.lock_shared() } else { other.lock() }.unwrap();
            let leaving = thread::spawn(move || {
                thread::sleep(wait);
                drop(other);
            });
            assert!(Sole::take(&path).unwrap().is_ok(), "shared: {is_shared}");
            leaving.join().unwrap();
        }
    }

    #[test]
    fn who_asks_for_the_holder_is_not_taken_for_one() {
        let (_folder, path) = lock();
        drop(Sole::take(&path).unwrap().unwrap());
        let is_over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                        Holder::of(&path);
                    }
                });
            }
            let taken: Vec<bool> = (0..500).map(|_| Sole::take(&path).unwrap().is_ok()).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(taken.iter().all(|taken| *taken), "{taken:?}");
        });
    }
}
