//! Our own processes: sending, looking at history, reading; step by step, as `SharedFile::commit` and the office do it.

use crate::ids::{Entry, Id, Ids, ids};
use crate::rules::{Verdict, judge};
use crate::state::{Action, Answer, Commit, Holder, Note, Row, Stage, State};

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// `atm send`, of this message.
    Send(Id),
    /// `atm pending` and everything else that looks first.
    Look,
    /// `atm read`.
    Read,
}

/// What a process does next. It can be killed before each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Begin: accept, or hand out.
    Ready,
    /// Enter the queue, and clear up after a dead owner.
    Enter,
    /// Read the file.
    Read,
    /// Ask the ledger what to write.
    Plan,
    /// Write the temp file.
    Stage,
    /// Take `inboxes/.lock`.
    TakeFlock,
    /// Take the directory.
    TakeMkdir,
    /// Compare the file with what was read.
    Compare,
    /// Note the ids.
    NoteIds,
    /// Put the new version in place.
    Rename,
    /// Give the foreign locks back.
    Release,
    /// Tell the ledger.
    Record,
    /// Take an accepted message back.
    TakeBack,
    /// Clear the note, leave the queue, answer.
    Leave,
    /// Look at what became of messages.
    Judge,
    /// Tell the ledger that.
    RecordLook,
    /// At its end.
    Done,
    /// Killed.
    Dead,
}

/// One of our processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    /// What it is for.
    pub task: Task,
    /// What it does next.
    pub step: Step,
    runs: u8,
    memory: Memory,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Memory {
    seen: Vec<Entry>,
    add: Ids,
    back: Ids,
    /// Found in the file although the ledger waits for them.
    found: Ids,
    mark: Ids,
    receipts: Ids,
    is_untracked: bool,
    is_unrecorded: bool,
    answer: Option<Answer>,
    verdicts: Vec<(Id, Row, Outcome)>,
}

/// What a look is about to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outcome {
    Reached(Stage),
    Lost,
    Held,
}

impl Process {
    pub(crate) fn new(task: Task, runs: u8) -> Self {
        Self { task, step: Step::Ready, runs, memory: Memory::default() }
    }

    fn own(&self) -> Option<Id> {
        match self.task {
            Task::Send(id) => Some(id),
            Task::Look | Task::Read => None,
        }
    }

    fn finish(&mut self, last: Step) {
        self.memory = Memory::default();
        self.runs -= 1;
        self.step = if self.runs == 0 { last } else { Step::Ready };
    }
}

