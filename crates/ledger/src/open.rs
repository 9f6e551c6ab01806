//! Opening the database.

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::mem;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;

use crate::error::LedgerError;
use crate::schema;
use crate::seam::{self, Connection};

/// How long to wait between two looks whether another process' transaction is over. Most take less than that.
const LOOK_AGAIN: Duration = Duration::from_micros(250);
/// So often, which is five seconds: ours take milliseconds.
const LOOKS: i32 = 20_000;

/// A log of so many pages is long.
const LONG_LOG: i32 = 64;
/// In company, only one of so many.
const LONG_LOG_IN_COMPANY: i32 = 1_000;
const TIDY_EVERY: Duration = Duration::from_millis(25);

/// The ledger.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) db: Connection,
    path: PathBuf,
    /// So much has arrived that we should file it.
    pub(crate) much_arrived: bool,
    /// Arrivals could not be filed when we last tried.
    pub(crate) cannot_file: Cell<bool>,
    /// Pages in the log after our last commit.
    log_length: Arc<AtomicI32>,
    /// Others are at work beside us.
    in_company: Arc<AtomicBool>,
}

impl Ledger {
    /// Opens the ledger at `path`; makes it, for the owner alone, if there is none.
    ///
    /// - WAL: readers and one writer do not wait for each other, and a commit is one append.
    /// - `synchronous`: NORMAL, so that a commit costs no fsync. A power cut may take the last commits: observations,
    ///   which the files still show, and messages whose sender was not told yet that they were sent, since that is said
    ///   only after the inbox file is synced.
    /// - A busy handler of our own: SQLite's waits up to a tenth of a second between two looks, and parallel senders
    ///   would spend their time asleep.
    /// - No checkpoint when the last connection closes, which every command would pay for, and none inside a commit,
    ///   where others wait for us: see [`Ledger::tidy`].
    /// - `foreign_keys`: on, which SQLite leaves off.
    /// - The same plan whatever is asked for (QPSG): else a statement is compiled again once its values are known, and a
    ///   command that runs each of them once would compile them twice.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        make_private(path)?;
        let fail = |source| LedgerError::Database { path: path.to_owned(), source };
        let mut db = Connection::open(path).map_err(fail)?;
        let in_company = Arc::new(AtomicBool::new(false));
        db.busy_handler(Some(waiting_for_others(&in_company))).map_err(fail)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true).map_err(fail)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(fail)?;
        db.pragma_update(None, "synchronous", "NORMAL").map_err(fail)?;
        let log_length = Arc::new(AtomicI32::new(0));
        let told = Arc::clone(&log_length);
        db.wal_hook(Some(move |_: &mut Wal, pages| {
            told.store(pages, Ordering::Relaxed);
            Ok(())
        }))
        .map_err(fail)?;
        match schema::migrate(&mut db).map_err(fail)? {
            None => Ok(Self {
                db,
                path: path.to_owned(),
                much_arrived: false,
                cannot_file: Cell::new(false),
                log_length,
                in_company,
            }),
            Some(found) => {
                Err(LedgerError::TooNew { path: path.to_owned(), found, known: schema::version() })
            }
        }
    }

    /// Tells [`Ledger::tidy`] that others are at work beside us. Having to wait for them tells it too.
    pub fn note_company(&self) {
        self.in_company.store(true, Ordering::Relaxed);
    }

    /// Brings the log's pages into the database if there are many, and begins the log anew: whoever opens it first
    /// reads the whole log, so it has to stay short. Costs two fsyncs, so nothing else should be held; the first commit
    /// into the new log costs two more, for which everybody waits. So who saw others since the last time leaves it to
    /// whoever is alone, unless the log is very long: while somebody has the ledger open, nobody reads the whole log.
    ///
    /// Beside others the log may not begin anew, so it is not tried again at once: only this changes the database's
    /// file, whose time tells when somebody did it.
    pub fn tidy(&mut self) {
        if mem::take(&mut self.much_arrived) {
            // If it fails: whoever looks next does it.
            let _ = self.filed();
        }
        let in_company = self.in_company.swap(false, Ordering::Relaxed);
        let long = if in_company { LONG_LOG_IN_COMPANY } else { LONG_LOG };
        // Judged once after each commit: what was left to others is left to them.
        let is_long = self.log_length.swap(0, Ordering::Relaxed) >= long;
        let since = || fs::metadata(&self.path).ok()?.modified().ok()?.elapsed().ok();
        if is_long && since().is_none_or(|since| since >= TIDY_EVERY) {
            // Somebody else may be at it; the next command comes by anyway.
            // The work first, beside which others write. What is left needs them to be away for a moment: if they are
            // not, it is left to the next command.
            let _ = self.checkpoint("PASSIVE");
            if self.db.busy_handler(None::<fn(i32) -> bool>).is_ok() {
                let _ = self.checkpoint("TRUNCATE");
                let _ = self.db.busy_handler(Some(waiting_for_others(&self.in_company)));
            }
        }
    }

    /// Makes all that was committed survive a power cut: for a message that is accepted and, for the time being, nowhere
    /// else.
    ///
    /// Only the log is opened for that. Closing another handle of the database's own file would drop the locks that SQLite
    /// has on it, which POSIX gives to the process; what is in it was synced when it was brought there.
    pub fn make_durable(&self) -> Result<(), LedgerError> {
        let path = Self::log_of(&self.path);
        let synced = fs::File::open(&path).and_then(|file| seam::sync(&file));
        synced.map_err(|source| LedgerError::NotDurable { path, source })
    }

    /// The write-ahead log of the ledger at `path`.
    pub fn log_of(path: &Path) -> PathBuf {
        let mut log = path.to_owned().into_os_string();
        log.push("-wal");
        log.into()
    }

    fn checkpoint(&self, how: &str) -> rusqlite::Result<()> {
        self.db.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> LedgerError {
        LedgerError::Database { path: self.path.clone(), source }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.tidy();
    }
}

fn waiting_for_others(in_company: &Arc<AtomicBool>) -> impl FnMut(i32) -> bool + Send + 'static {
    let in_company = Arc::clone(in_company);
    move |looks| {
        in_company.store(true, Ordering::Relaxed);
        thread::sleep(LOOK_AGAIN);
        looks < LOOKS
    }
}

/// Turns the log on, which stays so with the file. SQLite does not ask the busy handler while it does this, and somebody
/// else may be making the same ledger.
pub(crate) fn turn_log_on(db: &Connection) -> rusqlite::Result<()> {
    let mut looks = 0;
    loop {
        match db.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && looks < LOOKS => {
                thread::sleep(LOOK_AGAIN);
                looks += 1;
            }
            done => return done,
        }
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
    let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    Ok(())
}
