//! The promise: a message that is accepted will be written, whoever dies in between.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::row::{InboxKey, NewMessage};
use crate::stage::{Evidence, Stage};

/// A message that we promise to write.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// For whom.
    pub inbox: InboxKey,
    /// What.
    pub message: NewMessage,
    /// All that it takes to write it, in the office's own words.
    pub draft: String,
}

impl Ledger {
    /// Takes messages on: when this returns, they survive the death of the process. They are safe from a power cut once
    /// they are in the inbox file, and nobody is told before that that they were sent. Gives the ids that the inbox has
    /// had before: those are not written again, unless they failed then.
    pub fn accept(
        &mut self,
        messages: &[Acceptance],
        now: i64,
        by: &str,
    ) -> Result<Vec<String>, LedgerError> {
        accept(&mut self.db, messages, now, by).map_err(|source| self.failed(source))
    }

    /// What is accepted for an inbox and not written yet, oldest first: id and draft.
    pub fn waiting(&self, inbox: &InboxKey) -> Result<Vec<(String, String)>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(Vec::new()) };
            self.db
                .prepare_cached(
                    "SELECT id, draft FROM messages WHERE inbox = ?1 AND waiting = 1 ORDER BY seq",
                )?
                .query_map([inbox], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// All inboxes below a root for which something is accepted and not written, other than by a process at work now.
    pub fn inboxes_with_waiting(&self, root: &str, before: i64) -> Result<Vec<InboxKey>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<InboxKey>> {
            self.db
                .prepare_cached(
                    "SELECT DISTINCT i.root, i.team, i.name FROM messages m JOIN inboxes i ON i.id = m.inbox
                     WHERE m.waiting = 1 AND i.root = ?1 AND m.noticed_at < ?2",
                )?
                .query_map(params![root, before], |row| {
                    Ok(InboxKey { root: row.get(0)?, team: row.get(1)?, name: row.get(2)? })
                })?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The promise is kept: these are in the inbox file.
    pub fn written(
        &mut self,
        inbox: &InboxKey,
        ids: &[(String, Stage)],
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let write = |db: &mut Connection| -> rusqlite::Result<()> {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            for (id, stage) in ids {
                let Some(message) = kept(&transaction, inbox, id)? else { continue };
                put_down(&transaction, message, Stage::Written, now, evidence)?;
                if *stage != Stage::Written {
                    reach(&transaction, message, *stage, now, evidence)?;
                }
            }
            transaction.commit()
        };
        let written = write(&mut self.db);
        written.map_err(|source| self.failed(source))
    }

    /// Takes a promise back that could not be kept. Says whether that was in time: if not, it was written meanwhile.
    pub fn withdraw(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        now: i64,
        evidence: &Evidence,
    ) -> Result<bool, LedgerError> {
        let mut write = || -> rusqlite::Result<bool> {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(true) };
            let in_time = transaction
                .prepare_cached(
                    "UPDATE messages SET waiting = 0 WHERE inbox = ?1 AND id = ?2 AND waiting = 1",
                )?
                .execute(params![inbox, id])?
                > 0;
            if in_time {
                record(&transaction, inbox, id, Stage::Failed, now, evidence)?;
            }
            transaction.commit()?;
            Ok(in_time)
        };
        let withdrawn = write();
        withdrawn.map_err(|source| self.failed(source))
    }

    /// All that it takes to write a message again, if we wrote it.
    pub fn draft(&self, inbox: &InboxKey, id: &str) -> Result<Option<String>, LedgerError> {
        let query = || -> rusqlite::Result<Option<String>> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(None) };
            let found = self
                .db
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
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some(from) = from.find(&transaction)? else { return Ok(()) };
            let to = to.find_or_make(&transaction)?;
            for id in ids {
                let moved = transaction
                    .prepare_cached(
                        "UPDATE OR IGNORE messages SET inbox = ?2 WHERE inbox = ?1 AND id = ?3 AND waiting = 0",
                    )?
                    .execute(params![from, to, id])?;
                if moved > 0 {
                    record(&transaction, to, id, Stage::Written, now, evidence)?;
                }
            }
            transaction.commit()
        };
        let written = write();
        written.map_err(|source| self.failed(source))
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
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(()) };
            record(&self.db, inbox, id, stage, at, evidence)
        };
        write().map_err(|source| self.failed(source))
    }
}

fn accept(db: &mut Connection, messages: &[Acceptance], now: i64, by: &str) -> rusqlite::Result<Vec<String>> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut known = Vec::new();
    for Acceptance { inbox, message, draft } in messages {
        let inbox = inbox.find_or_make(&transaction)?;
        let evidence = Evidence::certain("accepted by atm").by(by);
        match message.insert(&transaction, inbox, now, Stage::Accepted.rank(), Some(draft))? {
            Some(new) => put_down(&transaction, new, Stage::Accepted, now, &evidence)?,
            None if try_again(&transaction, inbox, &message.id, draft)? => {
                record(&transaction, inbox, &message.id, Stage::Accepted, now, &evidence)?;
            }
            None => known.push(message.id.clone()),
        }
    }
    transaction.commit()?;
    Ok(known)
}

/// A message that failed before may be sent again under its id.
fn try_again(db: &Connection, inbox: i64, id: &str, draft: &str) -> rusqlite::Result<bool> {
    let again = db
        .prepare_cached(
            "UPDATE messages SET waiting = 1, ours = 1, draft = ?3, rank = ?4
             WHERE inbox = ?1 AND id = ?2 AND rank >= ?5",
        )?
        .execute(params![inbox, id, draft, Stage::Accepted.rank(), Stage::Failed.rank()])?;
    Ok(again > 0)
}

/// Marks a message as written, unless it came further already; gives its number.
fn kept(db: &Connection, inbox: i64, id: &str) -> rusqlite::Result<Option<i64>> {
    let message = number_of(db, inbox, id)?;
    if let Some(message) = message {
        db.prepare_cached("UPDATE messages SET waiting = 0, rank = max(rank, ?2) WHERE seq = ?1")?
            .execute(params![message, Stage::Written.rank()])?;
    }
    Ok(message)
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
    let evidence = serde_json::to_string(evidence).unwrap_or_default();
    db.prepare_cached("INSERT OR IGNORE INTO stages (message, rank, at, evidence) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![message, stage.rank(), at, evidence])?;
    Ok(())
}
