//! Leaving nothing behind when the process is told to stop.
//!
//! A front calls [`abandon`] from its signal handler's thread and then exits: commits that hold a foreign lock are
//! waited for (they take milliseconds), new ones do not start, and temp files that are being prepared are removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

static GATE: RwLock<()> = RwLock::new(());
static TEMPS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while something is on disk that must not stay if we die.
#[derive(Debug)]
pub(crate) struct Critical(#[expect(dead_code, reason = "held for its drop")] RwLockReadGuard<'static, ()>);

pub(crate) fn critical() -> Critical {
    Critical(GATE.read().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn register(temp: &Path) {
    TEMPS.lock().unwrap_or_else(PoisonError::into_inner).push(temp.to_owned());
}

pub(crate) fn forget(temp: &Path) {
    TEMPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known != temp);
}

/// Waits for commits that are under way, keeps new ones from starting, and removes our temp files.
/// After this the store must not be used any more.
pub fn abandon() {
    std::mem::forget(GATE.write().unwrap_or_else(PoisonError::into_inner));
    for temp in TEMPS.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = fs::remove_file(temp);
    }
}
