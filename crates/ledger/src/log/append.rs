//! Appending events.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, TransactionBehavior, params};
use uuid::{NoContext, Timestamp, Uuid};

use crate::error::LedgerError;
use crate::log::event::{Key, NewEvent, RootId};
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::{Connection, Transaction};

impl Ledger {
    /// Appends what `work` finds, all or nothing of it.
    pub(crate) fn append<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let append = || -> rusqlite::Result<T> {
            let transaction = Transaction::new_unchecked(&self.log.db, TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        append().map_err(|source| self.failed(source))
    }
}

/// A new id (`UUIDv7`), also where the clock shows a time before 1970: there `Uuid::now_v7` panics.
fn fresh_id() -> Uuid {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Uuid::new_v7(Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos()))
}

/// Appends an event, and gives its number.
pub(crate) fn append(log: &Connection, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
    insert(log, None, event)
}

/// The same under a number that is free.
pub(crate) fn insert(log: &Connection, seq: Option<i64>, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
    let id = fresh_id();
    log.prepare_cached(
        "INSERT INTO events (seq, id, at, kind, root, team, member, message, evidence, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .insert(params![
        seq,
        id.as_bytes(),
        event.at,
        event.kind.code(),
        event.key.map(|key| key.root),
        event.key.map(|key| key.team),
        event.key.map(|key| key.member),
        event.message,
        event.evidence,
        event.body
    ])
}

/// The id of the tree at a path, if the log knows one.
pub(crate) fn root_id(log: &Connection, path: &str) -> rusqlite::Result<Option<RootId>> {
    log.prepare_cached("SELECT id FROM roots WHERE path = ?1")?.query_row([path], |row| row.get(0)).optional()
}

/// The id of the tree at a path; a new one gets one.
pub(crate) fn find_or_make_root(log: &Connection, path: &str) -> rusqlite::Result<RootId> {
    if let Some(id) = root_id(log, path)? {
        return Ok(id);
    }
    let id = Uuid::new_v4().into_bytes();
    log.prepare_cached("INSERT INTO roots (path, id) VALUES (?1, ?2)")?.execute(params![path, id])?;
    Ok(id)
}

impl InboxKey {
    /// The member in the log's words, if the log knows its tree.
    pub(crate) fn key(&self, log: &Connection) -> rusqlite::Result<Option<Key<'_>>> {
        let root = root_id(log, &self.root)?;
        Ok(root.map(|root| Key { root, team: &self.team, member: &self.name }))
    }

    /// The same; a new tree gets its id.
    pub(crate) fn make_key(&self, log: &Connection) -> rusqlite::Result<Key<'_>> {
        let root = find_or_make_root(log, &self.root)?;
        Ok(Key { root, team: &self.team, member: &self.name })
    }
}
