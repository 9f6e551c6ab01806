//! Mending shared files: every change goes through the file's locks, and into the [journal](crate::journal) first.

mod lines;
mod undo;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use atm_wire::Stamp;

use crate::commit::{Content, Look, Plan, SharedFile};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::sync_folder;
use crate::journal::{Change, Entry, Journal, Locks, Version, modified};
use crate::lock::LockTimes;
use crate::lock::flock;
use crate::paths::{State, with_suffix};

pub use undo::{UndoError, Undone};

/// What is to become of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cure {
    /// It is well.
    Leave,
    /// Somebody may be in the middle of writing it: look again under the locks.
    LookAgain,
    /// It gets these bytes.
    Write(Vec<u8>),
}

/// One mending under way. What it has changed when it is dropped unfinished can be undone all the same.
#[derive(Debug)]
pub struct Mending {
    state: State,
    times: LockTimes,
    journal: Journal,
    entry: Entry,
}

impl Mending {
    /// Begins one; `code` and `what` are for the journal.
    pub fn begin(
        state: &State,
        times: LockTimes,
        code: &str,
        what: &str,
        now: Stamp,
    ) -> Result<Self, StoreError> {
        let journal = state.journal();
        let entry = journal.begin(code, what, now)?;
        Ok(Self { state: state.clone(), times, journal, entry })
    }

    /// The file at `path` with its locks.
    fn shared(&self, path: &Path, locks: Locks) -> SharedFile {
        let file = SharedFile::new(path.to_owned(), &self.state, self.times);
        match locks {
            Locks::Inbox => {
                let folder = path.parent().unwrap_or(Path::new(""));
                file.with_flock(folder.join(".lock")).with_directory_lock()
            }
            Locks::Directory => file.with_directory_lock().versioned(),
            Locks::Log => file.with_flock(with_suffix(path, ".lock")),
            Locks::Queue => file,
        }
    }

    /// Puts a new version of a file in its place, if `cure` has one for what is there. Says whether it had.
    pub fn rewrite(
        &mut self,
        path: &Path,
        locks: Locks,
        mut cure: impl FnMut(Option<&[u8]>, bool) -> Result<Cure, StoreError>,
    ) -> Result<bool, StoreError> {
        let shared = self.shared(path, locks);
        let written = shared.update(|look| {
            let before = bytes_of(look);
            Ok(match cure(before, look.sure)? {
                Cure::LookAgain if !look.sure => Plan::Unsure,
                Cure::Leave | Cure::LookAgain => Plan::Keep(false),
                Cure::Write(after) => {
                    shared.refuse_newer(look.content)?;
                    self.note(path, locks, before, Some(&after))?;
                    Plan::Restore(after, true)
                }
            })
        })?;
        if !written {
            // An earlier look may have had a cure for what is not there any more.
            self.entry.changes.retain(|change| change.path != path);
        }
        Ok(written)
    }

    /// Removes a file, if `is_it` says so of what is there. Says whether it did.
    pub fn remove(
        &mut self,
        path: &Path,
        locks: Locks,
        is_it: impl FnOnce(&[u8]) -> bool,
    ) -> Result<bool, StoreError> {
        let shared = self.shared(path, locks);
        shared.remove(|look| {
            let Some(before) = bytes_of(look).filter(|bytes| is_it(bytes)) else { return Ok((false, false)) };
            self.note(path, locks, Some(before), None)?;
            Ok((true, true))
        })
    }

    /// Removes a file that nobody may have open or locked: a leftover, or one that stands in a lock's place.
    pub fn remove_leftover(&mut self, path: &Path) -> Result<bool, StoreError> {
        let bytes = match disk::read(path) {
            Ok(bytes) if !flock::is_held(path) => bytes,
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).doing("read", path),
        };
        self.note(path, Locks::Queue, Some(&bytes), None)?;
        disk::remove_file(path).doing("remove", path)?;
        sync_folder(path.parent().unwrap_or(Path::new("/")))?;
        Ok(true)
    }

    /// Removes an empty folder, such as a stale lock.
    pub fn remove_folder(&mut self, path: &Path) -> Result<bool, StoreError> {
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(false) };
        let before = Version::Folder { mode: found.mode() & 0o7777, modified: modified(&found) };
        self.push(path, Locks::Queue, before, Version::Absent)?;
        match disk::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                let why = "it is a folder with files in it; move it away if no program uses it".to_owned();
                Err(StoreError::LockBlocked { lock: path.to_owned(), why })
            }
            removed => removed.doing("remove", path).map(|()| true),
        }
    }

    /// Changes a mode.
    pub fn set_mode(&mut self, path: &Path, mode: u32) -> Result<bool, StoreError> {
        let found = fs::metadata(path).doing("look at", path)?;
        let before = found.mode() & 0o7777;
        if before == mode {
            return Ok(false);
        }
        self.push(path, Locks::Queue, Version::Mode { mode: before }, Version::Mode { mode })?;
        disk::set_permissions(path, Permissions::from_mode(mode)).doing("set the mode of", path)?;
        Ok(true)
    }

    /// Keeps bytes in quarantine as well, where people look for what was taken out of a file.
    pub fn set_aside(&self, path: &Path, bytes: &[u8], why: &str) -> Result<(), StoreError> {
        self.state.quarantine().keep(path, bytes, why).map(drop)
    }

    /// Ends it; says under which id it can be undone. One that changed nothing leaves nothing.
    pub fn finish(mut self) -> Result<Option<String>, StoreError> {
        if self.entry.changes.is_empty() {
            self.journal.forget(&self.entry);
            return Ok(None);
        }
        self.entry.done = true;
        self.journal.write(&self.entry)?;
        Ok(Some(self.entry.id))
    }

    /// Notes what a file was and will be, its bytes kept.
    fn note(
        &mut self,
        path: &Path,
        locks: Locks,
        before: Option<&[u8]>,
        after: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let found = fs::symlink_metadata(path).ok();
        let before = match before {
            None => Version::Absent,
            Some(bytes) => {
                let kept = self.journal.keep(&self.entry, self.number_of(path), bytes)?;
                Version::file(bytes, found.as_ref(), Some(kept))
            }
        };
        let after = after.map_or(Version::Absent, |bytes| Version::file(bytes, found.as_ref(), None));
        self.push(path, locks, before, after)
    }

    fn number_of(&self, path: &Path) -> usize {
        self.entry.changes.iter().position(|change| change.path == path).unwrap_or(self.entry.changes.len())
    }

    /// Puts a change into the entry, in place of an earlier look at the same file, and writes it.
    fn push(&mut self, path: &Path, locks: Locks, before: Version, after: Version) -> Result<(), StoreError> {
        let change = Change { path: path.to_owned(), locks, before, after };
        let number = self.number_of(path);
        match self.entry.changes.get_mut(number) {
            Some(old) => *old = change,
            None => self.entry.changes.push(change),
        }
        self.journal.write(&self.entry)
    }
}

fn bytes_of(look: Look<'_>) -> Option<&[u8]> {
    match look.content {
        Content::Missing => None,
        Content::Text(text) => Some(text.as_bytes()),
        Content::NotUtf8(bytes) => Some(bytes),
    }
}
