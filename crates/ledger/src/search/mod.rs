//! Full text over everything ever seen.

mod excerpt;
mod index;

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
    /// Sent or received by this member of the team; a namesake in another team is somebody else.
    pub party: Option<String>,
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

/// Of so many words that begin as one was typed, each is looked up.
const MOST_ENDINGS: usize = 100;

impl Ledger {
    /// The newest messages that fit, newest first, each with the place where the words were found, marked.
    pub fn search(&mut self, query: &Query) -> Result<Vec<(Recorded, String)>, LedgerError> {
        let terms = terms(&query.words);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.filed().map_err(|source| self.failed(source))?;
        let indexed = index::bring_up_to_date(&mut self.db);
        indexed.map_err(|source| self.failed(source))?;
        let mut words = expression(&terms, &[]);
        let mut found = self.matching(&words, query)?;
        // The last one may be the start of a word, if it is no whole one.
        if found.is_empty() && !query.words.ends_with('"') {
            let endings = self.endings(&terms).map_err(|source| self.failed(source))?;
            words = expression(&terms, &endings);
            found = self.matching(&words, query)?;
        }
        let places = excerpt::of(&mut self.db, &words, &found).map_err(|source| self.failed(source))?;
        Ok(found.into_iter().zip(places).collect())
    }

    /// What the last term may stand for: the words that begin so; or, where they are too many or not known, whatever
    /// the index has, which costs a walk through all of it.
    fn endings(&self, terms: &[String]) -> rusqlite::Result<Vec<String>> {
        let last = terms.last().map(|term| term.to_lowercase()).unwrap_or_default();
        let words = if last.chars().all(char::is_alphanumeric) {
            index::words_from(&self.db, &last, MOST_ENDINGS + 1)?
        } else {
            Vec::new()
        };
        let few = !words.is_empty() && words.len() <= MOST_ENDINGS;
        Ok(if few {
            words.iter().map(|word| quoted(word)).collect()
        } else {
            vec![format!("{}*", quoted(&last))]
        })
    }

    fn matching(&self, words: &str, query: &Query) -> Result<Vec<Recorded>, LedgerError> {
        // In the index the newest come first: see the schema.
        let sql = format!(
            "SELECT {COLUMNS}
             FROM words JOIN messages m ON m.seq = -words.rowid JOIN inboxes i ON i.id = m.inbox
             WHERE words MATCH ?1 AND i.root = ?2
               AND (?3 IS NULL OR i.team = ?3) AND (?4 IS NULL OR m.sender = ?4) AND (?5 IS NULL OR i.name = ?5)
               AND (?6 IS NULL OR m.kind = ?6) AND (?7 IS NULL OR m.sent_at >= ?7) AND (?8 IS NULL OR m.sent_at <= ?8)
               AND (?10 IS NULL OR i.name = ?10 OR (m.sender = ?10 AND m.origin IS NULL))
             ORDER BY words.rowid LIMIT ?9"
        );
        let run = || -> rusqlite::Result<Vec<Recorded>> {
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
                        i64::try_from(query.limit).unwrap_or(i64::MAX),
                        query.party
                    ],
                    Recorded::from_row,
                )?
                .collect()
        };
        run().map_err(|source| self.failed(source))
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

/// The same in the search engine's language, with what the last one may stand for instead, if that is given.
fn expression(terms: &[String], endings: &[String]) -> String {
    let mut all: Vec<String> = terms.iter().map(|term| quoted(term)).collect();
    if !endings.is_empty() {
        all.pop();
        all.push(format!("({})", endings.join(" OR ")));
    }
    all.join(" AND ")
}

/// A quoted string, so that nothing in it is an operator.
fn quoted(term: &str) -> String {
    format!("\"{term}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_typed_is_an_operator() {
        let fts = |text: &str| expression(&terms(text), &[]);
        assert_eq!(fts("login test"), "\"login\" AND \"test\"");
        assert_eq!(fts("NOT a:b* (c"), "\"NOT\" AND \"a:b*\" AND \"(c\"");
        assert_eq!(fts("\"flaky test\" x"), "\"flaky test\" AND \"x\"");
        assert!(terms(" -- \"\" ").is_empty());
    }
}
