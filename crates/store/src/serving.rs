//! The one bridge of a state folder: who holds the lock is it. The system takes the lock back when its process dies.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::paths::{State, create_private_folders};

/// A bridge that was killed has the lock until the system has taken it back, and those who ask for it share it for a moment.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The lock, for as long as it lives.
#[derive(Debug)]
pub struct Serving {
    _file: File,
}

impl Serving {
    /// Takes it; `None` if another process has it.
    pub fn take(state: &State) -> Result<Option<Self>, StoreError> {
        let folder = state.bridge();
        create_private_folders(&folder)?;
        let path = folder.join("lock");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = disk::open(&options, &path).doing("open", &path)?;
        let begun = Instant::now();
        loop {
            match disk::try_lock(&file) {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => return Ok(None),
                Err(TryLockError::WouldBlock) => thread::sleep(LOOK_EVERY),
                Err(TryLockError::Error(cause)) => return Err(cause).doing("lock", &path),
            }
        }
    }

    /// Whether a process has it.
    pub fn is_taken(state: &State) -> bool {
        let Ok(file) = disk::open_to_read(state.bridge().join("lock")) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

/// Wakes those who wait for what a bridge brings into the ledger: a ledger itself gives no event that a reader of it would
/// not cause, too. It is no promise, and not synced.
#[derive(Debug)]
pub struct Bell {
    folder: PathBuf,
}

impl Bell {
    /// The bell of a state folder.
    pub fn of(state: &State) -> Self {
        Self { folder: state.bridge().join("bell") }
    }

    /// The folder to watch, if a bridge ever rang.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.is_dir().then(|| self.folder.clone())
    }

    /// Something came.
    pub fn ring(&self) -> Result<(), StoreError> {
        create_private_folders(&self.folder)?;
        let (staged, _) = Staged::begin_beside(&self.folder.join("rung"))?;
        staged.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        assert!(!Serving::is_taken(&state));
        let first = Serving::take(&state).unwrap().unwrap();
        assert!(Serving::is_taken(&state));
        assert!(Serving::take(&state).unwrap().is_none());
        drop(first);
        assert!(!Serving::is_taken(&state));
        assert!(Serving::take(&state).unwrap().is_some());
    }
}
