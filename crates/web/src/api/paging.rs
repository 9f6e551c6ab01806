//! Lists in pages. A cursor names the last entry that was given, so that what comes or goes meanwhile neither hides nor repeats
//! another one; where that entry is gone, its place counts. In the history, which is long, it is the place itself, behind which
//! the ledger goes on at once.

use atm_ledger::Place;
use atm_office::trail::history::{HistoryPage, Remembered};
use serde::Serialize;

use crate::problem::Problem;

/// So many entries are on a page, unless said.
pub(crate) const USUAL: usize = 50;
/// At most so many.
pub(crate) const MOST: usize = 500;
/// As far as pages can be turned.
const DEEPEST: usize = 200_000;

/// A page of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<String>,
    /// What could not be read.
    pub(crate) warnings: Vec<String>,
}

/// How much of a list is wanted, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) limit: usize,
    /// How many were given before, and the last of them.
    after: Option<(usize, String)>,
}

impl Wanted {
    pub(crate) fn new(limit: Option<usize>, cursor: Option<&str>) -> Result<Self, Problem> {
        let limit = limit_of(limit)?;
        let after = cursor.filter(|cursor| !cursor.is_empty()).map(parse).transpose()?;
        Ok(Self { limit, after })
    }
}

/// How many entries a page has.
pub(crate) fn limit_of(limit: Option<usize>) -> Result<usize, Problem> {
    let limit = limit.unwrap_or(USUAL);
    if limit == 0 || limit > MOST {
        return Err(Problem::bad_request(format!("limit must be from 1 to {MOST}")));
    }
    Ok(limit)
}

/// Where a page of the history begins.
pub(crate) fn place_of(cursor: Option<&str>) -> Result<Option<Place>, Problem> {
    let cursor = cursor.filter(|cursor| !cursor.is_empty());
    cursor.map(str::parse).transpose().map_err(|_| not_a_cursor())
}

fn not_a_cursor() -> Problem {
    Problem::bad_request("cursor is none that an answer has given")
}

impl From<HistoryPage> for Page<Remembered> {
    fn from(HistoryPage { messages, next }: HistoryPage) -> Self {
        Self { items: messages, next: next.map(|place| place.to_string()), warnings: Vec::new() }
    }
}

fn parse(cursor: &str) -> Result<(usize, String), Problem> {
    let parsed =
        cursor.split_once('-').and_then(|(count, last)| Some((count.parse().ok()?, last.to_owned())));
    parsed.filter(|(count, _)| (1..=DEEPEST).contains(count)).ok_or_else(not_a_cursor)
}

/// The wanted part of a whole list; `key` names an entry.
pub(crate) fn page<T>(mut items: Vec<T>, wanted: &Wanted, key: impl Fn(&T) -> String) -> Page<T> {
    let begin = match &wanted.after {
        None => 0,
        Some((count, last)) => {
            items.iter().position(|item| key(item) == *last).map_or(*count, |at| at + 1).min(items.len())
        }
    };
    let end = begin.saturating_add(wanted.limit).min(items.len());
    let next = (end < items.len()).then(|| format!("{end}-{}", key(&items[end - 1])));
    items.truncate(end);
    items.drain(..begin);
    Page { items, next, warnings: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(mut change: impl FnMut(&mut Vec<u32>)) -> Vec<Vec<u32>> {
        let mut list: Vec<u32> = (0..7).collect();
        let (mut cursor, mut all): (Option<String>, Vec<Vec<u32>>) = (None, Vec::new());
        loop {
            let wanted = Wanted::new(Some(3), cursor.as_deref()).unwrap();
            let page = page(list.clone(), &wanted, ToString::to_string);
            all.push(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return all;
            }
            change(&mut list);
        }
    }

    #[test]
    fn what_comes_or_goes_meanwhile_neither_hides_nor_repeats() {
        assert_eq!(pages(|_| ()), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
        assert_eq!(pages(|list| list.insert(0, 99)), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
        let mut first = true;
        let gone = pages(|list| {
            if std::mem::take(&mut first) {
                list.retain(|item| *item != 2);
            }
        });
        assert_eq!(gone[0], [0, 1, 2]);
        assert!(
            gone[1..].concat().starts_with(&[4, 5]) || gone[1..].concat().starts_with(&[3, 4]),
            "{gone:?}"
        );
    }

    #[test]
    fn a_cursor_that_is_none_and_a_limit_that_is_too_large_are_refused() {
        for cursor in ["x", "-", "0-a", "1", "99999999999999999999-a"] {
            assert!(Wanted::new(None, Some(cursor)).is_err(), "{cursor}");
        }
        assert!(Wanted::new(Some(0), None).is_err() && Wanted::new(Some(501), None).is_err());
        assert_eq!(Wanted::new(None, Some("")).unwrap().limit, USUAL);
    }
}
