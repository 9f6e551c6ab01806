//! What came since somebody last looked: the queue of what is to be written, and what was written and is not filed yet.
//!
//! A send puts one row here and marks it once the inbox has the message. The table of messages has many indexes: a
//! process that runs for one message would spend more on them than on the mail. Whoever looks at messages next files
//! all arrivals first, and so does a sender that finds many.

use std::collections::{HashMap, HashSet};

use rusqlite::{ErrorCode, OptionalExtension, Row, TransactionBehavior, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::record::{has_reached, number_of, put_down, reach, reach_inbox, revive, set_witnesses};
use crate::row::{InboxKey, NewMessage};
use crate::seam::{Connection, Transaction};
use crate::stage::{Evidence, Stage};

/// Whoever brings every so many-th files them all, so that the first one who looks has little to do.
const MANY: i64 = 32;

/// A message that we promise to write.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// For whom.
    pub inbox: InboxKey,
    /// What.
    pub message: NewMessage,
    /// Its id was made for it: the inbox cannot have had it before.
    pub is_new: bool,
    /// All that it takes to write it, in the office's own words.
    pub draft: String,
}

/// What became of a message that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is accepted and will be written.
    Waiting,
    /// It was written into its inbox.
    Written,
    /// It was taken back before it was written.
    Withdrawn,
    /// The ledger has no such message.
    Unknown,
}

struct Arrival {
    seq: i64,
    inbox: InboxKey,
    id: String,
    at: i64,
    by: String,
    /// It is among the messages already, and here because it is not written.
    is_filed: bool,
    written: Option<(Stage, i64, Evidence)>,
    witnesses: Option<String>,
    message: String,
    draft: String,
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
        let known = accept(&self.db, messages, now, by).map_err(|source| self.failed(source))?;
        let brought = messages.len() - known.len();
        let last = self.db.last_insert_rowid();
        let before = last - i64::try_from(brought).unwrap_or(last);
        self.much_arrived |= brought > 0 && before / MANY != last / MANY;
        Ok(known)
    }

    /// What is accepted for an inbox and not written yet, oldest first: id and draft.
    pub fn waiting(&self, inbox: &InboxKey) -> Result<Vec<(String, String)>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            self.db
                .prepare_cached(
                    "SELECT id, draft FROM arrivals
                     WHERE rank IS NULL AND name = ?1 AND team = ?2 AND root = ?3 ORDER BY seq",
                )?
                .query_map(params![inbox.name, inbox.team, inbox.root], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Whether anything is accepted and not written, for whomever.
    pub fn has_waiting(&self) -> Result<bool, LedgerError> {
        let query = || self.db.prepare_cached("SELECT 1 FROM arrivals WHERE rank IS NULL")?.exists([]);
        query().map_err(|source| self.failed(source))
    }

    /// All inboxes below a root for which something is accepted and not written: by a process that died, or by one at
    /// work now.
    pub fn inboxes_with_waiting(&self, root: &str) -> Result<Vec<InboxKey>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<InboxKey>> {
            self.db
                .prepare_cached(
                    "SELECT DISTINCT root, team, name FROM arrivals
                     WHERE rank IS NULL AND root = ?1",
                )?
                .query_map(params![root], |row| InboxKey::from_row(row, 0))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The promise is kept: these are in the inbox file, behind those that `witnesses` names, if that is known.
    pub fn written(
        &mut self,
        inbox: &InboxKey,
        ids: &[(String, Stage)],
        now: i64,
        evidence: &Evidence,
        witnesses: Option<&str>,
    ) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
            // Asked once: the table has no index, and a batch may have thousands.
            let waiting = waiting_numbers(&transaction, inbox)?;
            let mut mark = transaction.prepare_cached(
                "UPDATE arrivals SET rank = ?2, written_at = ?3, evidence = ?4, witnesses = ?5 WHERE seq = ?1",
            )?;
            for (id, stage) in ids {
                if let Some(seq) = waiting.get(id) {
                    mark.execute(params![seq, stage.rank(), now, evidence.to_json(), witnesses])?;
                } else if let Some(inbox) = inbox.find(&transaction)?
                    && let Some(message) = number_of(&transaction, inbox, id)?
                    && !has_reached(&transaction, message, Stage::Written)?
                {
                    // It counted as failed, and it is there.
                    revive(&transaction, message)?;
                    reach_inbox(&transaction, message, *stage, now, evidence)?;
                    set_witnesses(&transaction, message, witnesses)?;
                }
            }
            drop(mark);
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }

    /// Takes a promise back that could not be kept, and says what became of the message: it was withdrawn, or it was not
    /// waiting any more. Whoever calls this has to know that nobody is writing the message at this moment.
    pub fn withdraw(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        now: i64,
        evidence: &Evidence,
    ) -> Result<Fate, LedgerError> {
        let fates = self.withdraw_all(inbox, &[id], now, evidence)?;
        Ok(fates.first().copied().unwrap_or(Fate::Unknown))
    }

    /// The same for several of one inbox, all or none of them; the answers stand in their order.
    pub fn withdraw_all(
        &mut self,
        inbox: &InboxKey,
        ids: &[&str],
        now: i64,
        evidence: &Evidence,
    ) -> Result<Vec<Fate>, LedgerError> {
        let write = || -> rusqlite::Result<Vec<Fate>> {
            let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
            let waiting = waiting_numbers(&transaction, inbox)?;
            // Small changes in place, which a disk that is full may still have room for.
            let mut withdraw = transaction.prepare_cached(
                "UPDATE arrivals SET rank = ?2, written_at = ?3, evidence = ?4 WHERE seq = ?1",
            )?;
            let mut fates = Vec::new();
            for id in ids {
                fates.push(match waiting.get(*id) {
                    Some(seq) => {
                        withdraw.execute(params![seq, Stage::Failed.rank(), now, evidence.to_json()])?;
                        Fate::Withdrawn
                    }
                    None => fate(&transaction, inbox, id)?,
                });
            }
            drop(withdraw);
            transaction.commit()?;
            Ok(fates)
        };
        write().map_err(|source| self.failed(source))
    }

    /// What became of a message that was accepted for an inbox.
    pub fn fate(&self, inbox: &InboxKey, id: &str) -> Result<Fate, LedgerError> {
        fate(&self.db, inbox, id).map_err(|source| self.failed(source))
    }

    /// The tables, with all that arrived among the messages.
    pub(crate) fn filed(&self) -> rusqlite::Result<&Connection> {
        if self.db.is_autocommit() && !self.cannot_file.get() && is_behind(&self.db)? {
            match self.change().and_then(Transaction::commit) {
                // Then one sees what others filed. Waited for once: a look has many questions.
                Err(error) if cannot_write(&error) => self.cannot_file.set(true),
                done => done?,
            }
        }
        Ok(&self.db)
    }

    /// A change of the tables, with all that arrived among the messages.
    pub(crate) fn change(&self) -> rusqlite::Result<Transaction<'_>> {
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        file(&transaction)?;
        self.cannot_file.set(false);
        Ok(transaction)
    }
}

