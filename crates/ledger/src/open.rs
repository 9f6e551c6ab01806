//! Opening the database.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::LedgerError;
use crate::schema;

/// How long to wait for another process' transaction. Ours take milliseconds.
const BUSY: Duration = Duration::from_secs(5);

/// The ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) db: Connection,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger at `path`; makes it, for the owner alone, if there is none.
    ///
    /// - WAL: readers and one writer do not wait for each other, and a commit is one append.
    /// - `synchronous`: NORMAL, so that a commit costs no fsync. A power cut may take the last commits: observations,
    ///   which the files still show, and messages whose sender was not told yet that they were sent, since that is said
    ///   only after the inbox file is synced.
    /// - No checkpoint when the last connection closes: every command would pay for one. Instead after a hundred pages:
    ///   whoever opens the database first reads the whole log, so it has to stay short.
    /// - `foreign_keys`: on, which SQLite leaves off.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        make_private(path)?;
        let fail = |source| LedgerError::Database { path: path.to_owned(), source };
        let mut db = Connection::open(path).map_err(fail)?;
        db.busy_timeout(BUSY).map_err(fail)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).map_err(fail)?;
        db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 100;").map_err(fail)?;
        match schema::migrate(&mut db).map_err(fail)? {
            None => Ok(Self { db, path: path.to_owned() }),
            Some(found) => {
                Err(LedgerError::TooNew { path: path.to_owned(), found, known: schema::version() })
            }
        }
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> LedgerError {
        LedgerError::Database { path: self.path.clone(), source }
    }
}

/// Makes the file and its folder before SQLite does, which would leave them open to others.
fn make_private(path: &Path) -> Result<(), LedgerError> {
    if path.exists() {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| LedgerError::Folder { path: folder.to_owned(), source })?;
    }
    // If it cannot be made, opening it says so with better words.
    let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    Ok(())
}
