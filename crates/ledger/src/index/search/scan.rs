//! Searching what the index of words does not have yet: the newest messages, read one after the other.
//!
//! A sieve keeps back most messages that cannot match, by comparing bytes. What it lets pass is judged by the same search
//! engine that the index is asked with, so that both give the same answers.

use rusqlite::types::ValueRef;

use super::sieve::{Pass, Sieve};
use super::{Query, excerpt, fitting};
use crate::index::View;
use crate::log::event::{Kind, RootId};
use crate::lookup::Recorded;

/// So many messages are judged at a time.
const BATCH: usize = 64;

/// A search of the messages whose words are not indexed.
pub(super) struct Scan<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) query: &'a Query,
    pub(super) root: RootId,
    /// The last number that is indexed.
    pub(super) above: i64,
    /// The number that the wanted ones stand behind.
    pub(super) below: i64,
}

impl Scan<'_> {
    /// The newest messages that match `words`, which are made of `terms`, newest first; and the numbers of all that may match
    /// if the last term is only the start of a word, if none matches.
    pub(super) fn newest(
        &self,
        words: &str,
        terms: &[String],
    ) -> rusqlite::Result<(Vec<Recorded>, Vec<i64>)> {
        let sieve = Sieve::new(terms);
        let mut may_begin_so = Vec::new();
        let mut judged = Judged::new(self, words);
        let [accepted, noticed, history] = [Kind::Accepted, Kind::Noticed, Kind::History].map(Kind::code);
        let mut next = self.view.log.prepare_cached(
            "SELECT seq, body FROM events WHERE seq > ?1 AND seq < ?5 AND kind IN (?2, ?3, ?4) ORDER BY seq DESC",
        )?;
        let mut rows = next.query([self.above, accepted, noticed, history, self.below])?;
        let mut room = Vec::new();
        while !judged.is_enough()
            && let Some(row) = rows.next()?
        {
            let ValueRef::Text(body) = row.get_ref(1)? else { continue };
            let pass = sieve.judge(body, &mut room);
            if pass != Pass::Not {
                may_begin_so.push(row.get(0)?);
            }
            if pass == Pass::Whole {
                judged.add(row.get(0)?)?;
            }
        }
        Ok((judged.end()?, may_begin_so))
    }

    /// Those of these messages that match, the newest, in their order.
    pub(super) fn among(&self, words: &str, numbers: &[i64]) -> rusqlite::Result<Vec<Recorded>> {
        let mut judged = Judged::new(self, words);
        for number in numbers {
            if judged.is_enough() {
                break;
            }
            judged.add(*number)?;
        }
        judged.end()
    }
}

/// Messages that match, of those that are added.
struct Judged<'a> {
    scan: &'a Scan<'a>,
    words: &'a str,
    batch: Vec<Recorded>,
    found: Vec<Recorded>,
}

impl<'a> Judged<'a> {
    fn new(scan: &'a Scan<'a>, words: &'a str) -> Self {
        Self { scan, words, batch: Vec::new(), found: Vec::new() }
    }

    fn is_enough(&self) -> bool {
        self.found.len() >= self.scan.query.limit
    }

    fn add(&mut self, message: i64) -> rusqlite::Result<()> {
        self.batch.extend(fitting(self.scan.view, message, self.scan.query, self.scan.root)?);
        if self.batch.len() >= BATCH { self.judge() } else { Ok(()) }
    }

    fn judge(&mut self) -> rusqlite::Result<()> {
        let places = excerpt::of(self.scan.view.index, self.words, &self.batch)?;
        let all = self.batch.drain(..).zip(places);
        self.found.extend(all.filter(|(_, place)| place.is_some()).map(|(message, _)| message));
        Ok(())
    }

    fn end(mut self) -> rusqlite::Result<Vec<Recorded>> {
        self.judge()?;
        self.found.truncate(self.scan.query.limit);
        Ok(self.found)
    }
}
