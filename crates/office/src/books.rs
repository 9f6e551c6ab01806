//! The ledger as the office uses it: opened when it is first needed, opened again when it is another file, and never
//! in the way of mail.

use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atm_ledger::{Ledger, LedgerError};

#[derive(Debug, Clone)]
pub(crate) struct Books {
    path: PathBuf,
    open: Arc<Mutex<Option<(u64, Ledger)>>>,
}

impl Books {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, open: Arc::default() }
    }

    /// Whether there is a ledger: looking must not make one.
    pub(crate) fn exist(&self) -> bool {
        // One of an older version is taken over.
        self.path.exists() || self.path.with_file_name("ledger.db").exists()
    }

    /// For long-lived processes: the upkeep that every other one does at its end.
    pub(crate) fn tidy(&self) {
        if let Some((_, ledger)) = self.open.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            ledger.tidy();
        }
    }

    /// For a process that ends: the system closes the ledger with less work than SQLite does.
    pub(crate) fn leave(&self) {
        self.tidy();
        mem::forget(Arc::clone(&self.open));
    }

    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&mut Ledger) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A ledger that was deleted or rebuilt under us is not the one that we have open.
        let there = fs::metadata(&self.path).map(|found| found.ino()).ok();
        if slot.as_ref().is_some_and(|(inode, _)| Some(*inode) != there) {
            *slot = None;
        }
        if let Some((_, ledger)) = slot.as_mut() {
            return work(ledger);
        }
        let mut ledger = Ledger::open(&self.path)?;
        let done = work(&mut ledger);
        *slot = fs::metadata(&self.path).ok().map(|found| (found.ino(), ledger));
        done
    }
}
