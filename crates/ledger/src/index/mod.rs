//! `index.db`: what the log says, in tables that answer questions. Readers bring it up to date first.
//!
//! It says of which log it is and which event it applied last; if the log does not have that event, after a power cut or
//! because it is another log, the index is made anew. So it may be deleted at any time, and is, when it is damaged.

pub(crate) mod apply;
pub(crate) mod schema;
mod search;
mod trace;

use std::cell::Cell;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{ErrorCode, OptionalExtension, TransactionBehavior, params};

pub use search::{MARK_END, MARK_START, Query};
pub use trace::{Filter, NotAPlace, Place};

use crate::database::{Database, LOOK_AGAIN, LOOKS, with_suffix};
use crate::error::{LedgerError, is_damage};
use crate::legacy;
use crate::open::Ledger;
use crate::seam::{Connection, Transaction};
use apply::{Applier, Stored};

/// So many events in one transaction.
const SLICE: i64 = 1_000;
/// Between two transactions of one process, so that somebody who waits finds the database free.
const PAUSE: Duration = Duration::from_millis(1);
/// After so many pages, what is in the write-ahead log is brought into the database in between.
const LONGEST_WAL: i32 = 8_000;

/// How much to do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// All there is.
    All,
    /// One slice of it.
    Slice,
}

/// The open index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) database: Database,
    /// The file's; none if it is in memory.
    inode: Option<u64>,
    /// Another process kept it to itself when we last tried to write it.
    was_busy: Cell<bool>,
}

/// Both databases, for questions.
pub(crate) struct View<'a> {
    pub(crate) index: &'a Connection,
    pub(crate) log: &'a Connection,
}

/// The end of the log.
struct Head {
    epoch: [u8; 16],
    has_history_to_take: bool,
    seq: i64,
    id: [u8; 16],
}

impl Ledger {
    /// Asks the index, which is brought up to date before.
    pub(crate) fn read<T>(&self, work: impl Fn(&View<'_>) -> rusqlite::Result<T>) -> Result<T, LedgerError> {
        let ask = || {
            self.catch_up(Amount::All)?;
            let slot = self.index.borrow();
            let index = slot.as_ref().map_or(&self.log.db, |index| &index.database.db);
            work(&View { index, log: &self.log.db }).map_err(|source| self.failed(source))
        };
        match ask() {
            Err(error) if error.is_damage() => {
                self.discard_index();
                ask()
            }
            done => done,
        }
    }

    /// Brings the index up to date, or fails: an answer from one that lags behind would be taken for the truth, and mail
    /// written a second time. One that may not be written is made anew in memory.
    pub(crate) fn catch_up(&self, amount: Amount) -> Result<(), LedgerError> {
        // Somebody reads it already.
        let Ok(mut slot) = self.index.try_borrow_mut() else { return Ok(()) };
        let fail = |source| self.failed(source);
        let mut head = head(&self.log.db).map_err(fail)?;
        if head.has_history_to_take && self.log.db.is_autocommit() {
            let is_done = legacy::take_over_history(&self.log, amount)?;
            if !is_done {
                return Ok(());
            }
            head = self::head(&self.log.db).map_err(fail)?;
        }
        let path = self.log.path.with_file_name("index.db");
        let is_there =
            slot.as_ref().is_some_and(|index| index.inode.is_none() || index.inode == inode(&path));
        if !is_there {
            *slot = Some(Index::open(&path)?);
        }
        for attempt in 0.. {
            let Some(index) = slot.as_ref() else { break };
            match index.apply_from(&self.log.db, &head, amount) {
                Ok(Applied::All) => break,
                // Made from something that this log does not have.
                Ok(Applied::Mismatch) => *slot = Some(Index::anew(&path, index.inode)?),
                // It was deleted under us.
                Err(_) if attempt < 2 && index.inode.is_some() && index.inode != inode(&path) => {
                    *slot = Some(Index::open(&path)?);
                }
                Err(error) if is_read_only(&error) && index.inode.is_some() => {
                    *slot = Some(Index::in_memory(&path)?);
                }
                Err(error) if is_damage(&error) && attempt == 0 => {
                    *slot = Some(Index::anew(&path, index.inode)?);
                }
                Err(error) => {
                    let failed = index.database.failed(error);
                    index.was_busy.set(failed.is_busy());
                    return Err(failed);
                }
            }
        }
        Ok(())
    }

    /// Removes the index; the next question makes it anew.
    pub(crate) fn discard_index(&self) {
        if let Ok(mut slot) = self.index.try_borrow_mut() {
            let path = self.log.path.with_file_name("index.db");
            let judged = slot.take().and_then(|index| index.inode);
            if let Some(_lock) = lock(&path)
                && inode(&path) == judged
            {
                remove(&path);
            }
        }
    }

    /// What is left to do for the index when a command is done.
    pub(crate) fn tidy_index(&self) {
        if let Ok(mut slot) = self.index.try_borrow_mut()
            && let Some(index) = slot.as_mut()
        {
            if !index.was_busy.replace(false) {
                // If it fails, the next one does it.
                let _ = search::index_some(&index.database.db, &self.log.db, search::SMALL_PART);
            }
            index.database.tidy();
        }
    }
}

/// What became of an attempt to apply events.
enum Applied {
    All,
    Mismatch,
}

impl Index {
    fn open(path: &Path) -> Result<Self, LedgerError> {
        let Some(there) = inode(path) else { return Self::anew(path, None) };
        match Self::open_file(path) {
            Ok(Some(index)) => Ok(index),
            Ok(None) => Self::anew(path, Some(there)),
            Err(error) if error.is_damage() => Self::anew(path, Some(there)),
            // It was deleted just now.
            Err(_) if inode(path) != Some(there) => Self::anew(path, Some(there)),
            // Answers can be had all the same.
            Err(error) if error.is_out_of_reach() => Self::in_memory(path),
            Err(error) => Err(error),
        }
    }

