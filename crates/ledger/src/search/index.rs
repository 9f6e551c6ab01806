//! The index of words: brought up to date by the search, so that no send pays for it.

use std::collections::HashSet;

use rusqlite::{Connection, TransactionBehavior};

/// What is longer is no word that somebody types a part of.
const LONGEST_WORD: usize = 64;

/// Takes the words of new messages in.
pub(super) fn bring_up_to_date(db: &mut Connection) -> rusqlite::Result<()> {
    let behind = "SELECT (SELECT up_to FROM indexed) < (SELECT coalesce(max(seq), 0) FROM messages)";
    if !db.query_row(behind, [], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let new = new_words(&transaction)?;
    {
        let mut add = transaction.prepare("INSERT OR IGNORE INTO vocabulary (word) VALUES (?1)")?;
        for word in &new {
            add.execute([word])?;
        }
    }
    transaction.execute_batch(
        "INSERT INTO words (rowid, text, summary, sender)
             SELECT -seq, text, summary, sender FROM messages WHERE seq > (SELECT up_to FROM indexed)
             ORDER BY seq DESC;
         UPDATE indexed SET up_to = (SELECT coalesce(max(seq), 0) FROM messages);",
    )?;
    transaction.commit()
}

/// The words of the messages that are not in the index.
fn new_words(db: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut new =
        db.prepare("SELECT text, summary, sender FROM messages WHERE seq > (SELECT up_to FROM indexed)")?;
    let mut rows = new.query([])?;
    let mut words = HashSet::new();
    while let Some(row) = rows.next()? {
        for column in 0..3 {
            let text = row.get_ref(column)?.as_str_or_null()?.unwrap_or_default();
            for word in text.split(|c: char| !c.is_alphanumeric()) {
                if !word.is_empty() && word.len() <= LONGEST_WORD && !words.contains(word) {
                    words.insert(word.to_lowercase());
                }
            }
        }
    }
    Ok(words)
}

/// Words that begin so, at most so many.
pub(super) fn words_from(db: &Connection, start: &str, most: usize) -> rusqlite::Result<Vec<String>> {
    // The greatest character there is ends the range of all that begin with these.
    let end = format!("{start}{}", char::MAX);
    db.prepare_cached("SELECT word FROM vocabulary WHERE word >= ?1 AND word < ?2 LIMIT ?3")?
        .query_map(rusqlite::params![start, end, i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get(0))?
        .collect()
}
