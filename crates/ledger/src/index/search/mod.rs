//! Full text over everything ever seen.

mod excerpt;
mod scan;
mod sieve;
mod words;

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::index::trace::Place;
use crate::index::{LONGEST_WAL, View};
use crate::log::append::root_id;
use crate::log::event::RootId;
use crate::lookup::{COLUMNS, Recorded, TABLES};
use crate::open::Ledger;
use crate::record::find_team;

use scan::Scan;
pub(super) use words::{SMALL_PART, index_some};

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
    /// Behind this place, going from the newest to the oldest in the order in which they were recorded.
    pub before: Option<Place>,
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
            let Some(root) = root_id(view.log, &query.root)? else { return Ok(Vec::new()) };
            // What other processes take in meanwhile is not found twice.
            let indexed = words::indexed(view.index)?;
            let below = query.before.map_or(i64::MAX, |place| place.seq);
            let mut expression = self::expression(&terms, &[]);
            let scan = Scan { view, query, root, above: indexed, below };
            let indexed = indexed.min(below.saturating_sub(1));
            let (mut found, may_begin_so) = scan.newest(&expression, &terms)?;
            matching(view, &expression, query, (root, indexed), &mut found)?;
            // The last one may be the start of a word, if it is no whole one.
            if found.is_empty() && !query.words.ends_with('"') {
                expression = self::expression(&terms, &[begun(&terms)]);
                found = scan.among(&expression, &may_begin_so)?;
                let endings = self::expression(&terms, &endings(view, &terms)?);
                matching(view, &endings, query, (root, indexed), &mut found)?;
            }
            let places = excerpt::of(view.index, &expression, &found)?;
            Ok(found.into_iter().zip(places.into_iter().map(Option::unwrap_or_default)).collect())
        })
    }

    /// Takes the words of some messages into the index, if it does not have those of all; says whether there are more.
    pub fn index_words(&self, messages: usize) -> Result<bool, LedgerError> {
        let most = i64::try_from(messages).unwrap_or(i64::MAX);
        let more = self.read(|view| words::index_some(view.index, view.log, most))?;
        if let Some(index) = &*self.index.borrow() {
            index.database.tidy_between_parts(LONGEST_WAL);
        }
        Ok(more)
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
    Ok(if few { words.iter().map(|word| quoted(word)).collect() } else { vec![begun(terms)] })
}

/// Whatever begins with the last term.
fn begun(terms: &[String]) -> String {
    format!("{}*", quoted(&terms.last().map(|term| term.to_lowercase()).unwrap_or_default()))
}

/// The number of the team that is asked for; of one that nobody knows, a number that none has.
fn team_asked_for(view: &View<'_>, query: &Query) -> rusqlite::Result<Option<i64>> {
    let found = query.team.as_deref().map(|team| find_team(view, &query.root, team)).transpose()?;
    Ok(found.map(|team| team.unwrap_or(-1)))
}

/// What a message has to be, apart from its words.
const FITS: &str = "t.root = ?2
    AND (?3 IS NULL OR t.id = ?3) AND (?4 IS NULL OR m.sender = ?4) AND (?5 IS NULL OR i.name = ?5)
    AND (?6 IS NULL OR m.kind = ?6) AND (?7 IS NULL OR m.sent_at >= ?7) AND (?8 IS NULL OR m.sent_at <= ?8)
    AND (?9 IS NULL OR i.name = ?9 OR (m.sender = ?9 AND m.origin IS NULL))";

/// Adds the newest messages up to the number `indexed` that have the words and fit, until there are enough.
fn matching(
    view: &View<'_>,
    words: &str,
    query: &Query,
    (root, indexed): (RootId, i64),
    found: &mut Vec<Recorded>,
) -> rusqlite::Result<()> {
    let limit = i64::try_from(query.limit.saturating_sub(found.len())).unwrap_or(i64::MAX);
    if limit == 0 || indexed <= 0 {
        return Ok(());
    }
    // In the index the newest come first: see the schema. The order of the tables is given: the words decide.
    let sql = format!(
        "SELECT {COLUMNS}
         FROM words CROSS JOIN {TABLES}
         WHERE m.seq = -words.rowid AND words MATCH ?1 AND words.rowid >= ?10 AND {FITS}
         ORDER BY words.rowid LIMIT ?11"
    );
    let mut ask = view.index.prepare_cached(&sql)?;
    let Query { from, to, kind, since, until, party, .. } = query;
    let team = team_asked_for(view, query)?;
    let values = params![words, root, team, from, to, kind, since, until, party, -indexed, limit];
    for message in ask.query_map(values, |row| Recorded::from_row(row, &query.root, view.log))? {
        found.push(message?);
    }
    Ok(())
}

/// The message of this number, if it fits.
fn fitting(view: &View<'_>, message: i64, query: &Query, root: RootId) -> rusqlite::Result<Option<Recorded>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE m.seq = ?1 AND {FITS}");
    let Query { from, to, kind, since, until, party, .. } = query;
    let team = team_asked_for(view, query)?;
    let values = params![message, root, team, from, to, kind, since, until, party];
    let mut ask = view.index.prepare_cached(&sql)?;
    ask.query_row(values, |row| Recorded::from_row(row, &query.root, view.log)).optional()
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
