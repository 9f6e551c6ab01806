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

mod copy;
mod plan;
mod remove;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use atm_wire::migrate;

use crate::error::StoreError;
use crate::files::{Bounds, Snapshot, Staged, in_real_folder, sync_folder};
use crate::interrupt;
use crate::lock::flock::Flock;
use crate::lock::mkdir::{MkdirLock, Terms};
use crate::lock::queue::Queue;
use crate::lock::{Deadline, LockTimes};
use crate::paths::{State, with_suffix};
use crate::points;
use crate::quarantine::Quarantine;

pub(crate) use plan::{Content, Look, Plan};

/// Looks before the whole change is made inside the locks.
const OPTIMISTIC_TRIES: usize = 2;
/// Tries inside the locks; only a writer without any lock can make one fail.
const LOCKED_TRIES: usize = 20;

/// How long a lock of our own kind is watched, where no `flock` tells that its owner is dead.
const OURS_AFTER: Duration = Duration::from_secs(1);

/// A file that other programs write too, with the locks that they take.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    /// The file as everybody names it: locks are named after this.
    path: PathBuf,
    /// The file whose queue is ours; its place is found when it is first entered, as reading needs none.
    queue_of: PathBuf,
    queue: OnceLock<PathBuf>,
    state: State,
    flock: Option<PathBuf>,
    mkdir: Option<PathBuf>,
    follows_links: bool,
    /// It says the version of its format, and one that we do not know is not ours to write.
    is_versioned: bool,
    quarantine: Quarantine,
    bounds: Bounds,
    times: LockTimes,
}

/// A new version and the one that it was made from.
pub(crate) struct Prepared<T> {
    pub(crate) staged: Staged,
    pub(crate) seen: Snapshot,
    pub(crate) value: T,
    /// The messages that it adds, for our successor in the queue should we die in the middle.
    pub(crate) ids: Vec<String>,
}

/// A change that was not made.
pub(crate) struct Unwritten<'a> {
    pub(crate) error: &'a StoreError,
    /// The messages that a dead process had put in place without telling anybody: perhaps ours among them.
    pub(crate) left: Vec<String>,
}

/// What came of preparing a new version.
pub(crate) enum Step<T> {
    /// There is nothing to commit.
    Done(T),
    /// Only a look under the locks can tell.
    LookAgain,
    /// It waits for its commit.
    Ready(Box<Prepared<T>>),
}

/// Where a new version is prepared.
pub(crate) struct Desk<'a> {
    /// The real file.
    pub(crate) target: &'a Path,
    /// Prepared under the locks: what looks torn now is torn.
    pub(crate) sure: bool,
    file: &'a SharedFile,
    queue: &'a Queue,
}

impl Desk<'_> {
    /// A name for the temp file, noted so that it is removed should we die. It is the same at every turn: where the note
    /// is lost, the next one finds the old file in its way and removes it.
    pub(crate) fn temp(&self) -> PathBuf {
        let temp = if self.queue.is_exclusive() {
            Staged::name_in(self.target, self.file.queue())
        } else {
            Staged::name_for(self.target)
        };
        self.queue.note(&temp);
        temp
    }

    /// Where we may keep what we know of the file.
    pub(crate) fn note_about(&self, what: &str) -> PathBuf {
        self.queue.file_beside(what)
    }

    /// The messages that a dead process had put in place without telling anybody.
    pub(crate) fn left(&self) -> Vec<String> {
        self.queue.left()
    }

    /// Somebody knows of them now.
    pub(crate) fn left_is_told(&self) {
        self.queue.left_is_told();
    }

    /// Prepares a new version from a look at the whole file in memory.
    pub(crate) fn plan<T>(
        &self,
        planner: &mut impl FnMut(Look) -> Result<Plan<T>, StoreError>,
    ) -> Result<Step<T>, StoreError> {
        let seen = Snapshot::read(self.target)?;
        let content = Content::of(&seen);
        let write = |pieces: &[&str]| Staged::write(self.temp(), self.target, seen.metadata(), pieces);
        let plan = planner(Look { content, sure: self.sure })?;
        if !matches!(plan, Plan::Keep(_) | Plan::Unsure) {
            self.file.refuse_newer(content)?;
        }
        let (staged, value) = match (plan, content) {
            (Plan::Keep(value), _) => return Ok(Step::Done(value)),
            (Plan::Unsure, _) => return Ok(Step::LookAgain),
            (Plan::Replace(text, value), _) => (write(&[&text])?, value),
            (Plan::Restore(bytes, value), _) => {
                (Staged::write(self.temp(), self.target, seen.metadata(), &[bytes])?, value)
            }
            (Plan::Patch(mut patch, value), Content::Text(text)) => (write(&patch.pieces(text))?, value),
            (Plan::Patch(..), _) => {
                return Err(StoreError::bad(self.target, "is not a text that can be changed"));
            }
        };
        Ok(Step::Ready(Box::new(Prepared { staged, seen, value, ids: Vec::new() })))
    }
}

