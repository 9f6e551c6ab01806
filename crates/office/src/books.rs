//! The ledger as the office uses it: opened when it is first needed, opened again when it is another file, and never
//! in the way of mail.

use std::fs;
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use atm_ledger::{Ledger, LedgerError};

/// How often to open a ledger that is replaced meanwhile.
const ATTEMPTS: usize = 3;

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

    /// Takes the words of so many messages into the index, if the ledger is open; says whether there are more.
    pub(crate) fn index_words_if_open(&self, messages: usize) -> bool {
        // Who uses it at this moment is not to wait for us.
        let Ok(mut slot) = self.open.try_lock() else { return true };
        slot.as_mut().is_some_and(|(_, ledger)| ledger.index_words(messages).unwrap_or(false))
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
        let there = self.inode();
        if slot.as_ref().is_some_and(|(inode, _)| Some(*inode) != there) {
            *slot = None;
        }
        if let Some((_, ledger)) = slot.as_mut() {
            return work(ledger);
        }
        let (inode, mut ledger) = self.open()?;
        let done = work(&mut ledger);
        *slot = inode.map(|inode| (inode, ledger));
        done
    }

    /// The ledger with the number of the file that it is; none if files are replaced as fast as we open them. Asked later,
    /// the number could be that of a file that came meanwhile, and the old one would be used for ever.
    fn open(&self) -> Result<(Option<u64>, Ledger), LedgerError> {
        for _ in 0..ATTEMPTS {
            let before = self.inode();
            let ledger = Ledger::open(&self.path)?;
            // One that was made just now is opened again.
            if before.is_some() && before == self.inode() {
                return Ok((before, ledger));
            }
        }
        Ok((None, Ledger::open(&self.path)?))
    }

    fn inode(&self) -> Option<u64> {
        fs::metadata(&self.path).map(|found| found.ino()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_that_is_replaced_while_it_is_used_is_not_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let books = Books::new(path.clone());
        let replace = |ledger: &mut Ledger| {
            for name in ["log.db", "log.db-wal", "log.db-shm"] {
                fs::rename(folder.path().join(name), folder.path().join(format!("aside-{name}"))).unwrap();
            }
            let old = ledger.cursor()?;
            Ok((old, Ledger::open(&path)?.cursor()?))
        };
        let (old, new) = books.with(replace).unwrap();
        assert_ne!(old, new);
        assert_eq!(books.with(|ledger| ledger.cursor()).unwrap(), new);
    }
}
