//! Putting down how far a message came.

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::removal::note_removal;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

impl Ledger {
    /// All that it takes to write a message again, if we wrote it.
    pub fn draft(&self, inbox: &InboxKey, id: &str) -> Result<Option<String>, LedgerError> {
        let query = || -> rusqlite::Result<Option<String>> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(None) };
            let found = db
                .prepare_cached("SELECT draft FROM messages WHERE inbox = ?1 AND id = ?2")?
                .query_row(params![inbox, id], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        };
        query().map_err(|source| self.failed(source))
    }

    /// Messages that are in another inbox now, with their history; one that the other inbox has already stays.
    pub fn redirect(
        &mut self,
        from: &InboxKey,
        to: &InboxKey,
        ids: &[String],
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(from) = from.find(&transaction)? else { return Ok(()) };
            let to = to.find_or_make(&transaction)?;
            for id in ids {
                let moved = transaction
                    .prepare_cached(
                        "UPDATE OR IGNORE messages SET inbox = ?2 WHERE inbox = ?1 AND id = ?3 AND rank > ?4",
                    )?
                    .execute(params![from, to, id, Stage::Accepted.rank()])?;
                if moved > 0 {
                    note_removal(&transaction, to, id, None)?;
                    record(&transaction, to, id, Stage::Written, now, evidence)?;
                }
            }
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }

    /// Records a stage of a message.
    pub fn advance(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        stage: Stage,
        at: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            record(&transaction, inbox, id, stage, at, evidence)?;
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }
}

/// Puts a stage of a message down, if there is such a message.
pub(crate) fn record(
    db: &Connection,
    inbox: i64,
    id: &str,
    stage: Stage,
    at: i64,
    evidence: &Evidence,
) -> rusqlite::Result<()> {
    match number_of(db, inbox, id)? {
        Some(message) => reach(db, message, stage, at, evidence),
        None => Ok(()),
    }
}

/// Whether a message ever reached a stage.
pub(crate) fn has_reached(db: &Connection, message: i64, stage: Stage) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM stages WHERE message = ?1 AND rank = ?2")?
        .exists(params![message, stage.rank()])
}

/// The number of a message.
pub(crate) fn number_of(db: &Connection, inbox: i64, id: &str) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT seq FROM messages WHERE inbox = ?1 AND id = ?2")?
        .query_row(params![inbox, id], |row| row.get(0))
        .optional()
}

/// Puts a stage down, and moves the message there if it was not further already.
pub(crate) fn reach(
    db: &Connection,
    message: i64,
    stage: Stage,
    at: i64,
    evidence: &Evidence,
) -> rusqlite::Result<()> {
    put_down(db, message, stage, at, evidence)?;
    db.prepare_cached("UPDATE messages SET rank = ?2 WHERE seq = ?1 AND rank < ?2")?
        .execute(params![message, stage.rank()])?;
    if stage == Stage::Queued {
        db.prepare_cached("UPDATE messages SET queued = 1 WHERE seq = ?1")?.execute([message])?;
    }
    if evidence.unproved {
        db.prepare_cached("UPDATE messages SET unproved = 1 WHERE seq = ?1")?.execute([message])?;
    }
    Ok(())
}

/// Takes a message out of the stages that end its way, so that it can go on.
pub(crate) fn revive(db: &Connection, message: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE messages SET rank = ?2 WHERE seq = ?1 AND rank >= ?3")?
        .execute(params![message, Stage::Accepted.rank(), Stage::Failed.rank()])
        .map(drop)
}

/// Puts down that a message is in its inbox, and that its recipient is off if `stage` says so.
pub(crate) fn reach_inbox(
    db: &Connection,
    message: i64,
    stage: Stage,
    at: i64,
    evidence: &Evidence,
) -> rusqlite::Result<()> {
    reach(db, message, Stage::Written, at, evidence)?;
    reach(db, message, stage, at, evidence)
}

/// Puts down what stood before a message, if that is known.
pub(crate) fn set_witnesses(db: &Connection, message: i64, witnesses: Option<&str>) -> rusqlite::Result<()> {
    if let Some(witnesses) = witnesses {
        db.prepare_cached("UPDATE messages SET witnesses = ?2 WHERE seq = ?1")?
            .execute(params![message, witnesses])?;
    }
    Ok(())
}

/// Puts a stage down; the message stays where it is.
pub(crate) fn put_down(
    db: &Connection,
    message: i64,
    stage: Stage,
    at: i64,
    evidence: &Evidence,
) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO stages (message, rank, at, evidence) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![message, stage.rank(), at, evidence.to_json()])?;
    Ok(())
}