    /// An empty index in the place of the one that was judged, or of the one that is missing; another process may have made
    /// it meanwhile. Removing and making it needs a lock of its own: two files that share a write-ahead log would damage
    /// each other.
    fn anew(path: &Path, judged: Option<u64>) -> Result<Self, LedgerError> {
        let Some(_lock) = lock(path) else { return Self::in_memory(path) };
        let there = inode(path);
        if there.is_none() || there == judged {
            remove(path);
        }
        match Self::open_file(path) {
            Ok(Some(index)) => Ok(index),
            Ok(None) => Self::in_memory(path),
            Err(error) if error.is_out_of_reach() || error.is_damage() => Self::in_memory(path),
            // Somebody deletes it as fast as it is made.
            Err(_) if inode(path).is_none() => Self::in_memory(path),
            Err(error) => Err(error),
        }
    }

    /// None if it is of another version, or another file by now: what was opened may then be one file with the write-ahead
    /// log of the other.
    fn open_file(path: &Path) -> Result<Option<Self>, LedgerError> {
        let before = inode(path);
        let database = if before.is_some() { Database::open_existing(path)? } else { Database::open(path)? };
        let is_ours = schema::make(&database).map_err(|source| database.failed(source))?;
        let inode = inode(path);
        let is_same = inode.is_some() && (before.is_none() || before == inode);
        Ok((is_ours && is_same).then_some(Self { database, inode, was_busy: Cell::new(false) }))
    }

    fn in_memory(path: &Path) -> Result<Self, LedgerError> {
        let database = Database::in_memory(path)?;
        schema::make(&database).map_err(|source| database.failed(source))?;
        Ok(Self { database, inode: None, was_busy: Cell::new(false) })
    }

    fn apply_from(&self, log: &Connection, head: &Head, amount: Amount) -> rusqlite::Result<Applied> {
        let mut pause = Duration::ZERO;
        loop {
            let (epoch, seq, id) = position(&self.database.db)?;
            if epoch == Some(head.epoch) && seq == head.seq && id == Some(head.id) {
                return Ok(Applied::All);
            }
            if epoch.is_some_and(|epoch| epoch != head.epoch) || (seq > 0 && id != id_of(log, seq)?) {
                return Ok(Applied::Mismatch);
            }
            if seq > head.seq {
                return Ok(Applied::All);
            }
            thread::sleep(pause);
            self.apply_slice(log, head)?;
            self.database.tidy_between_parts(LONGEST_WAL);
            if amount == Amount::Slice {
                return Ok(Applied::All);
            }
            pause = PAUSE;
        }
    }

    fn apply_slice(&self, log: &Connection, head: &Head) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.database.db, TransactionBehavior::Immediate)?;
        // Another process may have applied some since.
        let (_, from, _) = position(&transaction)?;
        let mut applier = Applier::new(&transaction);
        let mut last = None;
        {
            let mut next = log.prepare_cached(
                "SELECT seq, id, at, kind, root, team, member, message, evidence, body, incarnation
                 FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2",
            )?;
            let mut rows = next.query([from, SLICE])?;
            while let Some(row) = rows.next()? {
                applier.apply(&Stored::from_row(row)?)?;
                last = Some((row.get::<_, i64>(0)?, row.get::<_, [u8; 16]>(1)?));
            }
        }
        if let Some((seq, id)) = last {
            transaction
                .prepare_cached("UPDATE applied SET epoch = ?1, seq = ?2, id = ?3")?
                .execute(params![head.epoch, seq, id])?;
        }
        drop(applier);
        transaction.commit()
    }
}

fn head(log: &Connection) -> rusqlite::Result<Head> {
    log.prepare_cached(
        "SELECT (SELECT epoch FROM log), (SELECT history = 1 FROM log), seq, id FROM events ORDER BY seq DESC LIMIT 1",
    )?
    .query_row([], |row| {
        Ok(Head { epoch: row.get(0)?, has_history_to_take: row.get(1)?, seq: row.get(2)?, id: row.get(3)? })
    })
}

type Position = (Option<[u8; 16]>, i64, Option<[u8; 16]>);

fn position(index: &Connection) -> rusqlite::Result<Position> {
    index
        .prepare_cached("SELECT epoch, seq, id FROM applied")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn id_of(log: &Connection, seq: i64) -> rusqlite::Result<Option<[u8; 16]>> {
    log.prepare_cached("SELECT id FROM events WHERE seq = ?1")?.query_row([seq], |row| row.get(0)).optional()
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ReadOnly)
}

fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).map(|found| found.ino()).ok()
}

/// The lock for removing and making the index; none if it cannot be had.
fn lock(path: &Path) -> Option<File> {
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path.with_file_name("index.lock"))
        .ok()?;
    for _ in 0..LOOKS {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK_AGAIN),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// What is not there, or stays because we may not remove it, is found out when it is opened.
fn remove(path: &Path) {
    for part in [with_suffix(path, "-wal"), with_suffix(path, "-shm"), path.to_owned()] {
        let _ = fs::remove_file(part);
    }
}
