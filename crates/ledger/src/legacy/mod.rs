//! Taking over `ledger.db`, the ledger of older versions.
//!
//! First it is sealed: its tables get other names and it says that it is of a version that no older `atm` knows, so that
//! processes that still run fail loudly instead of writing what nobody reads. A log that is made where there was none gets an
//! empty sealed one beside it, for the same reason. In the transaction that makes the log, all
//! that decisions rest on is copied. Its messages follow in parts, brought by those who ask for history, while mail goes
//! on; each part is one transaction, and the last number in the log says where the next part begins.

mod history;
mod state;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::{ErrorCode, OptionalExtension, TransactionBehavior};

use crate::database::{Database, turn_wal_on, version};
use crate::error::LedgerError;
use crate::index::Amount;
use crate::open::Ledger;
use crate::seam::{Connection, Transaction};

use history::End;
pub(crate) use state::take_over_state;

/// Above all versions that there were, and above a seal that left some tables open.
const SEALED: i64 = 1_001;

/// The tables that get other names. Without these, nothing that an older version does succeeds: what else there is hangs
/// on an inbox.
const TABLES: [&str; 9] =
    ["inboxes", "messages", "stages", "arrivals", "steps", "sources", "proofs", "equals", "transcripts"];

/// Between two parts, so that a sender who waits finds the log free.
const PAUSE: Duration = Duration::from_millis(1);
/// After so many pages, what is in the write-ahead log is brought into the database in between.
const LONGEST_WAL: i32 = 8_000;

fn path_beside(log: &Path) -> PathBuf {
    log.with_file_name("ledger.db")
}

/// Seals the older ledger beside a log that is made now, and gives it if there is one. Where there is none, an empty sealed one
/// takes its place: an older `atm` that comes later would make its own, and nobody would read what it writes there.
pub(crate) fn seal_beside_new(log: &Path) -> Result<Option<Database>, LedgerError> {
    let path = path_beside(log);
    if path == log {
        return Ok(None);
    }
    if !path.exists() {
        let empty = Database::open(&path)?;
        let fail = |source| empty.failed(source);
        // Nothing rests on it, so it is not worth the time that it takes to bring it to the disk.
        empty.db.pragma_update(None, "synchronous", "OFF").map_err(fail)?;
        put_seal(&empty.db).map_err(fail)?;
    }
    // An older process may have made it at the same moment.
    seal(log)
}

impl Ledger {
    /// Whether an older `atm` has written a ledger of its own beside this one, which nobody reads: it is not sealed.
    pub fn is_written_beside(&self) -> Result<bool, LedgerError> {
        let path = path_beside(&self.log.path);
        if path == self.log.path || !path.exists() {
            return Ok(false);
        }
        let old = Database::open_existing(&path)?;
        let found = old.version().map_err(|source| old.failed(source))?;
        Ok((1..SEALED).contains(&found))
    }
}

/// Seals the older ledger beside a log, if there is one. It may be sealed already, by a process that died then. The seal
/// survives a power cut before anything is taken: else the log would have it, and older processes would write on.
pub(crate) fn seal(log: &Path) -> Result<Option<Database>, LedgerError> {
    let path = path_beside(log);
    if path == log || !path.exists() {
        return Ok(None);
    }
    let old = Database::open(&path)?;
    let fail = |source| old.failed(source);
    let found = old.version().map_err(fail)?;
    if found > SEALED {
        return Err(LedgerError::TooNew { path, found, known: SEALED });
    }
    if found == 0 || (found == SEALED && is_empty(&old.db).map_err(fail)?) {
        // A file that nobody made a ledger of.
        return Ok(None);
    }
    if found < SEALED {
        turn_wal_on(&old.db).map_err(fail)?;
        put_seal(&old.db).map_err(fail)?;
    }
    old.make_durable()?;
    Ok(Some(old))
}

fn put_seal(old: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(old, TransactionBehavior::Immediate)?;
    if version(&transaction)? < SEALED {
        for table in TABLES {
            if has_table(&transaction, table)? {
                transaction.execute_batch(&format!("ALTER TABLE {table} RENAME TO sealed_{table}"))?;
            }
        }
        transaction.pragma_update(None, "user_version", SEALED)?;
    }
    transaction.commit()
}

/// The sealed ledger's queue is the log's now: should the log be lost one day, and this be taken over again, nothing of it
/// is written twice.
pub(crate) fn release_waiting(old: &Database) {
    let release = || -> rusqlite::Result<()> {
        if has_table(&old.db, "sealed_arrivals")? {
            old.db.execute_batch("DELETE FROM sealed_arrivals")?;
        }
        if has_column(&old.db, "sealed_messages", "waiting")? {
            old.db.execute_batch("UPDATE sealed_messages SET waiting = 0 WHERE waiting = 1")?;
        }
        Ok(())
    };
    // If it fails, that is no reason to have no ledger.
    let _ = release();
}

/// Brings the history of the sealed ledger into the log; says whether all of it is there. Damage in the old file ends it
/// with what was taken: what came since is in the log, and must not suffer from it.
pub(crate) fn take_over_history(log: &Database, amount: Amount) -> Result<bool, LedgerError> {
    match take_parts(log, amount) {
        Err(error) if is_damage_beside(log, &error) => {
            history::end(&log.db, End::Damage).map_err(|error| log.failed(error))?;
            Ok(true)
        }
        done => done,
    }
}

/// Whether an error shows that the old file cannot be read, now or later.
fn is_damage_beside(log: &Database, error: &LedgerError) -> bool {
    let LedgerError::Database { path, source } = error else { return false };
    // Tables or values are missing where there is no code of SQLite, or none but that of any error.
    let is_lacking = source.sqlite_error_code().is_none_or(|code| code == ErrorCode::Unknown);
    *path != log.path && (error.is_damage() || is_lacking)
}

fn take_parts(log: &Database, amount: Amount) -> Result<bool, LedgerError> {
    // A power cut may have taken the seal of one that an earlier version took over.
    let old = seal(&log.path)?;
    let mut source = match &old {
        Some(old) => Some(history::Source::open(&old.db).map_err(|error| old.failed(error))?),
        // It is gone, and with it what was not taken over.
        None => None,
    };
    loop {
        let is_done = take_part(log, old.as_ref(), source.as_mut())?;
        log.tidy_between_parts(LONGEST_WAL);
        if is_done || amount == Amount::Slice {
            return Ok(is_done);
        }
        thread::sleep(PAUSE);
    }
}

fn take_part(
    log: &Database,
    old: Option<&Database>,
    source: Option<&mut history::Source<'_>>,
) -> Result<bool, LedgerError> {
    let part = match (old, source) {
        (Some(old), Some(source)) => {
            // Read before the log is locked: senders wait only while it is written.
            let from = history::last_taken(&log.db).map_err(|error| log.failed(error))?;
            source.read_part(from).map_err(|error| old.failed(error))?
        }
        _ => Vec::new(),
    };
    history::write_part(&log.db, &part).map_err(|error| log.failed(error))
}

fn has_table(db: &Connection, table: &str) -> rusqlite::Result<bool> {
    let found: Option<i64> = db
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1", [table], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.is_some())
}

fn is_empty(db: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0)
}

fn has_column(db: &Connection, table: &str, column: &str) -> rusqlite::Result<bool> {
    let count: i64 =
        db.query_row("SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2", [table, column], |row| {
            row.get(0)
        })?;
    Ok(count > 0)
}
