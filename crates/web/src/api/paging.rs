//! Lists in pages. A cursor names the last entry that was given, so that what comes or goes meanwhile neither hides nor repeats
//! another one; where that entry is gone, its place counts.

use atm_office::Office;
use atm_office::trail::history::{Remembered, Search, Trace};
use serde::Serialize;

use crate::app::Fault;
use crate::problem::Problem;

/// So many entries are on a page, unless said.
pub(crate) const USUAL: usize = 50;
/// At most so many.
pub(crate) const MOST: usize = 500;
/// As far as pages can be turned.
const DEEPEST: usize = 200_000;
/// So many newer entries are looked through for the place of a cursor at first.
const NEWER: usize = 64;

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
        let limit = limit.unwrap_or(USUAL);
        if limit == 0 || limit > MOST {
            return Err(Problem::bad_request(format!("limit must be from 1 to {MOST}")));
        }
        let after = cursor.filter(|cursor| !cursor.is_empty()).map(parse).transpose()?;
        Ok(Self { limit, after })
    }
}

fn parse(cursor: &str) -> Result<(usize, String), Problem> {
    let parsed =
        cursor.split_once('-').and_then(|(count, last)| Some((count.parse().ok()?, last.to_owned())));
    parsed
        .filter(|(count, _)| (1..=DEEPEST).contains(count))
        .ok_or_else(|| Problem::bad_request("cursor is none that an answer has given"))
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

/// What to look for in the history.
#[derive(Debug, Clone)]
pub(crate) enum Newest {
    Trace(Trace),
    Search(Search),
}

impl Newest {
    /// The newest so many, newest first.
    fn take(&self, office: &Office, limit: usize) -> Result<Vec<Remembered>, Fault> {
        Ok(match self {
            Self::Trace(trace) => {
                let mut found = office.trace(&Trace { limit, ..trace.clone() })?;
                found.reverse();
                found
            }
            Self::Search(search) => office.search(&Search { limit, ..search.clone() })?,
        })
    }
}

/// A page of the history, newest first. Only as much is read as is needed for it.
pub(crate) fn newest(office: &Office, what: &Newest, wanted: &Wanted) -> Result<Page<Remembered>, Fault> {
    let key = |message: &Remembered| format!("{}@{}@{}", message.id, message.to, message.team);
    let Some((count, last)) = &wanted.after else {
        return Ok(page(what.take(office, wanted.limit + 1)?, wanted, key));
    };
    let mut newer = NEWER;
    loop {
        let limit = count + newer + wanted.limit + 1;
        let found = what.take(office, limit)?;
        let is_all = found.len() < limit;
        // More came meanwhile than was looked through: its place is further on.
        let place = found.iter().position(|message| key(message) == *last);
        let has_room = place.is_some_and(|place| place + wanted.limit + 1 < found.len());
        if has_room || is_all || newer > DEEPEST {
            return Ok(page(found, wanted, key));
        }
        newer *= 8;
    }
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
