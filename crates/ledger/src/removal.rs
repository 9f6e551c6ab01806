//! What we take out of an inbox ourselves.
//!
//! It is put down before it is done, so that whoever looks at the inbox next knows why a message is not there: nobody
//! took it, and nobody undid it. A record of something that did not happen does no harm: as long as the message is there,
//! the record means nothing, and after a while it is forgotten.

use rusqlite::params;

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;

impl Ledger {
    /// We are about to take these out of an inbox. Ids that the ledger does not know are passed over.
    pub fn removing(&mut self, inbox: &InboxKey, ids: &[&str], now: i64) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            ids.iter().try_for_each(|id| note_removal(&transaction, inbox, id, Some(now)))?;
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }

    /// These are in the inbox after all.
    pub fn not_removed(&mut self, inbox: &InboxKey, ids: &[&str]) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            ids.iter().try_for_each(|id| note_removal(&transaction, inbox, id, None))?;
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }
}

/// Notes since when a message is about to be taken out, or that it is not.
pub(crate) fn note_removal(
    db: &Connection,
    inbox: i64,
    id: &str,
    since: Option<i64>,
) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE messages SET removing_since = ?3 WHERE inbox = ?1 AND id = ?2")?
        .execute(params![inbox, id, since])
        .map(drop)
}
