//! What we take out of an inbox ourselves.
//!
//! It is put down before it is done, so that whoever looks at the inbox next knows why a message is not there: nobody
//! took it, and nobody undid it. A record of something that did not happen does no harm: as long as the message is there,
//! the record means nothing, and after a while it is forgotten.

use rusqlite::params;

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::record::number_of;
use crate::row::InboxKey;
use crate::seam::Connection;

impl Ledger {
    /// We are about to take these out of an inbox. Ids that the ledger does not know are passed over.
    pub fn removing(
        &mut self,
        inbox: &InboxKey,
        ids: &[&str],
        now: i64,
        why: &str,
    ) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            for id in ids {
                if let Some(message) = number_of(&transaction, inbox, id)? {
                    transaction
                        .prepare_cached(
                            "INSERT OR REPLACE INTO removals (message, at, why) VALUES (?1, ?2, ?3)",
                        )?
                        .execute(params![message, now, why])?;
                }
            }
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }

    /// These are in the inbox after all.
    pub fn not_removed(&mut self, inbox: &InboxKey, ids: &[&str]) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let Some(inbox) = inbox.find(&transaction)? else { return Ok(()) };
            ids.iter().try_for_each(|id| keep(&transaction, inbox, id))?;
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }
}

/// Forgets that a message was to be taken out.
pub(crate) fn keep(db: &Connection, inbox: i64, id: &str) -> rusqlite::Result<()> {
    if let Some(message) = number_of(db, inbox, id)? {
        db.prepare_cached("DELETE FROM removals WHERE message = ?1")?.execute([message])?;
    }
    Ok(())
}
