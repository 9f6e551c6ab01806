//! Which numbers equal messages without ids had when their inbox was last looked at.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;

/// From the number of the first that stood in the inbox, up to the next one that is free.
pub type Span = (u32, u32);

impl Ledger {
    /// The numbers of equal messages, by the id of the first of them: of these, and of all that stood in the inbox.
    pub fn equals(&self, inbox: &InboxKey, ids: &[&str]) -> Result<HashMap<String, Span>, LedgerError> {
        let query = || -> rusqlite::Result<HashMap<String, Span>> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(HashMap::new()) };
            let mut found = standing(&self.db, inbox)?;
            let mut find = self
                .db
                .prepare_cached("SELECT first, next FROM equals WHERE inbox = ?1 AND gone = 1 AND id = ?2")?;
            for id in ids {
                if !found.contains_key(*id)
                    && let Some(span) =
                        find.query_row(params![inbox, id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?
                {
                    found.insert((*id).to_owned(), span);
                }
            }
            Ok(found)
        };
        query().map_err(|source| self.failed(source))
    }
}

/// Remembers numbers.
pub(crate) fn remember(db: &Connection, inbox: i64, equals: &HashMap<String, Span>) -> rusqlite::Result<()> {
    let mut forget =
        db.prepare_cached("DELETE FROM equals WHERE inbox = ?1 AND gone IN (0, 1) AND id = ?2")?;
    let mut put =
        db.prepare_cached("INSERT INTO equals (inbox, gone, id, first, next) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (id, (first, next)) in equals {
        forget.execute(params![inbox, id])?;
        put.execute(params![inbox, first >= next, id, first, next])?;
    }
    Ok(())
}

fn standing(db: &Connection, inbox: i64) -> rusqlite::Result<HashMap<String, Span>> {
    db.prepare_cached("SELECT id, first, next FROM equals WHERE inbox = ?1 AND gone = 0")?
        .query_map([inbox], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
        .collect()
}
