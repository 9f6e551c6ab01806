//! Undoing a mending: the same bytes again, unless somebody has changed the file since.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use atm_wire::Stamp;

use super::{Cure, Mending};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::journal::{Change, Entry, Version, digest};
use crate::lock::LockTimes;
use crate::lock::flock::Flock;
use crate::paths::{State, with_suffix};

/// Why a mending was not undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// There is none of that id.
    #[error("there is nothing in the journal called {id:?}")]
    NoEntry {
        /// What was asked for.
        id: String,
    },
    /// There is nothing that could be undone.
    #[error("there is nothing to undo")]
    Nothing,
    /// It was undone already.
    #[error("{id} was undone already, at {at}")]
    Already {
        /// Which.
        id: String,
        /// When.
        at: Stamp,
    },
    /// Somebody has changed a file since.
    #[error("{} was changed since it was mended", path.display())]
    Changed {
        /// Which.
        path: PathBuf,
    },
    /// The files.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was undone.
#[derive(Debug, Clone)]
pub struct Undone {
    /// The entry.
    pub entry: Entry,
    /// Under which id this itself can be undone.
    pub by: Option<String>,
}

impl Mending {
    /// Undoes the entry `id`, or the last one that was not. With `force`, also over what was changed since, which the
    /// journal then keeps.
    pub fn undo(
        state: &State,
        times: LockTimes,
        id: Option<&str>,
        force: bool,
        now: Stamp,
    ) -> Result<Undone, UndoError> {
        let journal = state.journal();
        let mut entries = journal.entries();
        let at = match id {
            Some(id) => entries
                .iter()
                .position(|entry| entry.id == id)
                .ok_or(UndoError::NoEntry { id: id.to_owned() })?,
            None => entries
                .iter()
                .rposition(|entry| entry.undone_at.is_none() && entry.undo_of.is_none())
                .ok_or(UndoError::Nothing)?,
        };
        let mut entry = entries.swap_remove(at);
        if let Some(at) = entry.undone_at {
            return Err(UndoError::Already { id: entry.id, at });
        }
        if !force {
            // All or nothing: look at every file before the first is touched.
            for change in &entry.changes {
                if judge(change)? == Standing::Changed {
                    return Err(UndoError::Changed { path: change.path.clone() });
                }
            }
        }
        let mut mending = Self::begin(state, times, &entry.code, &format!("undo: {}", entry.what), now)?;
        mending.entry.undo_of = Some(entry.id.clone());
        for change in entry.changes.iter().rev() {
            mending.put_back(&entry, change, force)?;
        }
        let by = mending.finish()?;
        entry.undone_at = Some(now);
        journal.write(&entry)?;
        Ok(Undone { entry, by })
    }

