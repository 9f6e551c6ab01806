//! Changes of presence, as events of the log.

use std::collections::HashMap;

use atm_ledger::{Evidence, LastState, Transition};
use atm_wire::{Stamp, TeamName};

use super::{Judgement, Presence, Weight};
use crate::office::Office;

impl Office {
    /// The state that each member of a team was last recorded in: to be asked before it is judged again. Nothing where
    /// there is no ledger.
    pub(crate) fn last_states(&self, team: &TeamName) -> HashMap<String, LastState> {
        if !self.books.exist() {
            return HashMap::new();
        }
        let root = self.root_key();
        self.books.with(|ledger| ledger.last_states(&root, team.as_str())).unwrap_or_default()
    }

    /// Records what changed since `known`. What cannot be recorded now is for the next look.
    pub(crate) fn record_presence<'a>(
        &self,
        team: &TeamName,
        known: &HashMap<String, LastState>,
        judged: impl Iterator<Item = (&'a str, &'a Judgement)>,
    ) {
        if !self.books.exist() {
            return;
        }
        let now = self.now();
        let changes: Vec<Transition> =
            judged.filter_map(|(name, judged)| transition(name, judged, known.get(name), now)).collect();
        if !changes.is_empty() {
            let root = self.root_key();
            let _ = self.books.with(|ledger| ledger.record_transitions(&root, team.as_str(), &changes));
        }
    }
}

/// The change, if there is one. It happened when the newest trace that decides says, if that is after the last change;
/// otherwise nobody knows more than that it is so now.
fn transition(name: &str, judged: &Judgement, known: Option<&LastState>, now: Stamp) -> Option<Transition> {
    let state = judged.state.as_str();
    let is_same = known.map_or(judged.state == Presence::Unknown, |known| known.state == state);
    if is_same {
        return None;
    }
    let deciding = judged.evidence.iter().filter(|trace| trace.weight == Weight::Decides);
    let shown = deciding.filter_map(|trace| trace.at).max().map(Stamp::as_millis);
    let now = now.as_millis();
    let since = known.map_or(i64::MIN, |known| known.at);
    let why = Evidence::likely(judged.why());
    let (at, evidence) = match shown.filter(|at| *at > since && *at <= now) {
        Some(at) if known.is_some() => (at, why),
        // What was so before anybody looked may have begun earlier.
        Some(at) => (at, why.no_later_than()),
        None => (now, why.no_later_than()),
    };
    Some(Transition { member: name.to_owned(), was: known.cloned(), state: state.to_owned(), at, evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::people::presence::Trace;

    const NOW: i64 = 1_794_768_000_000;

    fn judged(state: Presence, at: Option<i64>) -> Judgement {
        let at = at.map(Stamp::from_millis);
        let trace = Trace { what: "a trace".into(), at, weight: Weight::Decides };
        Judgement { state, activity: None, evidence: vec![trace] }
    }

    #[test]
    fn a_change_has_the_time_that_its_evidence_shows_and_otherwise_a_bound() {
        let was = |state: Presence, at| Some(LastState { state: state.as_str().into(), at });
        let rows = [
            ("nothing known, nothing said", None, Presence::Unknown, None, None),
            ("first seen", None, Presence::Online, None, Some((NOW, true))),
            ("first seen, with a time", None, Presence::Online, Some(NOW - 5), Some((NOW - 5, true))),
            ("as before", was(Presence::Idle, 1), Presence::Idle, Some(NOW - 5), None),
            (
                "a word since",
                was(Presence::Offline, NOW - 9),
                Presence::Online,
                Some(NOW - 5),
                Some((NOW - 5, false)),
            ),
            ("an old word", was(Presence::Online, NOW - 4), Presence::Idle, Some(NOW - 5), Some((NOW, true))),
            (
                "a clock ahead",
                was(Presence::Online, NOW - 4),
                Presence::Idle,
                Some(NOW + 5),
                Some((NOW, true)),
            ),
        ];
        for (case, known, state, at, expected) in rows {
            let found = transition("bob", &judged(state, at), known.as_ref(), Stamp::from_millis(NOW));
            let found = found.map(|found| (found.at, found.evidence.no_later_than));
            assert_eq!(found, expected, "{case}");
        }
    }
}
