//! Which numbers equal messages without ids had when their inbox was last looked at.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::log::event::Key;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;

/// From the number of the first that stood in the inbox, up to the next one that is free.
pub type Span = (u32, u32);

impl Ledger {
    /// The numbers of equal messages, by the id of the first of them: of these, and of all that stood in the inbox.
    pub fn equals(&self, inbox: &InboxKey, ids: &[&str]) -> Result<HashMap<String, Span>, LedgerError> {
        let query = || -> rusqlite::Result<HashMap<String, Span>> {
            let log = &self.log.db;
            let Some(key) = inbox.key(log)? else { return Ok(HashMap::new()) };
            let mut found = standing(log, key)?;
            let mut find = log.prepare_cached(
                "SELECT first, next FROM equals
                 WHERE root = ?1 AND team = ?2 AND member = ?3 AND gone = 1 AND id = ?4",
            )?;
            for id in ids {
                if !found.contains_key(*id)
                    && let Some(span) = find
                        .query_row(params![key.root, key.team, key.member, id], |row| {
                            Ok((row.get(0)?, row.get(1)?))
                        })
                        .optional()?
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
pub(crate) fn remember(
    log: &Connection,
    key: Key<'_>,
    equals: &HashMap<String, Span>,
) -> rusqlite::Result<()> {
    let mut forget = log.prepare_cached(
        "DELETE FROM equals WHERE root = ?1 AND team = ?2 AND member = ?3 AND gone IN (0, 1) AND id = ?4",
    )?;
    let mut put = log.prepare_cached(
        "INSERT INTO equals (root, team, member, gone, id, first, next) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (id, (first, next)) in equals {
        forget.execute(params![key.root, key.team, key.member, id])?;
        put.execute(params![key.root, key.team, key.member, first >= next, id, first, next])?;
    }
    Ok(())
}

fn standing(log: &Connection, key: Key<'_>) -> rusqlite::Result<HashMap<String, Span>> {
    log.prepare_cached(
        "SELECT id, first, next FROM equals WHERE root = ?1 AND team = ?2 AND member = ?3 AND gone = 0",
    )?
    .query_map(params![key.root, key.team, key.member], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
    .collect()
}
