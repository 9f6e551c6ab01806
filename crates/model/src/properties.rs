//! What has to be true in every state, by the promises of the design.

use stateright::Property;

use crate::ids::{Id, Ids, ids};
use crate::others::Kind;
use crate::ours::{Step, Task};
use crate::rules::Rules;
use crate::state::{Answer, Commit, Row, Stage, State};

/// Promise 1: an accepted message was shown, is in the file or with its client, or is pending with its text.
pub const NEVER_LOST: &str = "an accepted message is never lost";
/// Promise 2: "it is there" is true.
pub const THERE: &str = "an answer that it is there is true";
/// Promise 2: "it is not there and never will be" is true.
pub const NOT_THERE: &str = "an answer that it never will be there is true";
/// Promise 2: "it will be there" is true after the next look.
pub const WILL_BE: &str = "what was accepted is written by the next look";
/// Promise 2: `seen`, and `taken` for sure, only of what was taken.
pub const STAGES: &str = "a stage is only reached by what happened";
/// Promise 2: without a reader nothing is taken, unless nothing stood in the file by which to tell.
pub const TAKEN_NEEDS_A_READER: &str = "what was undone does not count as taken";
/// Promise 7: no message is shown twice, unless another program spoiled the evidence while a reader had it in hand.
pub const ONCE: &str = "nothing is shown twice";
/// Promise 7: put back at most so many times.
pub const BOUNDED: &str = "nothing is put back again and again";
/// Promise 4: nothing is removed that was written under a lock, nothing brought back that a client took.
pub const FOREIGN: &str = "nothing foreign is damaged";
/// Promise 3: nothing is marked as read that was not shown.
pub const MARKS: &str = "only what was shown is marked";
/// A message that was taken back is not shown after that, unless a writer without a lock brings it back.
pub const RECALLED: &str = "what was recalled is not shown";

/// Happens: a message is taken out of the file by its sender.
pub const RECALL: &str = "a message is recalled";
/// Happens: what was undone is put back.
pub const PUT_BACK: &str = "a message is put back and shown";
/// Happens: what is undone too often is held.
pub const HELD: &str = "a message is held";
/// Happens: what a client lost is offered again.
pub const OFFERED_AGAIN: &str = "a lost message is offered again and shown";
/// Happens: a send that failed or was stopped takes its message back.
pub const TAKEN_BACK: &str = "a message is taken back";
/// Happens: what a killed sender had accepted is written by another process.
pub const COMPLETED: &str = "a killed sender's message is written";

/// All of them: what is always true, and what happens in some world, so that the former says something.
pub fn all() -> Vec<Property<Commit>> {
    vec![
        Property::sometimes(PUT_BACK, |model: &Commit, state: &State| {
            !model.setup.transcript && is_offered_again(state)
        }),
        Property::sometimes(OFFERED_AGAIN, |model: &Commit, state: &State| {
            model.setup.deaths > state.deaths && is_offered_again(state)
        }),
        Property::sometimes(HELD, |_, state: &State| rows(state).any(|row| row.stage == Stage::Held)),
        Property::sometimes(TAKEN_BACK, |_, state: &State| {
            ours(state).any(|id| is_answered(state, id, &[Answer::NotThere]))
        }),
        Property::sometimes(COMPLETED, |_, state: &State| {
            state.ours.iter().any(|process| match process.task {
                Task::Send(id) => process.step == Step::Dead && was_written(state, id),
                Task::Look | Task::Read | Task::Recall(_) => false,
            })
        }),
        Property::sometimes(RECALL, |_, state: &State| {
            rows(state).any(|row| row.stage == Stage::Recalled { written: true })
        }),
        Property::always(RECALLED, |model: &Commit, state: &State| {
            let is_lockless = |(kind, _): &(Kind, u8)| *kind == Kind::Lockless;
            !state.truth.shown_recalled || model.setup.others.iter().any(is_lockless)
        }),
        Property::always(NEVER_LOST, |_, state: &State| ours(state).all(|id| is_kept(state, id))),
        Property::always(THERE, |_, state: &State| {
            let answered = [Answer::There, Answer::ThereUntracked];
            ours(state).all(|id| !is_answered(state, id, &answered) || was_written(state, id))
        }),
        Property::always(NOT_THERE, |_, state: &State| {
            ours(state).all(|id| !is_answered(state, id, &[Answer::NotThere]) || !was_written(state, id))
        }),
        Property::always(WILL_BE, |_, state: &State| !state.truth.is_settled || is_completed(state)),
        Property::always(STAGES, |_, state: &State| ours(state).all(|id| is_true(state, id))),
        Property::always(TAKEN_NEEDS_A_READER, |model: &Commit, state: &State| {
            // Of a client that takes one by one, the file alone shows nothing.
            model.client(state).in_process
                || state.truth.was_taken
                || state.truth.shown.iter().any(|count| *count > 0)
                || !rows(state).any(is_taken_falsely)
        }),
        Property::always(ONCE, |model: &Commit, state: &State| {
            model.setup.reads > 0
                || ours(state).all(|id| state.truth.shown[id.index()] <= 1 || state.truth.spoiled.has(id))
        }),
        Property::always(BOUNDED, |_, state: &State| {
            state.truth.writes.iter().all(|writes| *writes <= 1 + Rules::BUILT.put_backs)
        }),
        Property::always(FOREIGN, |_, state: &State| !state.truth.damage),
        Property::always(MARKS, |_, state: &State| !state.truth.marked_unshown),
    ]
}

