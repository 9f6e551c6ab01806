//! Full text over everything ever seen.

mod excerpt;
mod words;

use rusqlite::params;

use crate::error::LedgerError;
use crate::index::View;
use crate::log::append::root_id;
use crate::lookup::{COLUMNS, Recorded, TABLES};
use crate::open::Ledger;

pub(super) use words::index_some;

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
        self.read(|view| {
            words::index_all(view.index, view.log)?;
            let mut expression = self::expression(&terms, &[]);
            let mut found = matching(view, &expression, query)?;
            // The last one may be the start of a word, if it is no whole one.
            if found.is_empty() && !query.words.ends_with('"') {
                expression = self::expression(&terms, &endings(view, &terms)?);
                found = matching(view, &expression, query)?;
            }
            let places = excerpt::of(view.index, &expression, &found)?;
            Ok(found.into_iter().zip(places).collect())
        })
    }
}

/// What the last term may stand for: the words that begin so; or, where they are too many or not known, whatever the index
/// has, which costs a walk through all of it.
fn endings(view: &View<'_>, terms: &[String]) -> rusqlite::Result<Vec<String>> {
    let last = terms.last().map(|term| term.to_lowercase()).unwrap_or_default();
    let words = if last.chars().all(char::is_alphanumeric) {
        words::words_from(view.index, &last, MOST_ENDINGS + 1)?
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

fn matching(view: &View<'_>, words: &str, query: &Query) -> rusqlite::Result<Vec<Recorded>> {
    let Some(root) = root_id(view.log, &query.root)? else { return Ok(Vec::new()) };
    // In the index the newest come first: see the schema. The order of the tables is given: the words decide.
    let sql = format!(
        "SELECT {COLUMNS}
         FROM words CROSS JOIN {TABLES}
         WHERE m.seq = -words.rowid AND words MATCH ?1 AND t.root = ?2
           AND (?3 IS NULL OR t.team = ?3) AND (?4 IS NULL OR m.sender = ?4) AND (?5 IS NULL OR i.name = ?5)
           AND (?6 IS NULL OR m.kind = ?6) AND (?7 IS NULL OR m.sent_at >= ?7) AND (?8 IS NULL OR m.sent_at <= ?8)
           AND (?10 IS NULL OR i.name = ?10 OR (m.sender = ?10 AND m.origin IS NULL))
         ORDER BY words.rowid LIMIT ?9"
    );
    view.index
        .prepare_cached(&sql)?
        .query_map(
            params![
                words,
                root,
                query.team,
                query.from,
                query.to,
                query.kind,
                query.since,
                query.until,
                i64::try_from(query.limit).unwrap_or(i64::MAX),
                query.party
            ],
            |row| Recorded::from_row(row, &query.root, view.log),
        )?
        .collect()
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
