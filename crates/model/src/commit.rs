//! The steps of a commit: queue, plan, rename, record; and taking a message back.

use crate::ids::{Entry, Id, Ids, ids};
use crate::ours::{Step, Task};
use crate::rules::{Verdict, judge};
use crate::state::{Answer, Commit, Holder, Note, Row, Stage, State};

impl Commit {
    pub(crate) fn enter(&self, state: &mut State, at: usize) -> Step {
        if !self.rules.queue {
            return Step::Read;
        }
        state.queue = Some(at);
        if state.note != Note::Clear {
            match state.note {
                Note::Ids(ids) if !state.temp => state.left.extend(ids),
                Note::Out(ids) if !state.temp => state.taken_out.extend(ids),
                _ => state.temp = false,
            }
            state.note = Note::Clear;
            if state.mkdir == Some(Holder::Dead) {
                state.mkdir = None;
            }
        }
        Step::Read
    }

    pub(crate) fn plan(&self, state: &mut State, at: usize) -> Step {
        Self::take_note(state);
        let accepted = |row: &Option<Row>| row.is_some_and(|row| row.stage == Stage::Accepted);
        let mut waiting: Ids =
            (0..).map(Id).zip(&state.rows).filter(|(_, row)| accepted(row)).map(|(id, _)| id).collect();
        let process = &state.ours[at];
        let memory = &process.memory;
        if let Task::Recall(id) = process.task {
            return Self::plan_recall(state, at, id);
        }
        if let Some(own) = process.own() {
            if state.rows[own.index()].is_some_and(|row| row.stage == Stage::Recalled { written: false }) {
                // It was taken back before it was written.
                state.ours[at].memory.answer = Some(Answer::NotThere);
                return Step::Leave;
            }
            if memory.is_untracked || !self.rules.accept_first {
                waiting = [own].into_iter().collect();
            } else if !waiting.has(own) {
                // Somebody wrote it for us.
                waiting = Ids::default();
            }
        }
        let back = if process.task == Task::Look { self.undone(state, &memory.seen) } else { Ids::default() };
        let there = ids(&memory.seen);
        let (mut add, found) = (waiting.without(there), waiting.and(there));
        add.extend(back);
        let unread: Ids = memory.seen.iter().filter(|entry| !entry.read).map(|entry| entry.id).collect();
        let mark = match process.task {
            Task::Read if self.rules.mark_receipts_only => memory.receipts.and(unread),
            Task::Read => unread,
            Task::Send(_) | Task::Look | Task::Recall(_) => Ids::default(),
        };
        let memory = &mut state.ours[at].memory;
        (memory.add, memory.back, memory.found, memory.mark) = (add, back, found, mark);
        match (add.is_empty() && mark.is_empty(), found.is_empty()) {
            (false, _) => Step::Stage,
            (true, false) => Step::Record,
            (true, true) => Self::answer_there(state, at),
        }
    }

    /// Decides in the queue whether the message can be taken back.
    fn plan_recall(state: &mut State, at: usize, id: Id) -> Step {
        let entry = state.ours[at].memory.seen.iter().find(|entry| entry.id == id).copied();
        let reached = state.rows[id.index()].map(|row| row.stage);
        match (entry, reached) {
            (Some(Entry { read: false, .. }), _) => {
                state.ours[at].memory.out = [id].into_iter().collect();
                return Step::Stage;
            }
            (None, Some(Stage::Accepted)) => recall(state, id, false),
            _ => {}
        }
        Step::Leave
    }

    /// Records what dead processes had put in place, and what they had taken out.
    fn take_note(state: &mut State) {
        for id in std::mem::take(&mut state.taken_out).iter() {
            record_recall(state, id, true);
        }
        for id in std::mem::take(&mut state.left).iter() {
            reach_written(state, id, Ids::default(), false);
        }
    }

    /// Ours that a writer without our lock undid and that may be put back.
    pub(crate) fn undone(&self, state: &State, seen: &[Entry]) -> Ids {
        let client = self.client(state);
        let may = |id: Id, row: Row| {
            row.put_backs < self.rules.put_backs
                && judge(&self.rules, id, row, seen, client) == Verdict::Undone
        };
        let rows = (0..).map(Id).zip(&state.rows);
        rows.filter(|(id, row)| row.is_some_and(|row| may(*id, row))).map(|(id, _)| id).collect()
    }

