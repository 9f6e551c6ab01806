//! The place of a message where the words were found.

use rusqlite::TransactionBehavior;

use super::{MARK_END, MARK_START};
use crate::lookup::Recorded;
use crate::seam::Connection;

/// For each of these messages its place with the words marked; none if it does not have them. The index has no texts to
/// take it from, so a few messages at a time go through an index of their own, in memory, by the same rules of what a word is.
pub(super) fn of(db: &Connection, words: &str, found: &[Recorded]) -> rusqlite::Result<Vec<Option<String>>> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    db.execute_batch(
        "PRAGMA temp_store = MEMORY;
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.found USING fts5 (text, summary, sender);",
    )?;
    let mut places = vec![None; found.len()];
    // Rolled back at the end: nothing stays in it.
    let transaction = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Deferred)?;
    {
        let mut add = transaction.prepare_cached(
            "INSERT INTO temp.found (rowid, text, summary, sender) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for (number, message) in (0_i64..).zip(found) {
            add.execute(rusqlite::params![number, message.text, message.summary, message.sender])?;
        }
        let mut ask = transaction.prepare_cached(&format!(
            "SELECT rowid, snippet(found, 0, '{MARK_START}', '{MARK_END}', '…', 16) FROM temp.found WHERE found MATCH ?1"
        ))?;
        let mut rows = ask.query([words])?;
        while let Some(row) = rows.next()? {
            let number = usize::try_from(row.get::<_, i64>(0)?);
            if let Some(place) = number.ok().and_then(|number| places.get_mut(number)) {
                *place = Some(row.get(1)?);
            }
        }
    }
    Ok(places)
}