fn is_offered_again(state: &State) -> bool {
    let is_shown_late = |id: &Id| state.truth.writes[id.index()] == 2 && state.truth.shown[id.index()] == 1;
    ours(state).any(|id| is_shown_late(&id) && !state.truth.spoiled.has(id))
}

fn ours(state: &State) -> impl Iterator<Item = Id> {
    (0..).map(Id).take(state.rows.len())
}

fn rows(state: &State) -> impl Iterator<Item = Row> {
    state.rows.iter().flatten().copied()
}

fn is_answered(state: &State, id: Id, answers: &[Answer]) -> bool {
    state.truth.answers[id.index()].is_some_and(|answer| answers.contains(&answer))
}

fn was_written(state: &State, id: Id) -> bool {
    state.truth.writes[id.index()] > 0
}

fn is_shown(state: &State, id: Id) -> bool {
    state.truth.shown[id.index()] > 0
}

/// Mail of which the sender was told that nobody will follow it is not accepted.
fn is_kept(state: &State, id: Id) -> bool {
    let is_promised = is_answered(state, id, &[Answer::There, Answer::WillBe]);
    let is_pending = match state.rows[id.index()].map(|row| row.stage) {
        None => false,
        Some(Stage::Taken { sure, .. }) => !sure,
        Some(Stage::Accepted | Stage::Written | Stage::Held) => true,
        Some(Stage::Seen) => return is_shown(state, id),
        // Its sender did not want it any more.
        Some(Stage::Recalled { .. }) => return state.truth.recalled.has(id),
    };
    let is_somewhere = is_shown(state, id) || ids(&state.file).has(id) || state.in_hand().has(id);
    let has_row = state.rows[id.index()].is_some();
    !(is_promised || has_row) || is_pending || is_somewhere
}

/// After a look in which nobody else acted: nothing waits, and what counts as written lies there unread.
fn is_completed(state: &State) -> bool {
    let unread: Ids = state.file.iter().filter(|entry| !entry.read).map(|entry| entry.id).collect();
    ours(state).all(|id| match state.rows[id.index()].map(|row| row.stage) {
        Some(Stage::Accepted) => false,
        Some(Stage::Written) => unread.has(id),
        _ => true,
    })
}

fn is_true(state: &State, id: Id) -> bool {
    match state.rows[id.index()].map(|row| row.stage) {
        Some(Stage::Seen) => is_shown(state, id),
        Some(Stage::Recalled { .. }) => state.truth.recalled.has(id),
        Some(Stage::Taken { sure: true, .. }) => is_shown(state, id) || state.in_hand().has(id),
        _ => true,
    }
}

fn is_taken_falsely(row: Row) -> bool {
    matches!(row.stage, Stage::Taken { .. }) && !row.before.is_empty()
}
