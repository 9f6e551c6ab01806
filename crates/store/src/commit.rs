//! Changing a shared file beside everybody else who does.
//!
//! 1. Our own queue for that file.
//! 2. Read, plan the change, write and sync the temp file: under no foreign lock.
//! 3. The foreign locks: `flock` first (its holders can be slow), then the clients' directory lock.
//! 4. Is the file still what we read? Then rename. If not, once more from 2; if it changed again, the whole of 2
//!    happens inside the locks.
//! 5. Release, sync the folder.
//!
//! So a client's lock is held for a comparison and a rename, however big the file is.

use std::path::{Path, PathBuf};

use atm_wire::json::Patch;

use crate::error::StoreError;
use crate::files::{Snapshot, Staged, resolve, sync_folder};
use crate::lock::flock::Flock;
use crate::lock::mkdir::{MkdirLock, Terms};
use crate::lock::queue::Queue;
use crate::lock::{Deadline, LockTimes};
use crate::paths::{State, with_suffix};
use crate::quarantine::Quarantine;

/// Looks before the whole change is made inside the locks.
const OPTIMISTIC_TRIES: usize = 2;
/// Tries inside the locks; only a writer without any lock can make one fail.
const LOCKED_TRIES: usize = 20;
/// From this size on, a young file is looked at again before the locks instead of inside them.
const LARGE: usize = 1 << 16;

/// A file that other programs write too, with the locks that they take.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    /// The file as everybody names it: locks are named after this.
    path: PathBuf,
    queue: PathBuf,
    flock: Option<PathBuf>,
    mkdir: Option<PathBuf>,
    quarantine: Quarantine,
    times: LockTimes,
}

/// What a planner sees of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) content: Content<'a>,
    /// Read under the locks: what looks torn now is torn.
    pub(crate) sure: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    Missing,
    Text(&'a str),
    NotUtf8(&'a [u8]),
}

/// What a planner wants done.
pub(crate) enum Plan<T> {
    /// Nothing to write.
    Keep(T),
    /// Change the text that was looked at.
    Patch(Patch, T),
    /// Put a new text in its place.
    Replace(String, T),
    /// This may be somebody's half-written file: look again under the locks.
    Unsure,
}

struct Held {
    _mkdir: Option<MkdirLock>,
    _flock: Option<Flock>,
}

impl SharedFile {
    pub(crate) fn new(path: PathBuf, state: &State, times: LockTimes) -> Self {
        let queue = state.queue(&path);
        Self { path, queue, flock: None, mkdir: None, quarantine: state.quarantine(), times }
    }

    /// Agent clients lock this file by a directory beside it.
    pub(crate) fn with_directory_lock(mut self) -> Self {
        self.mkdir = Some(with_suffix(&self.path, ".lock"));
        self
    }

    /// Others lock this file by an `flock` on `lock`.
    pub(crate) fn with_flock(mut self, lock: PathBuf) -> Self {
        self.flock = Some(lock);
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Plans a change on what the file holds and carries it out, durably. The planner may be called several times;
    /// the last call is the one that counts.
    pub(crate) fn update<T>(
        &self,
        mut planner: impl FnMut(Look) -> Result<Plan<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = self.times.deadline();
        let queue = Queue::enter(&self.queue, &deadline)?;
        let target = resolve(&self.path)?;
        for _ in 0..OPTIMISTIC_TRIES {
            let mut seen = Snapshot::read(&target)?;
            let (staged, value) = match self.stage(&queue, &target, &seen, false, &mut planner)? {
                Step::Done(value) => return Ok(value),
                Step::LookAgain => break,
                Step::Staged(staged, value) => (staged, value),
            };
            if seen.bytes().is_some_and(|bytes| bytes.len() >= LARGE) {
                seen.settle(&target)?;
            }
            let held = self.lock(&deadline)?;
            if seen.is_current(&target)? {
                finish(&queue, &target, staged, held)?;
                return Ok(value);
            }
        }
        let held = self.lock(&deadline)?;
        for _ in 0..LOCKED_TRIES {
            let seen = Snapshot::read(&target)?;
            match self.stage(&queue, &target, &seen, true, &mut planner)? {
                Step::Done(value) => return Ok(value),
                Step::Staged(staged, value) if seen.is_current(&target)? => {
                    finish(&queue, &target, staged, held)?;
                    return Ok(value);
                }
                Step::Staged(..) | Step::LookAgain => {}
            }
        }
        Err(StoreError::Unsettled { path: self.path.clone() })
    }

    fn stage<T>(
        &self,
        queue: &Queue,
        target: &Path,
        seen: &Snapshot,
        sure: bool,
        planner: &mut impl FnMut(Look) -> Result<Plan<T>, StoreError>,
    ) -> Result<Step<T>, StoreError> {
        let content = match seen.bytes().map(|bytes| (bytes, std::str::from_utf8(bytes))) {
            None => Content::Missing,
            Some((_, Ok(text))) => Content::Text(text),
            Some((bytes, Err(_))) => Content::NotUtf8(bytes),
        };
        let write = |pieces: &[&str]| {
            let temp = Staged::name_for(target);
            queue.note(&temp)?;
            Staged::write(temp, target, seen, pieces)
        };
        Ok(match planner(Look { content, sure })? {
            Plan::Keep(value) => Step::Done(value),
            Plan::Unsure => Step::LookAgain,
            Plan::Replace(text, value) => Step::Staged(write(&[&text])?, value),
            Plan::Patch(mut patch, value) => {
                let Content::Text(text) = content else {
                    return Err(StoreError::bad(&self.path, "is not a text that can be changed"));
                };
                Step::Staged(write(&patch.pieces(text))?, value)
            }
        })
    }

    fn lock(&self, deadline: &Deadline) -> Result<Held, StoreError> {
        let flock = self.flock.as_deref().map(|path| Flock::take(path, deadline)).transpose()?;
        let terms = Terms {
            deadline,
            times: &self.times,
            sole: flock.as_ref().is_some_and(Flock::is_real),
            quarantine: &self.quarantine,
        };
        let mkdir = self.mkdir.as_deref().map(|path| MkdirLock::take(path, &terms)).transpose()?;
        Ok(Held { _mkdir: mkdir, _flock: flock })
    }
}

/// Rename, release, sync of the folder.
fn finish(queue: &Queue, target: &Path, staged: Staged, held: Held) -> Result<(), StoreError> {
    staged.commit()?;
    drop(held);
    sync_folder(target.parent().unwrap_or(Path::new("/")))?;
    queue.clear()
}

enum Step<T> {
    Done(T),
    LookAgain,
    Staged(Staged, T),
}
