//! Our own queue, one per shared file: `atm` processes wait for each other here, holding nobody else's lock.
//!
//! The queue's file doubles as a note: it holds the name of the temp file that its owner is preparing. Whoever
//! enters and finds a note knows that the one before died, and removes what that one left.

use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::Deadline;
use super::flock::Flock;
use crate::error::{IoContext, StoreError};
use crate::files::is_temp_of_ours;
use crate::paths::create_private_folders;

/// Our turn at one shared file; ends on drop.
#[derive(Debug)]
pub(crate) struct Queue {
    lock: Flock,
    path: PathBuf,
}

impl Queue {
    pub(crate) fn enter(path: &Path, deadline: &Deadline) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            create_private_folders(folder)?;
        }
        let queue = Self { lock: Flock::take(path, deadline)?, path: path.to_owned() };
        queue.clean_up_after_the_dead()?;
        Ok(queue)
    }

    /// Notes which temp file is about to be made. Not synced: after a power cut there may be a temp file too many,
    /// never a message too few.
    pub(crate) fn note(&self, temp: &Path) -> Result<(), StoreError> {
        self.clear()?;
        self.lock.file().write_all(temp.as_os_str().as_bytes()).doing("write", &self.path)
    }

    pub(crate) fn clear(&self) -> Result<(), StoreError> {
        let mut file = self.lock.file();
        file.set_len(0).and_then(|()| file.rewind()).doing("write", &self.path)
    }

    fn clean_up_after_the_dead(&self) -> Result<(), StoreError> {
        let mut note = Vec::new();
        self.lock.file().read_to_end(&mut note).doing("read", &self.path)?;
        if note.is_empty() {
            return Ok(());
        }
        let temp = PathBuf::from(std::ffi::OsString::from_vec(note));
        if is_temp_of_ours(&temp) {
            let _ = fs::remove_file(temp);
        }
        self.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockTimes;
    use crate::files::Staged;

    #[test]
    fn what_a_dead_owner_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue/bob");
        let enter = || Queue::enter(&path, &LockTimes::default().deadline()).unwrap();
        let left = Staged::name_for(&folder.path().join("bob.json"));
        let precious = folder.path().join("precious");
        for file in [&left, &precious] {
            fs::write(file, "x").unwrap();
            enter().note(file).unwrap();
            drop(enter());
        }
        assert!(!left.exists() && precious.exists());
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}