struct Held {
    mkdir: Option<MkdirLock>,
    _flock: Option<Flock>,
}

impl Held {
    fn is_still_ours(&self) -> bool {
        self.mkdir.as_ref().is_none_or(MkdirLock::is_still_ours)
    }
}

impl SharedFile {
    pub(crate) fn new(path: PathBuf, state: &State, times: LockTimes) -> Self {
        let (quarantine, bounds) = (state.quarantine(), state.bounds().clone());
        let (flock, mkdir, follows_links, is_versioned) = (None, None, true, false);
        let (queue_of, queue, state) = (path.clone(), OnceLock::new(), state.clone());
        Self {
            path,
            queue_of,
            queue,
            state,
            flock,
            mkdir,
            follows_links,
            is_versioned,
            quarantine,
            bounds,
            times,
        }
    }

    /// Agent clients lock this file by a directory beside it.
    pub(crate) fn with_directory_lock(self) -> Self {
        let lock = with_suffix(&self.path, ".lock");
        self.with_directory(lock)
    }

    /// Agent clients lock this file by the directory `lock`.
    pub(crate) fn with_directory(mut self, lock: PathBuf) -> Self {
        self.mkdir = Some(lock);
        self
    }

    /// It says the version of its format.
    pub(crate) fn versioned(mut self) -> Self {
        self.is_versioned = true;
        self
    }

    /// Whether it may be written: one of a later generation of its format than we know may not.
    pub(crate) fn refuse_newer(&self, content: Content) -> Result<(), StoreError> {
        let version = match content {
            Content::Text(text) if self.is_versioned => migrate::newer(text),
            _ => None,
        };
        version.map_or(Ok(()), |version| Err(StoreError::Newer { path: self.path.clone(), version }))
    }

    /// In the queue of another file, so that the next process in that queue removes what we leave if we die.
    pub(crate) fn in_queue_of(mut self, path: &Path, state: &State) -> Self {
        (self.queue_of, self.queue, self.state) = (path.to_owned(), OnceLock::new(), state.clone());
        self
    }

    fn queue(&self) -> &Path {
        self.queue.get_or_init(|| self.state.queue(&self.queue_of))
    }

    /// A link in its place is replaced, not followed.
    pub(crate) fn without_links(mut self) -> Self {
        self.follows_links = false;
        self
    }

