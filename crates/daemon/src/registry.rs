//! The clients' own list of their sessions: which of them changed since the last look.

use std::collections::{BTreeMap, BTreeSet};

use atm_clients::claude::sessions;
use atm_office::Office;

/// The sessions that ran at the last look, with what they did.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    known: BTreeMap<String, String>,
}

impl Registry {
    /// Looks again; the sessions that came, went, or do something else.
    pub(crate) fn changes(&mut self, office: &Office) -> BTreeSet<String> {
        let live = sessions::live(office.root().path(), |pid| office.probe().started(pid));
        self.compare(live.into_iter().map(|session| {
            let words = session.describe();
            (session.id, words)
        }))
    }

    fn compare(&mut self, live: impl Iterator<Item = (String, String)>) -> BTreeSet<String> {
        let now: BTreeMap<String, String> = live.collect();
        let either = self.known.keys().chain(now.keys());
        let changed = either.filter(|id| self.known.get(*id) != now.get(*id)).cloned().collect();
        self.known = now;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_went_or_does_something_else_is_a_change() {
        let mut registry = Registry::default();
        let mut at = |sessions: &[(&str, &str)]| {
            let live = sessions.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned()));
            registry.compare(live.collect::<Vec<_>>().into_iter()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(at(&[("a", "idle"), ("b", "idle")]), ["a", "b"]);
        assert_eq!(at(&[("a", "idle"), ("b", "busy")]), ["b"]);
        assert_eq!(at(&[("b", "busy")]), ["a"]);
        assert_eq!(at(&[("b", "busy")]), [] as [&str; 0]);
    }
}