impl Commit {
    pub(crate) fn our_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, process) in state.ours.iter().enumerate() {
            let step = process.step;
            let can_go = match step {
                Step::Enter => !self.rules.queue || state.queue.is_none(),
                Step::TakeFlock => state.flock.is_none(),
                Step::TakeMkdir => matches!(state.mkdir, None | Some(Holder::Dead)),
                Step::Done | Step::Dead => continue,
                _ => true,
            };
            if can_go {
                actions.push(Action::Ours(at, step));
            }
            if state.crashes > 0 && step != Step::Ready {
                actions.push(Action::Killed(at, step));
            }
            let is_send = process.own().is_some();
            let can_fail = match step {
                Step::Ready | Step::TakeBack => is_send,
                Step::Record => !process.memory.is_untracked,
                Step::Stage | Step::RecordLook => true,
                _ => false,
            };
            if state.faults > 0 && can_fail {
                actions.push(Action::Fails(at, step));
            }
            let can_stop = matches!(
                step,
                Step::Enter
                    | Step::Read
                    | Step::Plan
                    | Step::Stage
                    | Step::TakeFlock
                    | Step::TakeMkdir
                    | Step::Compare
            );
            if state.stops > 0 && is_send && can_stop {
                actions.push(Action::Stopped(at, step));
            }
        }
    }

    pub(crate) fn step(&self, state: &mut State, at: usize) {
        let next = match state.ours[at].step {
            Step::Ready => self.begin(state, at),
            Step::Enter => self.enter(state, at),
            Step::Read => {
                state.ours[at].memory.seen = state.file.clone();
                Step::Plan
            }
            Step::Plan => self.plan(state, at),
            Step::Stage => {
                self.note(state, Note::Temp);
                state.temp = true;
                Step::TakeFlock
            }
            Step::TakeFlock => {
                state.flock = Some(Holder::Ours(at));
                Step::TakeMkdir
            }
            Step::TakeMkdir => {
                state.mkdir = Some(Holder::Ours(at));
                Step::Compare
            }
            Step::Compare if !self.rules.compare || state.ours[at].memory.seen == state.file => Step::NoteIds,
            Step::Compare => {
                state.truth.slipped_in = false;
                release(state, at);
                self.unstage(state);
                Step::Read
            }
            Step::NoteIds => {
                let add = state.ours[at].memory.add;
                self.note(state, Note::Ids(add));
                Step::Rename
            }
            Step::Rename => self.rename(state, at),
            Step::Release => {
                release(state, at);
                Step::Record
            }
            Step::Record => self.record(state, at),
            Step::TakeBack => self.take_back(state, at),
            Step::Leave => return self.leave(state, at),
            Step::Judge => self.look(state, at),
            Step::RecordLook => self.record_look(state, at),
            Step::Done | Step::Dead => return,
        };
        state.ours[at].step = next;
        if next == Step::Done {
            self.end(state, at);
        }
    }

    fn begin(&self, state: &mut State, at: usize) -> Step {
        match state.ours[at].task {
            Task::Send(id) if self.rules.accept_first => {
                state.rows[id.index()] =
                    Some(Row { stage: Stage::Accepted, before: Ids::default(), put_backs: 0 });
            }
            Task::Send(_) | Task::Look => {}
            Task::Read => {
                let unread: Ids =
                    state.file.iter().filter(|entry| !entry.read).map(|entry| entry.id).collect();
                if unread.is_empty() {
                    return Step::Done;
                }
                state.ours[at].memory.receipts = unread;
                state.show(unread);
            }
        }
        Step::Enter
    }

    fn enter(&self, state: &mut State, at: usize) -> Step {
        if !self.rules.queue {
            return Step::Read;
        }
        state.queue = Some(at);
        if state.note != Note::Clear {
            match state.note {
                Note::Ids(ids) if !state.temp => state.left.extend(ids),
                _ => state.temp = false,
            }
            state.note = Note::Clear;
            if state.mkdir == Some(Holder::Dead) {
                state.mkdir = None;
            }
        }
        Step::Read
    }

    fn plan(&self, state: &mut State, at: usize) -> Step {
        self.take_note(state);
        let accepted = |row: &Option<Row>| row.is_some_and(|row| row.stage == Stage::Accepted);
        let mut waiting: Ids =
            (0..).map(Id).zip(&state.rows).filter(|(_, row)| accepted(row)).map(|(id, _)| id).collect();
        let process = &state.ours[at];
        let memory = &process.memory;
        if let Some(own) = process.own() {
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
            Task::Send(_) | Task::Look => Ids::default(),
        };
        let memory = &mut state.ours[at].memory;
        (memory.add, memory.back, memory.found, memory.mark) = (add, back, found, mark);
        match (add.is_empty() && mark.is_empty(), found.is_empty()) {
            (false, _) => Step::Stage,
            (true, false) => Step::Record,
            (true, true) => self.answer_there(state, at),
        }
    }

    /// Records what dead processes had put in place.
    fn take_note(&self, state: &mut State) {
        for id in std::mem::take(&mut state.left).iter() {
            reach_written(state, id, Ids::default(), false);
        }
    }

    /// Ours that a writer without our lock undid and that may be put back.
    fn undone(&self, state: &State, seen: &[Entry]) -> Ids {
        let client = self.client(state);
        let may = |id: Id, row: &Row| {
            row.put_backs < self.rules.put_backs
                && judge(&self.rules, id, row, seen, client) == Verdict::Undone
        };
        let rows = (0..).map(Id).zip(&state.rows);
        rows.filter(|(id, row)| row.is_some_and(|row| may(*id, &row))).map(|(id, _)| id).collect()
    }

    fn rename(&self, state: &mut State, at: usize) -> Step {
        let memory = state.ours[at].memory.clone();
        let (there, seen) = (ids(&state.file), ids(&memory.seen));
        // Nothing keeps a writer without a lock from coming between compare and rename.
        if !std::mem::take(&mut state.truth.slipped_in) {
            let brings_back = seen.without(there).and(state.in_hand());
            state.truth.damage |= !there.without(seen).is_empty() || !brings_back.is_empty();
        }
        state.truth.marked_unshown |= !memory.mark.without(memory.receipts).is_empty();
        state.file = memory.seen;
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

    fn record(&self, state: &mut State, at: usize) -> Step {
        let memory = state.ours[at].memory.clone();
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
        self.answer_there(state, at)
    }

    fn answer_there(&self, state: &mut State, at: usize) -> Step {
        let memory = &mut state.ours[at].memory;
        let answer = if memory.is_untracked { Answer::ThereUntracked } else { Answer::There };
        memory.answer = Some(answer);
        Step::Leave
    }

    fn take_back(&self, state: &mut State, at: usize) -> Step {
        self.unstage(state);
        self.take_note(state);
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

    fn withdraw(&self, state: &mut State, at: usize) -> Option<Answer> {
        let id = state.ours[at].own()?;
        let row = &mut state.rows[id.index()];
        Some(match row {
            Some(Row { stage: Stage::Accepted, .. }) => {
                *row = None;
                Answer::NotThere
            }
            Some(_) => Answer::There,
            None if self.rules.no_row_is_not_written => Answer::NotThere,
            None => Answer::There,
        })
    }

    fn leave(&self, state: &mut State, at: usize) {
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
            self.end(state, at);
        }
    }

    fn look(&self, state: &mut State, at: usize) -> Step {
        let client = self.client(state);
        let limit = self.rules.put_backs;
        let verdict = |id: Id, row: &Row| match judge(&self.rules, id, row, &state.file, client) {
            Verdict::Reached(stage) => Some(Outcome::Reached(stage)),
            Verdict::Lost if row.put_backs < limit => Some(Outcome::Lost),
            Verdict::Lost => Some(Outcome::Held),
            Verdict::Undone if row.put_backs >= limit => Some(Outcome::Held),
            Verdict::Undone | Verdict::Unchanged => None,
        };
        let rows = (0..).map(Id).zip(&state.rows);
        let verdicts: Vec<_> =
            rows.filter_map(|(id, row)| row.and_then(|row| Some((id, row, verdict(id, &row)?)))).collect();
        let next = if verdicts.is_empty() { Step::Done } else { Step::RecordLook };
        state.ours[at].memory.verdicts = verdicts;
        next
    }

    /// Records what was judged, unless somebody else has moved the message on meanwhile.
    fn record_look(&self, state: &mut State, at: usize) -> Step {
        let mut next = Step::Done;
        for (id, known, verdict) in std::mem::take(&mut state.ours[at].memory.verdicts) {
            let Some(row) = state.rows[id.index()].as_mut().filter(|row| **row == known) else { continue };
            match verdict {
                Outcome::Reached(stage) => row.stage = stage,
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

    fn end(&self, state: &mut State, at: usize) {
        let process = &mut state.ours[at];
        if let Some(id) = process.own() {
            state.truth.answers[id.index()] = process.memory.answer;
        }
        state.truth.is_settled = process.task == Task::Look && state.truth.is_quiet;
        process.finish(Step::Done);
    }

    pub(crate) fn fail(&self, state: &mut State, at: usize) {
        state.faults -= 1;
        let process = &mut state.ours[at];
        let is_send = process.own().is_some();
        process.step = match process.step {
            Step::Ready => {
                // Without the ledger the mail goes all the same.
                process.memory.is_untracked = self.rules.accept_first;
                Step::Enter
            }
            Step::Stage if is_send => Step::TakeBack,
            Step::Record => {
                process.memory.is_unrecorded = true;
                process.memory.answer = Some(Answer::There);
                Step::Leave
            }
            Step::TakeBack => {
                process.memory.answer = Some(Answer::WillBe);
                if process.memory.is_untracked {
                    process.memory.answer = Some(Answer::NotThere);
                }
                Step::Leave
            }
            Step::RecordLook => return self.end(state, at),
            _ => Step::Leave,
        };
    }

    pub(crate) fn stop(&self, state: &mut State, at: usize) {
        state.stops -= 1;
        if state.ours[at].step != Step::Enter {
            release(state, at);
            state.ours[at].step = Step::TakeBack;
            return;
        }
        let process = &state.ours[at];
        let row = process.own().and_then(|id| state.rows[id.index()]);
        let answer = match row {
            Some(row) if row.stage != Stage::Accepted => Some(Answer::There),
            // Whoever has the queue may be about to write it.
            Some(_) if self.rules.take_back_in_queue => Some(Answer::WillBe),
            _ => self.withdraw(state, at),
        };
        state.ours[at].memory.answer = answer;
        self.end(state, at);
    }

    pub(crate) fn kill(&self, state: &mut State, at: usize) {
        state.crashes -= 1;
        if state.queue == Some(at) {
            state.queue = None;
        }
        if state.flock == Some(Holder::Ours(at)) {
            state.flock = None;
        }
        if state.mkdir == Some(Holder::Ours(at)) {
            state.mkdir = Some(Holder::Dead);
        }
        state.ours[at].finish(Step::Dead);
    }

    fn note(&self, state: &mut State, note: Note) {
        if self.rules.queue {
            state.note = note;
        }
    }

    /// Gives up a new version that was prepared.
    fn unstage(&self, state: &mut State) {
        state.temp = false;
        self.note(state, Note::Clear);
    }
}

fn reach_written(state: &mut State, id: Id, before: Ids, is_put_back: bool) {
    if let Some(row) = &mut state.rows[id.index()]
        && (is_put_back || row.stage == Stage::Accepted)
    {
        *row = Row { stage: Stage::Written, before, put_backs: row.put_backs + u8::from(is_put_back) };
    }
}

fn release(state: &mut State, at: usize) {
    let me = Some(Holder::Ours(at));
    if state.mkdir == me {
        state.mkdir = None;
    }
    if state.flock == me {
        state.flock = None;
    }
}
