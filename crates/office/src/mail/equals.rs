//! The ledger's memory of which of equal messages is which.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use atm_ledger::{InboxKey, Span};
use atm_store::Past;
use atm_wire::message::identity::{Numbered, nth_id};

use crate::books::Books;
use crate::trail::intake::Outline;

/// What the ledger remembers of one inbox.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) books: Books,
    pub(crate) root: PathBuf,
    pub(crate) team: String,
    pub(crate) name: String,
}

impl Past for Memory {
    fn numbered(&self, first_ids: &[&str]) -> HashMap<String, Numbered> {
        if !self.books.exist() {
            return HashMap::new();
        }
        let inbox = InboxKey::new(&self.root, &self.team, &self.name);
        // Without the ledger they are counted from the start of the file.
        let spans = self.books.with(|ledger| ledger.equals(&inbox, first_ids)).unwrap_or_default();
        spans.into_iter().map(|(id, (first, next))| (id, Numbered { first, next })).collect()
    }
}

/// How often each stands in an inbox, of messages without an id of their own, by the id of the first of them.
pub(crate) fn counted(messages: &[Outline]) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for first_id in messages.iter().filter_map(Outline::first_id) {
        *counts.entry(first_id).or_default() += 1;
    }
    counts
}

/// The numbers that are to be remembered, given those of the last look and all ids that stand in the inbox: in the log
/// layout, mail that was converted carries the id that it had without one.
pub(crate) fn renumbered(
    counts: &HashMap<String, u32>,
    before: &HashMap<String, Span>,
    there: &[&str],
) -> HashMap<String, Span> {
    let there: HashSet<&str> = there.iter().copied().collect();
    let ids = counts.keys().chain(before.keys().filter(|id| !counts.contains_key(*id)));
    let number = |id: &String| {
        let before = before
            .get(id)
            .map_or_else(Numbered::default, |(first, next)| Numbered { first: *first, next: *next });
        let standing = || {
            let stands = |number: &u32| there.contains(nth_id(id, *number).as_str());
            u32::try_from((before.first..before.next).filter(stands).count()).unwrap_or(u32::MAX)
        };
        let now = before.now(counts.get(id).copied().unwrap_or_else(standing));
        (id.clone(), (now.first, now.next))
    };
    ids.map(number).filter(|(id, span)| before.get(id) != Some(span)).collect()
}
