//! The seam between the ledger and SQLite, at the level of transactions.
//!
//! Without the feature `faults` these are rusqlite's own types and nothing else. With it, which only tests turn on, a
//! test decides before each step whether it happens or fails: see `faults`.

#[cfg(not(feature = "faults"))]
pub(crate) use rusqlite::{Connection, Transaction};

#[cfg(feature = "faults")]
pub(crate) use faults::{Connection, Transaction, sync};

/// Brings a file of the database to the disk.
#[cfg(not(feature = "faults"))]
pub(crate) fn sync(file: &std::fs::File) -> std::io::Result<()> {
    file.sync_data()
}

/// A test's hand on every step of the ledger, on the thread that installs it.
#[cfg(feature = "faults")]
pub mod faults {
    use std::cell::RefCell;
    use std::fs::File;
    use std::io;
    use std::ops::{Deref, DerefMut};
    use std::path::Path;

    use rusqlite::{CachedStatement, Error, OpenFlags, Params, Result, Row, TransactionBehavior, ffi};

    /// What is about to happen.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Step {
        /// The database is opened.
        Open,
        /// A transaction begins.
        Begin,
        /// A statement is prepared, to be run at once; outside of a transaction it is one of its own.
        Statement,
        /// A transaction is committed.
        Commit,
        /// The log is brought into the database, and synced.
        Checkpoint,
        /// What was committed is synced.
        Sync,
    }

    /// Why a step fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Refusal {
        /// Another process has the lock, and did not give it back in time.
        Busy,
        /// The disk is full.
        Full,
        /// The disk failed.
        Io,
    }

    impl From<Refusal> for Error {
        fn from(refusal: Refusal) -> Self {
            let code = match refusal {
                Refusal::Busy => ffi::SQLITE_BUSY,
                Refusal::Full => ffi::SQLITE_FULL,
                Refusal::Io => ffi::SQLITE_IOERR,
            };
            Error::SqliteFailure(ffi::Error::new(code), Some("a test refused it".to_owned()))
        }
    }

    /// Decides about steps.
    pub trait Faults {
        /// A step is about to happen, unless it is refused.
        fn before(&mut self, step: Step) -> std::result::Result<(), Refusal>;
    }

    thread_local! {
        static INSTALLED: RefCell<Option<Box<dyn Faults>>> = const { RefCell::new(None) };
    }

    /// Lets `faults` decide about all steps of this thread while `work` runs.
    pub fn with<T>(faults: impl Faults + 'static, work: impl FnOnce() -> T) -> T {
        struct Installed;
        impl Drop for Installed {
            fn drop(&mut self) {
                INSTALLED.take();
            }
        }
        INSTALLED.replace(Some(Box::new(faults)));
        let _installed = Installed;
        work()
    }

    fn ask(step: Step) -> Result<()> {
        let asked = |installed: &mut Option<Box<dyn Faults>>| {
            installed.as_mut().map_or(Ok(()), |faults| faults.before(step))
        };
        INSTALLED.with_borrow_mut(asked).map_err(Error::from)
    }

    pub(crate) fn sync(file: &File) -> io::Result<()> {
        ask(Step::Sync).map_err(io::Error::other)?;
        file.sync_data()
    }

    /// rusqlite's connection behind the seam.
    #[derive(Debug)]
    pub struct Connection(rusqlite::Connection);

    impl Connection {
        pub(crate) fn open(path: impl AsRef<Path>) -> Result<Self> {
            ask(Step::Open)?;
            rusqlite::Connection::open(path).map(Self)
        }

        pub(crate) fn open_with_flags(path: impl AsRef<Path>, flags: OpenFlags) -> Result<Self> {
            ask(Step::Open)?;
            rusqlite::Connection::open_with_flags(path, flags).map(Self)
        }

        pub(crate) fn open_in_memory() -> Result<Self> {
            rusqlite::Connection::open_in_memory().map(Self)
        }

        pub(crate) fn prepare_cached(&self, sql: &str) -> Result<CachedStatement<'_>> {
            ask(Step::Statement)?;
            self.0.prepare_cached(sql)
        }

        pub(crate) fn query_row<T>(
            &self,
            sql: &str,
            params: impl Params,
            row: impl FnOnce(&Row<'_>) -> Result<T>,
        ) -> Result<T> {
            ask(if sql.contains("wal_checkpoint") { Step::Checkpoint } else { Step::Statement })?;
            self.0.query_row(sql, params, row)
        }
    }

    impl Deref for Connection {
        type Target = rusqlite::Connection;

        fn deref(&self) -> &rusqlite::Connection {
            &self.0
        }
    }

    impl DerefMut for Connection {
        fn deref_mut(&mut self) -> &mut rusqlite::Connection {
            &mut self.0
        }
    }

    /// rusqlite's transaction behind the seam; rolled back on drop.
    #[derive(Debug)]
    pub struct Transaction<'a> {
        db: &'a Connection,
        real: rusqlite::Transaction<'a>,
    }

    impl<'a> Transaction<'a> {
        pub(crate) fn new_unchecked(db: &'a Connection, behavior: TransactionBehavior) -> Result<Self> {
            ask(Step::Begin)?;
            Ok(Self { db, real: rusqlite::Transaction::new_unchecked(&db.0, behavior)? })
        }

        pub(crate) fn commit(self) -> Result<()> {
            ask(Step::Commit)?;
            self.real.commit()
        }
    }

    impl Deref for Transaction<'_> {
        type Target = Connection;

        fn deref(&self) -> &Connection {
            self.db
        }
    }
}