    pub(crate) fn rename(state: &mut State, at: usize) -> Step {
        let memory = state.ours[at].memory.clone();
        let (there, seen) = (ids(&state.file), ids(&memory.seen));
        // Nothing keeps a writer without a lock from coming between compare and rename.
        if !std::mem::take(&mut state.truth.slipped_in) {
            let brings_back = seen.without(there).and(state.in_hand());
            state.truth.damage |= !there.without(seen).is_empty() || !brings_back.is_empty();
        }
        state.truth.marked_unshown |= !memory.mark.without(memory.receipts).is_empty();
        state.file = memory.seen;
        state.file.retain(|entry| !memory.out.has(entry.id));
        state.truth.recalled.extend(memory.out);
        for entry in &mut state.file {
            entry.read |= memory.mark.has(entry.id);
        }
        for id in memory.add.iter() {
            state.file.push(Entry { id, read: false });
            state.truth.writes[id.index()] += 1;
        }
        state.temp = false;
        Step::Release
    }

    pub(crate) fn record(&self, state: &mut State, at: usize) -> Step {
        let memory = state.ours[at].memory.clone();
        memory.out.iter().for_each(|id| record_recall(state, id, true));
        if !memory.is_untracked {
            let mut before = ids(&memory.seen);
            for id in memory.add.iter() {
                if !self.rules.accept_first {
                    let row = Row { stage: Stage::Accepted, before, put_backs: 0 };
                    state.rows[id.index()].get_or_insert(row);
                }
                reach_written(state, id, before, memory.back.has(id));
                before.insert(id);
            }
            for id in memory.found.iter() {
                let stood =
                    memory.seen.iter().map(|entry| entry.id).take_while(|other| *other != id).collect();
                reach_written(state, id, stood, false);
            }
            for id in memory.mark.iter().filter(|id| id.is_ours()) {
                if let Some(row) = &mut state.rows[id.index()] {
                    row.stage = Stage::Seen;
                }
            }
        }
        Self::answer_there(state, at)
    }

    pub(crate) fn answer_there(state: &mut State, at: usize) -> Step {
        let memory = &mut state.ours[at].memory;
        let answer = if memory.is_untracked { Answer::ThereUntracked } else { Answer::There };
        memory.answer = Some(answer);
        Step::Leave
    }

    pub(crate) fn take_back(&self, state: &mut State, at: usize) -> Step {
        self.unstage(state);
        Self::take_note(state);
        // Somebody may have written it for us and could not record it.
        if let Some(own) = state.ours[at].own()
            && let Some(place) = state.file.iter().position(|entry| entry.id == own)
        {
            reach_written(state, own, ids(&state.file[..place]), false);
        }
        let answer = self.withdraw(state, at);
        state.ours[at].memory.answer = answer;
        Step::Leave
    }

    pub(crate) fn withdraw(&self, state: &mut State, at: usize) -> Option<Answer> {
        let id = state.ours[at].own()?;
        let row = &mut state.rows[id.index()];
        Some(match row {
            Some(Row { stage: Stage::Accepted, .. }) => {
                *row = None;
                Answer::NotThere
            }
            Some(Row { stage: Stage::Recalled { written: false }, .. }) => Answer::NotThere,
            None if self.rules.no_row_is_not_written => Answer::NotThere,
            Some(_) | None => Answer::There,
        })
    }

    pub(crate) fn leave(&self, state: &mut State, at: usize) {
        let memory = &state.ours[at].memory;
        if !(memory.is_unrecorded && self.rules.keep_unrecorded_note) {
            self.note(state, Note::Clear);
        }
        if state.queue == Some(at) {
            state.queue = None;
        }
        if state.ours[at].task == Task::Look {
            state.ours[at].step = Step::Judge;
        } else {
            Self::end(state, at);
        }
    }

    pub(crate) fn note(&self, state: &mut State, note: Note) {
        if self.rules.queue {
            state.note = note;
        }
    }

    /// Gives up a new version that was prepared.
    pub(crate) fn unstage(&self, state: &mut State) {
        state.temp = false;
        self.note(state, Note::Clear);
    }
}

pub(crate) fn reach_written(state: &mut State, id: Id, before: Ids, is_put_back: bool) {
    if let Some(row) = &mut state.rows[id.index()]
        && (is_put_back || row.stage == Stage::Accepted)
    {
        *row = Row { stage: Stage::Written, before, put_backs: row.put_backs + u8::from(is_put_back) };
    }
}

/// Its sender takes it back: it is nowhere but in the ledger.
pub(crate) fn recall(state: &mut State, id: Id, written: bool) {
    state.truth.recalled.insert(id);
    record_recall(state, id, written);
}

/// Records that a message was taken back. What was seen stays so.
fn record_recall(state: &mut State, id: Id, written: bool) {
    if let Some(row) = state.rows[id.index()].as_mut().filter(|row| row.stage != Stage::Seen) {
        row.stage = Stage::Recalled { written };
    }
}

pub(crate) fn release(state: &mut State, at: usize) {
    let me = Some(Holder::Ours(at));
    if state.mkdir == me {
        state.mkdir = None;
    }
    if state.flock == me {
        state.flock = None;
    }
}