/// Whether we may not write, or somebody else does and does not end.
fn cannot_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::DatabaseBusy))
}

fn accept(db: &Connection, messages: &[Acceptance], now: i64, by: &str) -> rusqlite::Result<Vec<String>> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let mut known = Vec::new();
    if messages.iter().any(|accepted| !accepted.is_new) {
        file(&transaction)?;
    }
    let mut arrive = transaction.prepare_cached(
        "INSERT INTO arrivals (root, team, name, id, at, by, message, draft) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let mut given = HashSet::new();
    for Acceptance { inbox, message, is_new, draft } in messages {
        if !is_new && (is_known(&transaction, inbox, &message.id)? || !given.insert((inbox, &message.id))) {
            known.push(message.id.clone());
            continue;
        }
        let InboxKey { root, team, name } = inbox;
        arrive.execute(params![root, team, name, message.id, now, by, message.to_json(), draft])?;
    }
    drop(arrive);
    transaction.commit()?;
    Ok(known)
}

/// Whether an inbox has had an id before. One that failed may be sent again.
fn is_known(db: &Connection, inbox: &InboxKey, id: &str) -> rusqlite::Result<bool> {
    let Some(inbox) = inbox.find(db)? else { return Ok(false) };
    db.prepare_cached("SELECT 1 FROM messages WHERE inbox = ?1 AND id = ?2 AND rank < ?3")?.exists(params![
        inbox,
        id,
        Stage::Failed.rank()
    ])
}

/// The rows of what is accepted for an inbox and not written, by id.
fn waiting_numbers(db: &Connection, inbox: &InboxKey) -> rusqlite::Result<HashMap<String, i64>> {
    db.prepare_cached(
        "SELECT id, seq FROM arrivals WHERE rank IS NULL AND name = ?1 AND team = ?2 AND root = ?3",
    )?
    .query_map(params![inbox.name, inbox.team, inbox.root], |row| Ok((row.get(0)?, row.get(1)?)))?
    .collect()
}