    /// Others lock this file by an `flock` on `lock`.
    pub(crate) fn with_flock(mut self, lock: PathBuf) -> Self {
        self.flock = Some(lock);
        self
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Keeps a copy of content that does not parse and is going to be replaced; says where. What a link leads
    /// to may be any other file of the user's: that is an error, unless it is empty.
    pub(crate) fn set_aside(&self, bytes: &[u8], slug: &str, why: &str) -> Result<PathBuf, StoreError> {
        if self.follows_links && self.path.is_symlink() && !bytes.trim_ascii().is_empty() {
            return Err(StoreError::bad(&self.path, format!("is a link, and what it leads to {why}")));
        }
        self.quarantine.keep(&self.path, bytes, slug)
    }

    /// Plans a change on what the file holds and carries it out, durably. The planner may be called several times;
    /// the last call is the one that counts.
    pub(crate) fn update<T>(
        &self,
        mut planner: impl FnMut(Look) -> Result<Plan<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let (value, unsynced) = self.commit(|desk| desk.plan(&mut planner), |_| true)?;
        unsynced.map_or(Ok(value), Err)
    }

    /// Prepares a new version, in whatever way, and puts it in place, durably.
    ///
    /// `conclude` gets the outcome before the queue is left, so that nobody else can be at work on this file, and answers
    /// whether everybody who has to know of it knows. If not, the note stays, and the next writer finds in it what we put
    /// in place. An error from entering the queue is not concluded: then somebody else may be writing on our behalf.
    ///
    /// The second value is an error of syncing the folder: the new version is in its place, and a power cut could undo it.
    pub(crate) fn commit<T>(
        &self,
        mut prepare: impl FnMut(&Desk) -> Result<Step<T>, StoreError>,
        conclude: impl FnOnce(Result<&T, Unwritten>) -> bool,
    ) -> Result<(T, Option<StoreError>), StoreError> {
        let deadline = self.times.deadline();
        let queue = Queue::enter(self.queue(), &deadline)?;
        match self.commit_in(&queue, &deadline, &mut prepare) {
            Ok((value, unsynced)) => {
                if conclude(Ok(&value)) {
                    points::reached("recorded");
                    queue.clear();
                }
                Ok((value, unsynced))
            }
            Err(error) => {
                conclude(Err(Unwritten { error: &error, left: queue.left() }));
                queue.give_up();
                Err(error)
            }
        }
    }

    /// Enters the queue without waiting for it and lets `work` happen there, while nobody writes the file. `None` where
    /// somebody is in the queue.
    pub(crate) fn if_idle<T>(&self, work: impl FnOnce(&Queue) -> T) -> Result<Option<T>, StoreError> {
        Ok(Queue::try_enter(self.queue())?.map(|queue| work(&queue)))
    }

    fn commit_in<T>(
        &self,
        queue: &Queue,
        deadline: &Deadline,
        prepare: &mut impl FnMut(&Desk) -> Result<Step<T>, StoreError>,
    ) -> Result<(T, Option<StoreError>), StoreError> {
        let target =
            if self.follows_links { self.bounds.resolve(&self.path)? } else { in_real_folder(&self.path)? };
        if queue.follows_a_death() {
            // Taking the locks clears what the dead one held; a client would have to wait ten seconds for it.
            drop(self.lock(deadline)?);
        }
        points::reached("queued");
        let mut desk = Desk { target: &target, sure: false, file: self, queue };
        for _ in 0..OPTIMISTIC_TRIES {
            let mut prepared = match prepare(&desk)? {
                Step::Done(value) => return Ok((value, None)),
                Step::LookAgain => break,
                Step::Ready(prepared) => prepared,
            };
            points::reached("staged");
            prepared.seen.settle(&target)?;
            let held = self.lock(deadline)?;
            points::reached("locked");
            if held.is_still_ours() && prepared.seen.is_current(&target)? {
                return finish(&desk, *prepared, held);
            }
        }
        let mut held = self.lock(deadline)?;
        desk.sure = true;
        for _ in 0..LOCKED_TRIES {
            match prepare(&desk)? {
                Step::Done(value) => return Ok((value, None)),
                Step::Ready(prepared) if held.is_still_ours() && prepared.seen.is_current(&target)? => {
                    return finish(&desk, *prepared, held);
                }
                Step::Ready(_) | Step::LookAgain => {}
            }
            if !held.is_still_ours() {
                // We were so slow that somebody judged us dead.
                drop(held);
                held = self.lock(deadline)?;
            }
        }
        Err(StoreError::Unsettled { path: self.path.clone() })
    }

    fn lock(&self, deadline: &Deadline) -> Result<Held, StoreError> {
        let flock = self.flock.as_deref().map(|path| Flock::take(path, deadline)).transpose()?;
        let terms = Terms {
            deadline,
            times: &self.times,
            ours_after: if flock.as_ref().is_some_and(Flock::is_real) { Duration::ZERO } else { OURS_AFTER },
            quarantine: &self.quarantine,
        };
        let mkdir = self.mkdir.as_deref().map(|path| MkdirLock::take(path, &terms)).transpose()?;
        Ok(Held { mkdir, _flock: flock })
    }
}

/// Rename, release, sync of the folder. The old version's file is closed last, outside the locks.
fn finish<T>(desk: &Desk, prepared: Prepared<T>, held: Held) -> Result<(T, Option<StoreError>), StoreError> {
    let Prepared { staged, seen, value, ids } = prepared;
    let put = desk.queue.note_ids(&ids).and_then(|()| {
        points::reached("noted");
        interrupt::begin(desk.target)?;
        staged.put_in_place()
    });
    if let Err(error) = put {
        // The note must not claim that these were put in place. If it cannot be changed, the temp file stays as the proof
        // that they were not.
        if !ids.is_empty() && !desk.queue.forget_ids() {
            staged.leave();
        }
        return Err(error);
    }
    points::reached("renamed");
    drop(held);
    points::reached("released");
    let synced = sync_folder(desk.target.parent().unwrap_or(Path::new("/")));
    drop(seen);
    Ok((value, synced.err().map(|error| StoreError::unsynced(desk.target, error))))
}
