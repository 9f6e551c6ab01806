//! Leaving nothing behind when the process is told to stop.
//!
//! A front calls [`abandon`] from its signal handler's thread and then exits: commits that hold a foreign lock are
//! waited for (they take milliseconds), new ones do not start, and temp files that are being prepared are removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::disk;
use crate::files::remove_folder;

static GATE: Mutex<Gate> = Mutex::new(Gate { inside: 0, closed: false });
static MOVED: Condvar = Condvar::new();
static TEMPS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

struct Gate {
    inside: usize,
    closed: bool,
}

/// Held while something is on disk that must not stay if we die. Whoever is inside may enter again.
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

/// Makes a folder that is removed with all that is in it, should we be told to stop. Whoever writes into it does so
/// inside [`critical`], file by file.
pub(crate) fn create_folder(folder: &Path, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    create(folder, make)
}

pub(crate) fn forget(temp: &Path) {
    lock(&TEMPS).retain(|known| known != temp);
}

/// Waits for commits that are under way, keeps new ones from starting, and removes our temp files.
/// After this the store must not be used any more: whoever tries waits for the end of the process.
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
