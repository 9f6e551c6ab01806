//! The index of words: brought up to date by the search, so that no send pays for it.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use rusqlite::TransactionBehavior;

use crate::seam::Connection;

/// What is longer is no word that somebody types a part of.
const LONGEST_WORD: usize = 64;

/// So many messages at a time: senders wait for as long as one part takes. Smaller parts make a slower index.
const PART: i64 = 25_000;
/// Between two parts, so that somebody who waits finds the database free: it is looked for every quarter of this.
const PAUSE: Duration = Duration::from_millis(1);

/// Takes the words of new messages in.
pub(super) fn bring_up_to_date(db: &mut Connection) -> rusqlite::Result<()> {
    let mut pause = Duration::ZERO;
    while is_behind(db)? {
        thread::sleep(pause);
        take_in(db, PART)?;
        pause = PAUSE;
    }
    Ok(())
}

fn is_behind(db: &Connection) -> rusqlite::Result<bool> {
    let behind = "SELECT (SELECT up_to FROM indexed) < (SELECT coalesce(max(seq), 0) FROM messages)";
    db.query_row(behind, [], |row| row.get(0))
}

/// Takes in the words of the next so many messages.
fn take_in(db: &mut Connection, part: i64) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let up_to: i64 = transaction.query_row("SELECT up_to FROM indexed", [], |row| row.get(0))?;
    // Numbers may be missing in between: the last of the part is a message's, so that there is always a next one.
    let last: Option<i64> = transaction.query_row(
        "SELECT max(seq) FROM (SELECT seq FROM messages WHERE seq > ?1 ORDER BY seq LIMIT ?2)",
        [up_to, part],
        |row| row.get(0),
    )?;
    let Some(last) = last else { return Ok(()) };
    let new = new_words(&transaction, up_to, last)?;
    {
        let mut add = transaction.prepare("INSERT OR IGNORE INTO vocabulary (word) VALUES (?1)")?;
        for word in &new {
            add.execute([word])?;
        }
    }
    transaction.execute(
        "INSERT INTO words (rowid, text, summary, sender)
             SELECT -seq, text, summary, sender FROM messages WHERE seq > ?1 AND seq <= ?2 ORDER BY seq DESC",
        [up_to, last],
    )?;
    transaction.execute("UPDATE indexed SET up_to = ?1", [last])?;
    transaction.commit()
}

/// The words of the messages after one, up to another.
fn new_words(db: &Connection, after: i64, last: i64) -> rusqlite::Result<HashSet<String>> {
    let mut new = db.prepare("SELECT text, summary, sender FROM messages WHERE seq > ?1 AND seq <= ?2")?;
    let mut rows = new.query([after, last])?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn the_words_are_taken_in_part_by_part() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        db.execute_batch("INSERT INTO inboxes (id, root, team, name) VALUES (1, '/', 'dev', 'bob')").unwrap();
        // There are gaps, as after an insert that was refused.
        for seq in [1, 2, 5, 6, 40] {
            db.execute(
                "INSERT INTO messages (seq, inbox, id, sender, text, kind, sent_at, noticed_at, ours, rank)
                 VALUES (?1, 1, 'm' || ?1, 'alice', 'word' || ?1 || ' common', 'message', 0, 0, 0, 20)",
                [seq],
            )
            .unwrap();
        }
        let mut parts = 0;
        while is_behind(&db).unwrap() {
            take_in(&mut db, 2).unwrap();
            parts += 1;
        }
        assert_eq!(parts, 3);
        let found: Vec<i64> = db
            .prepare("SELECT -rowid FROM words WHERE words MATCH 'common' ORDER BY rowid")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(found, [40, 6, 5, 2, 1]);
        assert_eq!(words_from(&db, "word4", 10).unwrap(), ["word40"]);
    }
}
