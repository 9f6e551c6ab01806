//! The steps of a look at what became of messages.

use crate::ids::{Id, Ids};
use crate::ours::Step;
use crate::rules::{Verdict, judge};
use crate::state::{Commit, Row, Stage, State};

/// What a look is about to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    Reached(Stage),
    Lost,
    Held,
}

impl Commit {
    pub(crate) fn look(&self, state: &mut State, at: usize) -> Step {
        let client = self.client(state);
        let limit = self.rules.put_backs;
        let verdict = |id: Id, row: Row| match judge(&self.rules, id, row, &state.file, client) {
            Verdict::Reached(reached) => Some(Outcome::Reached(reached)),
            Verdict::Lost if row.put_backs < limit => Some(Outcome::Lost),
            Verdict::Lost => Some(Outcome::Held),
            Verdict::Undone if row.put_backs >= limit => Some(Outcome::Held),
            Verdict::Undone | Verdict::Unchanged => None,
        };
        let rows = (0..).map(Id).zip(&state.rows);
        let verdicts: Vec<_> =
            rows.filter_map(|(id, row)| row.and_then(|row| Some((id, row, verdict(id, row)?)))).collect();
        let next = if verdicts.is_empty() { Step::Done } else { Step::RecordLook };
        state.ours[at].memory.verdicts = verdicts;
        next
    }

    /// Records what was judged, unless somebody else has moved the message on meanwhile.
    pub(crate) fn record_look(state: &mut State, at: usize) -> Step {
        let mut next = Step::Done;
        for (id, known, verdict) in std::mem::take(&mut state.ours[at].memory.verdicts) {
            let Some(row) = state.rows[id.index()].as_mut().filter(|row| **row == known) else { continue };
            match verdict {
                Outcome::Reached(reached) => row.stage = reached,
                Outcome::Held => row.stage = Stage::Held,
                Outcome::Lost => {
                    *row =
                        Row { stage: Stage::Accepted, before: Ids::default(), put_backs: row.put_backs + 1 };
                    next = Step::Enter;
                }
            }
        }
        next
    }
}
