//! One SQLite file: how it is opened, and how its write-ahead log is kept short.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{ErrorCode, OpenFlags};

use crate::error::LedgerError;
use crate::seam::{self, Connection};

/// How long to wait between two looks whether another process' transaction is over. Most take less than that.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_micros(250);
/// So often, which is five seconds: ours take milliseconds.
pub(crate) const LOOKS: i32 = 20_000;

/// A write-ahead log of so many pages is long.
const LONG_WAL: i32 = 64;
/// In company, only one of so many.
const LONG_WAL_IN_COMPANY: i32 = 1_000;
const TIDY_EVERY: Duration = Duration::from_millis(25);

/// An open SQLite file.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// Pages in the write-ahead log after our last commit.
    wal_length: Arc<AtomicI32>,
    /// Others are at work beside us.
    in_company: Arc<AtomicBool>,
}

impl Database {
    /// Opens the database at `path`; makes it, for the owner alone, if there is none.
    ///
    /// - WAL: readers and one writer do not wait for each other, and a commit is one append.
    /// - `synchronous`: NORMAL, so that a commit costs no fsync. A power cut may take the last commits: observations,
    ///   which the files still show, and messages whose sender has no answer yet, since that is given only after the
    ///   inbox file is synced.
    /// - A busy handler of our own: SQLite's waits up to a tenth of a second between two looks, and parallel senders
    ///   would spend their time asleep.
    /// - No checkpoint when the last connection closes, which every command would pay for, and none inside a commit,
    ///   where others wait for us: see [`Database::tidy`].
    /// - The same plan whatever is asked for (QPSG): else a statement is compiled again once its values are known, and a
    ///   command that runs each of them once would compile them twice.
    pub(crate) fn open(path: &Path) -> Result<Self, LedgerError> {
        make_private(path)?;
        let fail = |source| LedgerError::Database { path: path.to_owned(), source };
        let db = Connection::open(path).map_err(fail)?;
        Self::set_up(db, path).map_err(fail)
    }

    /// Opens the database at `path`, and makes none.
    pub(crate) fn open_existing(path: &Path) -> Result<Self, LedgerError> {
        let fail = |source| LedgerError::Database { path: path.to_owned(), source };
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE;
        let db = Connection::open_with_flags(path, flags).map_err(fail)?;
        Self::set_up(db, path).map_err(fail)
    }

    /// A database without a file, which is gone with the process.
    pub(crate) fn in_memory(path: &Path) -> Result<Self, LedgerError> {
        let fail = |source| LedgerError::Database { path: path.to_owned(), source };
        Self::set_up(Connection::open_in_memory().map_err(fail)?, path).map_err(fail)
    }

    fn set_up(mut db: Connection, path: &Path) -> rusqlite::Result<Self> {
        let in_company = Arc::new(AtomicBool::new(false));
        db.busy_handler(Some(waiting_for_others(&in_company)))?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        let wal_length = Arc::new(AtomicI32::new(0));
        let noted = Arc::clone(&wal_length);
        db.wal_hook(Some(move |_: &mut Wal, pages| {
            noted.store(pages, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { db, path: path.to_owned(), wal_length, in_company })
    }

    /// Notes that others are at work beside us. Having to wait for them has the same effect.
    pub(crate) fn note_company(&self) {
        self.in_company.store(true, Ordering::Relaxed);
    }

    /// Brings the pages of the write-ahead log into the database if there are many, and begins it anew: the first to open
    /// the database reads the whole of it, so it has to stay short. Costs two fsyncs, so nothing else should be held; the
    /// first commit after it costs two more, for which everybody waits. So a process that saw others since the last time
    /// leaves it to one that is alone, unless there are very many pages: while somebody has the database open, nobody
    /// reads the whole log.
    ///
    /// Beside others the log may not begin anew, so it is not tried again at once: only this changes the database's
    /// file, whose time shows when somebody did it.
    pub(crate) fn tidy(&mut self) {
        let in_company = self.in_company.swap(false, Ordering::Relaxed);
        let long = if in_company { LONG_WAL_IN_COMPANY } else { LONG_WAL };
        // Judged once after each commit: what was left to others is left to them.
        let is_long = self.wal_length.swap(0, Ordering::Relaxed) >= long;
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

    /// Brings pages into the database between two parts of much work, so that its log does not grow without end.
    pub(crate) fn tidy_between_parts(&self, longest: i32) {
        if self.wal_length.load(Ordering::Relaxed) >= longest {
            let _ = self.checkpoint("PASSIVE");
        }
    }

    /// Makes all that was committed survive a power cut.
    ///
    /// Only the write-ahead log is opened for that. Closing another handle of the database's own file would drop the
    /// locks that SQLite has on it, which POSIX gives to the process; what is in it was synced when it was brought there.
    pub(crate) fn make_durable(&self) -> Result<(), LedgerError> {
        let path = wal_of(&self.path);
        let synced = fs::File::open(&path).and_then(|file| seam::sync(&file));
        synced.map_err(|source| LedgerError::NotDurable { path, source })
    }

    /// The same for a database that was made just now: its folder has to name its files, too.
    pub(crate) fn make_durable_with_folder(&self) -> Result<(), LedgerError> {
        self.make_durable()?;
        let Some(folder) = self.path.parent() else { return Ok(()) };
        let synced = fs::File::open(folder).and_then(|folder| seam::sync(&folder));
        synced.map_err(|source| LedgerError::NotDurable { path: folder.to_owned(), source })
    }

    fn checkpoint(&self, how: &str) -> rusqlite::Result<()> {
        self.db.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
    }

    pub(crate) fn failed(&self, source: rusqlite::Error) -> LedgerError {
        LedgerError::Database { path: self.path.clone(), source }
    }

    pub(crate) fn version(&self) -> rusqlite::Result<i64> {
        version(&self.db)
    }
}

/// The version that a database says it has.
pub(crate) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The write-ahead log of the database at `path`.
pub(crate) fn wal_of(path: &Path) -> PathBuf {
    with_suffix(path, "-wal")
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    name.into()
}

fn waiting_for_others(in_company: &Arc<AtomicBool>) -> impl FnMut(i32) -> bool + Send + 'static {
    let in_company = Arc::clone(in_company);
    move |looks| {
        in_company.store(true, Ordering::Relaxed);
        thread::sleep(LOOK_AGAIN);
        looks < LOOKS
    }
}

/// Turns the write-ahead log on, which stays so with the file. SQLite does not ask the busy handler while it does this,
/// and somebody else may be making the same database.
pub(crate) fn turn_wal_on(db: &Connection) -> rusqlite::Result<()> {
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
