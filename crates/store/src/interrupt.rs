//! Stopping on request, so that the answer is true and nothing is left behind.
//!
//! A front calls [`request`] from its signal handler's thread. If the process has changed nothing yet, it may end there
//! and then: [`request`] has closed the gate, and no change begins any more. Otherwise the command goes on to its end and
//! says what it did: waits for locks end with [`StoreError::Interrupted`], waits for files
//! are over, and no further change begins. A front that cannot wait for that calls [`abandon`] and exits: commits that hold
//! a foreign lock are waited for (they take milliseconds), and temp files that are being prepared are removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::disk;
use crate::error::StoreError;
use crate::files::remove_folder;

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, closed: false, has_begun: false });
static MOVED: Condvar = Condvar::new();
static TEMPS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Read in every wait, so it is not behind the gate's lock; it is set inside it.
static REQUESTED: AtomicBool = AtomicBool::new(false);
static WAIT_ENDED: AtomicBool = AtomicBool::new(false);
static WAITERS: Mutex<Vec<(u64, Sender<()>)>> = Mutex::new(Vec::new());
static NEXT_WAITER: AtomicU64 = AtomicU64::new(0);

struct Gate {
    inside: usize,
    closed: bool,
    /// Something may have been changed that the command has to answer for.
    has_begun: bool,
}

/// Whether a process that was told to stop may do so at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It has changed nothing, and will not.
    Nothing,
    /// It is changing something: the command itself says how far it came.
    Begun,
}

/// Tells the process to stop.
pub fn request() -> Progress {
    let mut gate = lock(&GATE);
    REQUESTED.store(true, Ordering::SeqCst);
    if !gate.has_begun {
        gate.closed = true;
        return Progress::Nothing;
    }
    for (_, waiter) in lock(&WAITERS).drain(..) {
        let _ = waiter.send(());
    }
    Progress::Begun
}

/// Whether the process was told to stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Whether a wait for files was over because the process was told to stop.
pub fn has_ended_a_wait() -> bool {
    WAIT_ENDED.load(Ordering::Relaxed)
}

/// Whether a wait for files is over because the process was told to stop.
pub(crate) fn ends_wait() -> bool {
    let ends = is_requested();
    WAIT_ENDED.fetch_or(ends, Ordering::Relaxed);
    ends
}

/// Begins a change of `path` that the command will answer for; refused once the process was told to stop.
pub fn begin(path: &Path) -> Result<(), StoreError> {
    let mut gate = lock(&GATE);
    if REQUESTED.load(Ordering::SeqCst) {
        return Err(StoreError::Interrupted { path: path.to_owned() });
    }
    gate.has_begun = true;
    Ok(())
}

/// Ends a long read or copy once the process was told to stop.
pub(crate) fn check() -> io::Result<()> {
    if is_requested() { Err(io::Error::other("stopped")) } else { Ok(()) }
}

/// An error of work that [`check`] ended means that it was stopped, whatever words it arrives in.
pub(crate) fn explain(error: StoreError, path: &Path) -> StoreError {
    if is_requested() { StoreError::Interrupted { path: path.to_owned() } } else { error }
}

/// Wakes a wait when the process is told to stop, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter(u64);

impl Waiter {
    pub(crate) fn register(wake: &Sender<()>) -> Self {
        let number = NEXT_WAITER.fetch_add(1, Ordering::Relaxed);
        lock(&WAITERS).push((number, wake.clone()));
        if is_requested() {
            let _ = wake.send(());
        }
        Self(number)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        lock(&WAITERS).retain(|(number, _)| *number != self.0);
    }
}

/// Held while something is on disk that must not remain if we die. It may be entered again by its holder.
#[derive(Debug)]
pub(crate) struct Critical(());

pub(crate) fn critical() -> Critical {
    let mut gate = lock(&GATE);
    // Once closed, only what is under way goes on: a commit takes a second step before it is done.
    while gate.closed && gate.inside == 0 {
        gate = MOVED.wait(gate).unwrap_or_else(PoisonError::into_inner);
    }
    gate.inside += 1;
    Critical(())
}

impl Drop for Critical {
    fn drop(&mut self) {
        lock(&GATE).inside -= 1;
        MOVED.notify_all();
    }
}

/// Makes a temp file, so that there is no instant at which [`abandon`] would not know of it.
pub(crate) fn create<T>(temp: &Path, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _critical = critical();
    let file = make()?;
    lock(&TEMPS).push(temp.to_owned());
    Ok(file)
}

/// Creates a folder that is removed with its content when the process is asked to stop. Writes into it happen inside
/// [`critical`], file by file.
pub(crate) fn create_folder(folder: &Path, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    create(folder, make)
}

pub(crate) fn forget(temp: &Path) {
    lock(&TEMPS).retain(|known| known != temp);
}

/// Waits for commits that are under way, keeps new ones from starting, and removes our temp files.
/// After this the store must not be used any more: a caller that tries waits for the end of the process.
pub fn abandon() {
    let mut gate = lock(&GATE);
    gate.closed = true;
    while gate.inside > 0 {
        gate = MOVED.wait(gate).unwrap_or_else(PoisonError::into_inner);
    }
    for temp in lock(&TEMPS).drain(..) {
        if disk::remove_file(&temp).is_err() {
            remove_folder(&temp);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