fn fate(db: &Connection, inbox: &InboxKey, id: &str) -> rusqlite::Result<Fate> {
    let of_rank = |rank: Option<i64>| match rank.map(Stage::from_rank) {
        None => Fate::Waiting,
        Some(Stage::Failed) => Fate::Withdrawn,
        Some(_) => Fate::Written,
    };
    let arrived: Option<Option<i64>> = db
        .prepare_cached(
            "SELECT rank FROM arrivals WHERE id = ?1 AND name = ?2 AND team = ?3 AND root = ?4
             ORDER BY seq DESC LIMIT 1",
        )?
        .query_row(params![id, inbox.name, inbox.team, inbox.root], |row| row.get(0))
        .optional()?;
    if let Some(rank) = arrived {
        return Ok(of_rank(rank));
    }
    let Some(inbox) = inbox.find(db)? else { return Ok(Fate::Unknown) };
    let Some(message) = number_of(db, inbox, id)? else { return Ok(Fate::Unknown) };
    Ok(if has_reached(db, message, Stage::Written)? { Fate::Written } else { Fate::Withdrawn })
}

/// Whether something came since arrivals were last filed.
fn is_behind(db: &Connection) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM arrivals WHERE filed = 0 OR rank IS NOT NULL")?.exists([])
}

/// Puts all that arrived among the messages. What is not written yet stays here too, as the queue.
fn file(db: &Connection) -> rusqlite::Result<()> {
    let numbers: Vec<i64> = db
        .prepare_cached("SELECT seq FROM arrivals WHERE filed = 0 OR rank IS NOT NULL ORDER BY seq")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // One at a time: some are large.
    for number in numbers {
        let arrival = db
            .prepare_cached(
                "SELECT root, team, name, seq, id, at, by, filed, rank, written_at, evidence, message, draft, witnesses
                 FROM arrivals WHERE seq = ?1",
            )?
            .query_row([number], Arrival::from_row)?;
        let inbox = arrival.inbox.find_or_make(db)?;
        if !arrival.is_filed {
            arrival.put_in(db, inbox)?;
        }
        match &arrival.written {
            None => {
                db.prepare_cached("UPDATE arrivals SET filed = 1 WHERE seq = ?1")?.execute([arrival.seq])?
            }
            Some((stage, at, evidence)) => {
                match number_of(db, inbox, &arrival.id)? {
                    Some(message) if *stage == Stage::Failed => reach(db, message, *stage, *at, evidence)?,
                    Some(message) => {
                        reach_inbox(db, message, *stage, *at, evidence)?;
                        set_witnesses(db, message, arrival.witnesses.as_deref())?;
                    }
                    None => {}
                }
                db.prepare_cached("DELETE FROM arrivals WHERE seq = ?1")?.execute([arrival.seq])?
            }
        };
    }
    Ok(())
}

impl Arrival {
    fn from_row(row: &Row) -> rusqlite::Result<Self> {
        let written = match row.get::<_, Option<i64>>(8)? {
            Some(rank) => {
                let evidence: String = row.get(10)?;
                Some((Stage::from_rank(rank), row.get(9)?, Evidence::from_json(&evidence)))
            }
            None => None,
        };
        Ok(Self {
            inbox: InboxKey::from_row(row, 0)?,
            seq: row.get(3)?,
            id: row.get(4)?,
            at: row.get(5)?,
            by: row.get(6)?,
            is_filed: row.get(7)?,
            written,
            message: row.get(11)?,
            draft: row.get(12)?,
            witnesses: row.get(13)?,
        })
    }

    /// Puts it among the messages. There it may be already, if it failed before or was found in its inbox.
    fn put_in(&self, db: &Connection, inbox: i64) -> rusqlite::Result<()> {
        let evidence = Evidence::certain("accepted by atm").by(&self.by);
        let message = NewMessage::from_json(&self.message).unwrap_or_else(|| self.what_is_known());
        let mut number = message.insert(db, inbox, self.at, Stage::Accepted.rank(), Some(&self.draft))?;
        if number.is_none() {
            db.prepare_cached(
                "UPDATE messages SET ours = 1, draft = ?3, rank = iif(rank >= ?5, ?4, rank)
                 WHERE inbox = ?1 AND id = ?2",
            )?
            .execute(params![
                inbox,
                self.id,
                self.draft,
                Stage::Accepted.rank(),
                Stage::Failed.rank()
            ])?;
            number = number_of(db, inbox, &self.id)?;
        }
        match number {
            Some(number) => put_down(db, number, Stage::Accepted, self.at, &evidence),
            None => Ok(()),
        }
    }

    /// For a row that we cannot read: it must not keep all others from being filed.
    fn what_is_known(&self) -> NewMessage {
        NewMessage {
            id: self.id.clone(),
            sender: self.by.clone(),
            text: self.draft.clone(),
            kind: "message".to_owned(),
            sent_at: self.at,
            ..NewMessage::default()
        }
    }
}
