//! The ledger: a log of what happened, and an index made from it.

use std::cell::{Cell, RefCell};
use std::mem;
use std::path::{Path, PathBuf};

use crate::database::{Database, wal_of};
use crate::error::LedgerError;
use crate::index::{Amount, Index};
use crate::log::schema;

/// The ledger.
#[derive(Debug)]
pub struct Ledger {
    /// What happened, and what decisions rest on.
    pub(crate) log: Database,
    /// Opened when something is asked that needs it: a send does not.
    pub(crate) index: RefCell<Option<Index>>,
    /// So much has arrived that we should apply it.
    pub(crate) much_arrived: Cell<bool>,
    /// The last event that this handle knows to survive a power cut.
    durable_upto: Cell<i64>,
}

impl Ledger {
    /// Opens the ledger whose log is at `path`; makes it, for the owner alone, if there is none. `index.db` stands beside
    /// it, and so does `ledger.db`, the ledger of older versions, if there is one: it is sealed, and taken over.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let log = schema::open(path)?;
        Ok(Self {
            log,
            index: RefCell::new(None),
            much_arrived: Cell::new(false),
            durable_upto: Cell::new(0),
        })
    }

    /// Notes that others are at work beside us, so that [`Ledger::tidy`] leaves more to them.
    pub fn note_company(&self) {
        self.log.note_company();
    }

    /// Brings what was written into the databases' own files if it is much, and does a small part of the work that would
    /// otherwise be left to the next who asks. Nothing else should be held.
    pub fn tidy(&mut self) {
        if mem::take(self.much_arrived.get_mut()) {
            // If it fails, the next one to ask does it.
            let _ = self.catch_up(Amount::Slice);
        }
        self.tidy_index();
        self.log.tidy();
    }

    /// Makes all that was committed survive a power cut: for a message that is accepted and, for the time being, nowhere
    /// else.
    pub fn make_durable(&self) -> Result<(), LedgerError> {
        self.log.make_durable()
    }

    /// Makes everything up to an event survive a power cut: before its number is told to anybody else. A log that loses its
    /// last events gives their numbers again. Costs nothing if that was asked of this ledger before.
    pub fn make_durable_upto(&self, number: i64) -> Result<(), LedgerError> {
        if number <= self.durable_upto.get() {
            return Ok(());
        }
        // What else is on record by now goes with it, so that a long queue is synced once, and not once for each page.
        let end = self.cursor()?.seq();
        self.make_durable()?;
        self.durable_upto.set(end);
        Ok(())
    }

    /// The write-ahead log of the ledger at `path`.
    pub fn log_of(path: &Path) -> PathBuf {
        wal_of(path)
    }

    /// The file of the log.
    pub fn path(&self) -> &Path {
        &self.log.path
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> LedgerError {
        self.log.failed(source)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.tidy();
    }
}
