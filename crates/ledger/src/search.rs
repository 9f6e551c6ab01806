//! Full text over everything ever seen.

use rusqlite::TransactionBehavior;

use crate::error::LedgerError;
use crate::lookup::{COLUMNS, Recorded};
use crate::open::Ledger;

/// What to look for. Nothing but the words is needed.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Words that all have to be there; the last may be cut short if nothing has it whole. `"…"` is a phrase.
    pub words: String,
    /// Below this root.
    pub root: String,
    /// In this team.
    pub team: Option<String>,
    /// From this sender.
    pub from: Option<String>,
    /// For this recipient.
    pub to: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// Sent then or later.
    pub since: Option<i64>,
    /// Sent then or earlier.
    pub until: Option<i64>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// What the found words are put between: characters that no terminal obeys and no text should hold.
pub const MARK_START: char = '\u{e000}';
/// See [`MARK_START`].
pub const MARK_END: char = '\u{e001}';

impl Ledger {
    /// The newest messages that fit, newest first, each with the place where the words were found, marked.
    pub fn search(&mut self, query: &Query) -> Result<Vec<(Recorded, String)>, LedgerError> {
        let terms = terms(&query.words);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let indexed = self.index_words();
        indexed.map_err(|source| self.failed(source))?;
        // Whole words first: they are found at once. The last one may be the start of a word, which costs a walk
        // through all that begin so, and is only done when there is nothing else.
        let mut found = self.matching(&quoted(&terms, false), query)?;
        if found.is_empty() && !query.words.ends_with('"') {
            found = self.matching(&quoted(&terms, true), query)?;
        }
        Ok(found)
    }

    fn matching(&self, words: &str, query: &Query) -> Result<Vec<(Recorded, String)>, LedgerError> {
        let sql = format!(
            "SELECT {COLUMNS}, snippet(words, 0, '{MARK_START}', '{MARK_END}', '…', 16)
             FROM words JOIN messages m ON m.seq = words.rowid JOIN inboxes i ON i.id = m.inbox
             WHERE words MATCH ?1 AND i.root = ?2
               AND (?3 IS NULL OR i.team = ?3) AND (?4 IS NULL OR m.sender = ?4) AND (?5 IS NULL OR i.name = ?5)
               AND (?6 IS NULL OR m.kind = ?6) AND (?7 IS NULL OR m.sent_at >= ?7) AND (?8 IS NULL OR m.sent_at <= ?8)
             ORDER BY words.rowid DESC LIMIT ?9"
        );
        let run = || -> rusqlite::Result<Vec<(Recorded, String)>> {
            self.db
                .prepare_cached(&sql)?
                .query_map(
                    rusqlite::params![
                        words,
                        query.root,
                        query.team,
                        query.from,
                        query.to,
                        query.kind,
                        query.since,
                        query.until,
                        i64::try_from(query.limit).unwrap_or(i64::MAX)
                    ],
                    |row| Ok((Recorded::from_row(row)?, row.get(19)?)),
                )?
                .collect()
        };
        run().map_err(|source| self.failed(source))
    }

    /// Takes the words of new messages into the index.
    fn index_words(&mut self) -> rusqlite::Result<()> {
        let behind = "SELECT (SELECT up_to FROM indexed) < (SELECT coalesce(max(seq), 0) FROM messages)";
        if !self.db.query_row(behind, [], |row| row.get::<_, bool>(0))? {
            return Ok(());
        }
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "INSERT INTO words (rowid, text, summary, sender)
                 SELECT seq, text, summary, sender FROM messages WHERE seq > (SELECT up_to FROM indexed);
             UPDATE indexed SET up_to = (SELECT coalesce(max(seq), 0) FROM messages);",
        )?;
        transaction.commit()
    }
}

/// The words and phrases that a person typed.
fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            terms.push(part.trim().to_owned());
        } else {
            terms.extend(part.split_whitespace().map(ToOwned::to_owned));
        }
    }
    terms.retain(|term| term.chars().any(char::is_alphanumeric));
    terms
}

/// The same in the search engine's language: every term is a quoted string, so that nothing in it is an operator.
fn quoted(terms: &[String], open_end: bool) -> String {
    let all = terms.iter().map(|term| format!("\"{term}\"")).collect::<Vec<_>>().join(" ");
    if open_end { format!("{all}*") } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_typed_is_an_operator() {
        let fts = |text: &str, open_end| quoted(&terms(text), open_end);
        assert_eq!(fts("login test", true), "\"login\" \"test\"*");
        assert_eq!(fts("NOT a:b* (c", false), "\"NOT\" \"a:b*\" \"(c\"");
        assert_eq!(fts("\"flaky test\" x", true), "\"flaky test\" \"x\"*");
        assert!(terms(" -- \"\" ").is_empty());
    }
}
