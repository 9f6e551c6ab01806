//! The index of words. Every reader takes in a small part of what is new at its end, and who waits takes in more, so that
//! a search finds little that is not indexed: that it reads.

use std::collections::HashSet;

use rusqlite::{TransactionBehavior, params};

use crate::lookup::text_of;
use crate::row::NewMessage;
use crate::seam::{Connection, Transaction};

/// What is longer is no word that somebody types a part of.
const LONGEST_WORD: usize = 64;

/// So many messages at a time. Smaller parts make a slower index.
const PART: i64 = 25_000;
/// And no more once there is so much text: others wait while it is taken apart.
const PART_TEXT: usize = 1024 * 1024;
/// So many at the end of a command that asked something else.
pub(in crate::index) const SMALL_PART: i64 = 256;

/// The number of the last message whose words are indexed; those of all before it are, too.
pub(super) fn indexed(index: &Connection) -> rusqlite::Result<i64> {
    index.prepare_cached("SELECT words FROM applied")?.query_row([], |row| row.get(0))
}

/// Takes in the words of some new messages, if there are any; says whether there are more.
pub(in crate::index) fn index_some(
    index: &Connection,
    log: &Connection,
    most: i64,
) -> rusqlite::Result<bool> {
    if !is_behind(index)? {
        return Ok(false);
    }
    take_in(index, log, most.min(PART))?;
    is_behind(index)
}

fn is_behind(index: &Connection) -> rusqlite::Result<bool> {
    let behind = "SELECT (SELECT words FROM applied) < (SELECT coalesce(max(seq), 0) FROM messages)";
    index.prepare_cached(behind)?.query_row([], |row| row.get(0))
}

/// Takes in the words of the next so many messages, or of fewer long ones.
fn take_in(index: &Connection, log: &Connection, most: i64) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(index, TransactionBehavior::Immediate)?;
    let up_to: i64 = transaction.query_row("SELECT words FROM applied", [], |row| row.get(0))?;
    let mut part: Vec<(i64, String, NewMessage)> = Vec::new();
    {
        let mut next = transaction
            .prepare_cached("SELECT seq, sender FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
        let mut rows = next.query([up_to, most])?;
        let mut size = 0;
        while size < PART_TEXT
            && let Some(row) = rows.next()?
        {
            let seq = row.get(0)?;
            let message = text_of(log, seq)?;
            size += message.text.len() + message.summary.as_ref().map_or(0, String::len);
            part.push((seq, row.get(1)?, message));
        }
    }
    // Numbers may be missing in between: the last of the part is a message's, so that there is always a next one.
    let Some(last) = part.last().map(|(seq, ..)| *seq) else { return Ok(()) };
    let mut new = HashSet::new();
    {
        let mut add = transaction
            .prepare_cached("INSERT INTO words (rowid, text, summary, sender) VALUES (?1, ?2, ?3, ?4)")?;
        for (seq, sender, message) in part.iter().rev() {
            add.execute(params![-seq, message.text, message.summary, sender])?;
            for text in [Some(&message.text), message.summary.as_ref(), Some(sender)].into_iter().flatten() {
                collect_words(text, &mut new);
            }
        }
    }
    {
        let mut add = transaction.prepare_cached("INSERT OR IGNORE INTO vocabulary (word) VALUES (?1)")?;
        for word in &new {
            add.execute([word])?;
        }
    }
    transaction.prepare_cached("UPDATE applied SET words = ?1")?.execute([last])?;
    transaction.commit()
}

fn collect_words(text: &str, words: &mut HashSet<String>) {
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() && word.len() <= LONGEST_WORD && !words.contains(word) {
            words.insert(word.to_lowercase());
        }
    }
}

/// Words that begin so, at most so many.
pub(super) fn words_from(index: &Connection, start: &str, most: usize) -> rusqlite::Result<Vec<String>> {
    // The greatest character there is ends the range of all that begin with these.
    let end = format!("{start}{}", char::MAX);
    index
        .prepare_cached("SELECT word FROM vocabulary WHERE word >= ?1 AND word < ?2 LIMIT ?3")?
        .query_map(params![start, end, i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get(0))?
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::database::Database;
    use crate::index::schema;

    /// A log and an index with messages of these numbers, whose texts have their number and so many other bytes.
    fn filled(numbers: &[i64], padding: usize) -> (Connection, Database) {
        let log = Connection::open_in_memory().unwrap();
        log.execute_batch("CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT)").unwrap();
        let index = Database::in_memory(Path::new("index.db")).unwrap();
        schema::make(&index).unwrap();
        for seq in numbers {
            let padding = "-".repeat(padding);
            let body = format!("{{\"message\":{{\"text\":\"word{seq} common{padding}\"}}}}");
            log.execute("INSERT INTO events (seq, body) VALUES (?1, ?2)", params![seq, body]).unwrap();
            index
                .db
                .execute(
                    "INSERT INTO messages (seq, inbox, team, id, sender, kind, sent_at, noticed_at, ours, rank)
                     VALUES (?1, 1, 1, 'm' || ?1, 'alice', 'message', 0, 0, 0, 20)",
                    [seq],
                )
                .unwrap();
        }
        (log, index)
    }

    fn take_in_all(log: &Connection, index: &Database, most: i64) -> usize {
        let mut parts = 0;
        while is_behind(&index.db).unwrap() {
            take_in(&index.db, log, most).unwrap();
            parts += 1;
        }
        parts
    }

    #[test]
    fn the_words_are_taken_in_part_by_part() {
        // There are gaps: other events stand in between.
        let (log, index) = filled(&[1, 2, 5, 6, 40], 0);
        assert_eq!(take_in_all(&log, &index, 2), 3);
        let found: Vec<i64> = index
            .db
            .prepare("SELECT -rowid FROM words WHERE words MATCH 'common' ORDER BY rowid")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(found, [40, 6, 5, 2, 1]);
        assert_eq!(words_from(&index.db, "word4", 10).unwrap(), ["word40"]);
    }
    #[test]
    fn of_long_messages_a_part_has_fewer() {
        let (log, index) = filled(&[1, 2, 3, 4, 5], PART_TEXT * 3 / 5);
        assert_eq!(take_in_all(&log, &index, 100), 3);
        assert_eq!(words_from(&index.db, "word", 10).unwrap().len(), 5);
    }
}
