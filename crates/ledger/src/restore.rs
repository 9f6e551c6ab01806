//! Messages that somebody undid, on their way back.

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::record::{number_of, reach, set_witnesses};
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

impl Ledger {
    /// How often a message was put back.
    pub fn times_restored(&self, inbox: &InboxKey, id: &str) -> Result<usize, LedgerError> {
        let query = || -> rusqlite::Result<usize> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(0) };
            number_of(db, inbox, id)?.map_or(Ok(0), |message| times_restored(db, message))
        };
        query().map_err(|source| self.failed(source))
    }

    /// All that it takes to put a message back, if it was put back so many times and nobody took it since: another
    /// process may have seen, and done, the same.
    pub fn draft_to_restore(
        &self,
        inbox: &InboxKey,
        id: &str,
        times: usize,
    ) -> Result<Option<String>, LedgerError> {
        let query = || -> rusqlite::Result<Option<String>> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(None) };
            let Some(message) = number_of(db, inbox, id)? else { return Ok(None) };
            if times_restored(db, message)? != times {
                return Ok(None);
            }
            let draft = db
                .prepare_cached("SELECT draft FROM messages WHERE seq = ?1 AND rank < ?2")?
                .query_row(params![message, Stage::Taken.rank()], |row| row.get(0))
                .optional()?;
            Ok(draft.flatten())
        };
        query().map_err(|source| self.failed(source))
    }

    /// These are in the inbox again, behind those that `witnesses` names, if that is known.
    pub fn restored(
        &mut self,
        inbox: &InboxKey,
        ids: &[String],
        now: i64,
        evidence: &Evidence,
        witnesses: Option<&str>,
    ) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            for id in ids {
                if let Some(message) = number_of(&transaction, inbox, id)? {
                    reach(&transaction, message, Stage::Restored, now, evidence)?;
                    set_witnesses(&transaction, message, witnesses)?;
                }
            }
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }
}

fn times_restored(db: &Connection, message: i64) -> rusqlite::Result<usize> {
    db.prepare_cached("SELECT count(*) FROM stages WHERE message = ?1 AND rank = ?2")?
        .query_row(params![message, Stage::Restored.rank()], |row| row.get::<_, i64>(0))
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}
