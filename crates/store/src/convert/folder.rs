//! What a team's folder has to do with its layout.

use std::fs;
use std::io;
use std::time::Duration;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::sync_folder;
use crate::lock::LockTimes;
use crate::lock::flock::Flock;
use crate::lock::mkdir::{MkdirLock, Terms};
use crate::mailbox::Turn;
use crate::paths::State;
use crate::team::TeamFolder;

/// What Python tools lock all arrays of a team by.
const LOCK: &str = ".lock";

impl TeamFolder {
    /// Waits for the turn to change this team's layout.
    pub fn converting(&self, state: &State, times: LockTimes) -> Result<Turn, StoreError> {
        Turn::enter(&state.converters(self.config_file()), times)
    }

    /// Removes the folder of the arrays if nothing but their locks is in it. Says what else is there.
    pub fn drop_inboxes(&self, state: &State, times: LockTimes) -> Result<Vec<String>, StoreError> {
        let folder = self.path().join("inboxes");
        let names = || -> Result<Vec<String>, StoreError> {
            match fs::read_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
                entries => Ok(entries
                    .doing("list", &folder)?
                    .filter_map(Result::ok)
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .filter(|name| name != LOCK)
                    .collect()),
            }
        };
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let lock = folder.join(LOCK);
        let deadline = times.deadline();
        let _flock = Flock::take(&lock, &deadline)?;
        // Locks of the dead go when they are taken. One that somebody holds is waited for.
        let terms = Terms {
            deadline: &deadline,
            times: &times,
            ours_after: Duration::ZERO,
            quarantine: &state.quarantine(),
        };
        for name in names()?.iter().filter(|name| name.ends_with(".json.lock")) {
            MkdirLock::take(&folder.join(name), &terms)?;
        }
        let others = names()?;
        if !others.is_empty() {
            return Ok(others);
        }
        disk::remove_file(&lock).doing("remove", &lock)?;
        // Somebody who wrote there at this instant is not cut off: a folder with a file in it cannot be removed.
        match disk::remove_dir(&folder) {
            Ok(()) => sync_folder(self.path()).map(|()| Vec::new()),
            Err(_) => names(),
        }
    }
}