    fn put_back(&mut self, entry: &Entry, change: &Change, force: bool) -> Result<(), UndoError> {
        let path = &change.path;
        match (&change.before, &change.after) {
            (Version::Absent, Version::Folder { .. }) => {
                self.remove_folder(path)?;
            }
            (Version::Absent, _) => {
                let after = match &change.after {
                    Version::File { digest, .. } => Some(digest.clone()),
                    _ => None,
                };
                if path.exists() {
                    self.remove(path, change.locks, |bytes| force || Some(digest(bytes)) == after)?;
                }
            }
            (Version::File { digest: was, mode, modified, .. }, after) => {
                let kept = self.journal.kept(entry, change.before.kept().unwrap_or_default())?;
                let expected = match after {
                    Version::File { digest, .. } => Some(digest.clone()),
                    _ => None,
                };
                let mut changed = false;
                self.rewrite(path, change.locks, |bytes, _| {
                    let found = bytes.map(digest);
                    changed = found != expected && found.as_ref() != Some(was);
                    let leave = found.as_ref() == Some(was) || (changed && !force);
                    Ok(if leave { Cure::Leave } else { Cure::Write(kept.clone()) })
                })?;
                if changed && !force {
                    return Err(UndoError::Changed { path: path.clone() });
                }
                restore_looks(path, *mode, (*after == Version::Absent).then_some(*modified))?;
            }
            (Version::Folder { mode, modified }, _) => match disk::create_dir(*mode, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    made.doing("create", path)?;
                    self.push(path, change.locks, Version::Absent, change.before.clone())?;
                    restore_looks(path, *mode, Some(*modified))?;
                }
            },
            (Version::Span { at, .. }, _) => self.put_span_back(entry, change, *at, force)?,
            (Version::Mode { mode }, _) => {
                self.set_mode(path, *mode)?;
            }
        }
        Ok(())
    }

    fn put_span_back(
        &mut self,
        entry: &Entry,
        change: &Change,
        at: u64,
        force: bool,
    ) -> Result<(), UndoError> {
        let path = &change.path;
        let kept = self.journal.kept(entry, change.before.kept().unwrap_or_default())?;
        let _flock = Flock::take(&with_suffix(path, ".lock"), &self.times.deadline())?;
        match judge(change)? {
            Standing::AsBefore => return Ok(()),
            Standing::Changed if !force => return Err(UndoError::Changed { path: path.clone() }),
            Standing::Changed | Standing::AsAfter => {}
        }
        let there = span_of(path, at, kept.len())?.unwrap_or_default();
        if there.len() != kept.len() {
            return Err(UndoError::Changed { path: path.clone() });
        }
        let number = self.entry.changes.len();
        let name = self.journal.keep(&self.entry, number, &there)?;
        self.entry.changes.push(Change {
            path: path.clone(),
            locks: change.locks,
            before: Version::Span { at, digest: digest(&there), kept: Some(name) },
            after: Version::Span { at, digest: digest(&kept), kept: None },
        });
        self.journal.write(&self.entry)?;
        let target = self.state.bounds().resolve(path)?;
        let file = disk::open(OpenOptions::new().write(true), &target).doing("open", path)?;
        disk::write_all_at(&file, &kept, at).and_then(|()| disk::sync_data(&file)).doing("write to", path)?;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    AsBefore,
    AsAfter,
    Changed,
}

/// How a path stands to a change.
fn judge(change: &Change) -> Result<Standing, StoreError> {
    let is_before = is(&change.path, &change.before)?;
    let is_after = is(&change.path, &change.after)?;
    Ok(match (is_after, is_before) {
        (true, _) => Standing::AsAfter,
        (false, true) => Standing::AsBefore,
        (false, false) => Standing::Changed,
    })
}

/// Whether a path is that version.
fn is(path: &Path, version: &Version) -> Result<bool, StoreError> {
    let found = fs::symlink_metadata(path).ok();
    Ok(match (version, found) {
        (Version::Absent, found) => found.is_none(),
        (Version::Folder { .. }, found) => found.is_some_and(|found| found.is_dir()),
        (Version::Mode { mode }, Some(found)) => found.mode() & 0o7777 == *mode,
        (Version::File { digest: wanted, .. }, Some(found)) if !found.is_dir() => {
            digest(&disk::read(path).doing("read", path)?) == *wanted
        }
        (Version::Span { at, digest: wanted, .. }, Some(found)) if found.is_file() => {
            // A line: up to its newline, which is not part of the span.
            line_at(path, *at)?.is_some_and(|line| digest(&line) == *wanted)
        }
        _ => false,
    })
}

fn line_at(path: &Path, at: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = disk::read(path).doing("read", path)?;
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let Some(rest) = bytes.get(start..) else { return Ok(None) };
    Ok(memchr::memchr(b'\n', rest).map(|end| rest[..end].to_vec()))
}

fn span_of(path: &Path, at: u64, length: usize) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(line_at(path, at)?.filter(|line| line.len() == length))
}

/// Mode, and the time where a file was gone altogether: how old it is, is what locks and leftovers are judged by.
fn restore_looks(path: &Path, mode: u32, modified: Option<i64>) -> Result<(), StoreError> {
    let found = fs::metadata(path).doing("look at", path)?;
    if found.mode() & 0o7777 != mode {
        disk::set_permissions(path, Permissions::from_mode(mode)).doing("set the mode of", path)?;
    }
    if let Some(time) = modified.and_then(|nanos| u64::try_from(nanos).ok()) {
        let time = UNIX_EPOCH + Duration::from_nanos(time);
        disk::open_to_read(path)
            .and_then(|file| disk::set_modified(&file, time))
            .doing("set the time of", path)?;
    }
    Ok(())
}
