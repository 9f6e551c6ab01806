//! The tables of `log.db`: the events, and what decisions rest on. Few, since every send parses their definitions.

use std::path::Path;

use rusqlite::{TransactionBehavior, params};
use uuid::Uuid;

use crate::database::{Database, turn_wal_on, version};
use crate::error::LedgerError;
use crate::legacy;
use crate::log::append::insert;
use crate::log::event::{Kind, NewEvent};
use crate::seam::Transaction;

/// The first number of an event that this log saw happen. Lower ones are history that was taken over from before there
/// was a log.
pub(crate) const FIRST: i64 = 1 << 40;

/// Each step makes the next version; a log of version n needs the steps from n on.
const STEPS: &[&str] = &["
-- One row. `history`: 1 as long as an older ledger is being taken over, 2 if damage in that one ended it early.
CREATE TABLE log (epoch BLOB NOT NULL, origin BLOB NOT NULL, history INTEGER NOT NULL) STRICT;

-- Which shared tree is at which path of this machine. Events name the tree by its id alone.
CREATE TABLE roots (path TEXT PRIMARY KEY, id BLOB NOT NULL) STRICT, WITHOUT ROWID;

-- Append-only. `origin` is empty for what happened here. Large columns come last, so that a scan passes over them.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    root BLOB,
    team TEXT,
    incarnation TEXT,
    member TEXT,
    message TEXT,
    origin BLOB,
    evidence TEXT,
    body TEXT
) STRICT;

-- What is accepted and not written, by the number of its event: the queue.
CREATE TABLE waiting (
    seq INTEGER PRIMARY KEY,
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    message TEXT NOT NULL
) STRICT;

-- Up to where each source of proofs was read, for whose mail, and which occurrences in it have proved a message, which is
-- named by the number of the event that brought it.
CREATE TABLE sources (
    source TEXT NOT NULL,
    reader TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (source, reader)
) STRICT, WITHOUT ROWID;
CREATE TABLE proofs (
    source TEXT NOT NULL,
    position INTEGER NOT NULL,
    entry TEXT,
    message INTEGER NOT NULL,
    PRIMARY KEY (source, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX proofs_entry ON proofs (entry) WHERE entry IS NOT NULL;

-- Steps of chores, each taken by one runner.
CREATE TABLE steps (
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    chore TEXT NOT NULL,
    subject TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    boot TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start TEXT NOT NULL,
    taken_at INTEGER NOT NULL,
    ended_at INTEGER,
    what TEXT NOT NULL,
    PRIMARY KEY (root, team, chore, subject, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_open ON steps (root, team) WHERE state <> 'finished';

-- What an inbox looked like at the last look, and how far a health sweep is with its owner.
CREATE TABLE members (
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    signature TEXT,
    health TEXT,
    PRIMARY KEY (root, team, member)
) STRICT, WITHOUT ROWID;

-- Facts about a member, and when each was last seen to be so.
CREATE TABLE facts (
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    fact TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (root, team, member, fact)
) STRICT, WITHOUT ROWID;

-- Equal messages without ids, by the id of the first of them: which numbers stood in the inbox at the last look, and
-- which one is free. Those of which none stands there are kept apart: there are more and more of them.
CREATE TABLE equals (
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    member TEXT NOT NULL,
    gone INTEGER NOT NULL,
    id TEXT NOT NULL,
    first INTEGER NOT NULL,
    next INTEGER NOT NULL,
    PRIMARY KEY (root, team, member, gone, id)
) STRICT, WITHOUT ROWID;
", "
-- The team that has a name now, or had it last: `incarnation` tells it from others that had the name before, `created` is
-- the time by which it was recognised, `tasks` what its task files looked like at the last look.
CREATE TABLE teams (
    root BLOB NOT NULL,
    team TEXT NOT NULL,
    incarnation INTEGER NOT NULL,
    created INTEGER,
    tasks TEXT,
    PRIMARY KEY (root, team)
) STRICT, WITHOUT ROWID;

-- The state that a member was last recorded in, and when that began.
ALTER TABLE members ADD COLUMN presence TEXT;
ALTER TABLE members ADD COLUMN presence_at INTEGER;
"];

/// The version that this code knows.
pub(crate) fn known_version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Opens the log at `path` with all its tables. A new one takes over what an older ledger beside it has waiting.
pub(crate) fn open(path: &Path) -> Result<Database, LedgerError> {
    let log = Database::open(path)?;
    let found = log.version().map_err(|source| log.failed(source))?;
    if found > known_version() {
        return Err(LedgerError::TooNew { path: path.to_owned(), found, known: known_version() });
    }
    if found < known_version() {
        bring_up_to_date(&log)?;
    }
    Ok(log)
}

fn bring_up_to_date(log: &Database) -> Result<(), LedgerError> {
    let fail = |source| log.failed(source);
    turn_wal_on(&log.db).map_err(fail)?;
    // Another process may be at it: the first to get the lock does it, the others find it done.
    let transaction = Transaction::new_unchecked(&log.db, TransactionBehavior::Immediate).map_err(fail)?;
    let found = version(&transaction).map_err(fail)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step).map_err(fail)?;
    }
    let mut sealed = None;
    if found == 0 {
        sealed = legacy::seal_beside_new(&log.path)?;
        begin(&transaction, sealed.is_some()).map_err(fail)?;
        if let Some(old) = &sealed {
            legacy::take_over_state(old, &transaction).map_err(fail)?;
        }
    }
    transaction.pragma_update(None, "user_version", known_version()).map_err(fail)?;
    transaction.commit().map_err(fail)?;
    if let Some(old) = &sealed
        && log.make_durable_with_folder().is_ok()
    {
        // Not before: a power cut must leave the queue in one of the two.
        legacy::release_waiting(old);
    }
    Ok(())
}

/// Writes the first event, from which numbers go up.
fn begin(log: &Transaction<'_>, has_history: bool) -> rusqlite::Result<()> {
    let (epoch, origin) = (Uuid::new_v4(), Uuid::new_v4());
    log.prepare_cached("INSERT INTO log (epoch, origin, history) VALUES (?1, ?2, ?3)")?.execute(params![
        epoch.as_bytes(),
        origin.as_bytes(),
        has_history
    ])?;
    insert(log, Some(FIRST), &NewEvent::new(Kind::Began, 0)).map(drop)
}
