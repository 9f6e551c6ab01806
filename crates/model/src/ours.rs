//! Our own processes: sending, looking at history, reading; step by step, as `SharedFile::commit` and the office do it.

use crate::commit::{recall, release};
use crate::ids::{Entry, Id, Ids};
use crate::look::Outcome;
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
    /// `atm recall`, of this message.
    Recall(Id),
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
    pub(crate) memory: Memory,
}

/// What it remembers between steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Memory {
    pub(crate) seen: Vec<Entry>,
    pub(crate) add: Ids,
    pub(crate) back: Ids,
    /// Found in the file although the ledger waits for them.
    pub(crate) found: Ids,
    pub(crate) mark: Ids,
    /// What is taken out.
    pub(crate) out: Ids,
    pub(crate) receipts: Ids,
    pub(crate) is_untracked: bool,
    pub(crate) is_unrecorded: bool,
    pub(crate) answer: Option<Answer>,
    pub(crate) verdicts: Vec<(Id, Row, Outcome)>,
}

impl Process {
    pub(crate) fn new(task: Task, runs: u8) -> Self {
        Self { task, step: Step::Ready, runs, memory: Memory::default() }
    }

    pub(crate) fn own(&self) -> Option<Id> {
        match self.task {
            Task::Send(id) => Some(id),
            Task::Look | Task::Read | Task::Recall(_) => None,
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
                Step::Ready => is_its_turn(state, process),
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
                let memory = &state.ours[at].memory;
                let note = if memory.out.is_empty() { Note::Ids(memory.add) } else { Note::Out(memory.out) };
                self.note(state, note);
                Step::Rename
            }
            Step::Rename => Self::rename(state, at),
            Step::Release => {
                release(state, at);
                Step::Record
            }
            Step::Record => self.record(state, at),
            Step::TakeBack => self.take_back(state, at),
            Step::Leave => return self.leave(state, at),
            Step::Judge => self.look(state, at),
            Step::RecordLook => Self::record_look(state, at),
            Step::Done | Step::Dead => return,
        };
        state.ours[at].step = next;
        if next == Step::Done {
            Self::end(state, at);
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
            Task::Recall(id) => {
                let reached = state.rows[id.index()].map(|row| row.stage);
                match reached {
                    None | Some(Stage::Seen | Stage::Recalled { .. }) => return Step::Done,
                    Some(Stage::Accepted) if !self.rules.recall_in_queue => {
                        recall(state, id, false);
                        return Step::Done;
                    }
                    Some(_) => {}
                }
            }
        }
        Step::Enter
    }

    pub(crate) fn end(state: &mut State, at: usize) {
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
            Step::RecordLook => return Self::end(state, at),
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
            Some(Row { stage: Stage::Recalled { written: false }, .. }) => Some(Answer::NotThere),
            Some(row) if row.stage != Stage::Accepted => Some(Answer::There),
            // The holder of the queue may be about to write it.
            Some(_) if self.rules.take_back_in_queue => Some(Answer::WillBe),
            _ => self.withdraw(state, at),
        };
        state.ours[at].memory.answer = answer;
        Self::end(state, at);
    }

    pub(crate) fn kill(state: &mut State, at: usize) {
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
}

/// Who reads has a turn, and so has who recalls.
fn is_its_turn(state: &State, process: &Process) -> bool {
    let is_active = |other: &Process| !matches!(other.step, Step::Ready | Step::Done | Step::Dead);
    let excludes = |task: Task| match process.task {
        Task::Read => matches!(task, Task::Recall(_)),
        Task::Recall(_) => task == Task::Read,
        Task::Send(_) | Task::Look => false,
    };
    !state.ours.iter().any(|other| is_active(other) && excludes(other.task))
}
