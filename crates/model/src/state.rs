//! One inbox, its locks, our ledger, and everybody who acts on them.

use std::fmt;

use stateright::{Model, Property};

use crate::ids::{Entry, Id, Ids, OLD, ROUNDS};
use crate::others::{Kind, Other, Place};
use crate::ours::{Process, Step, Task};
use crate::properties;
use crate::rules::{Client, Rules};

/// What is explored: the rules under test, and who is there.
#[derive(Clone, Debug)]
pub struct Commit {
    /// How `atm` decides.
    pub rules: Rules,
    /// Who acts, and what goes wrong.
    pub setup: Setup,
}

/// Who acts, and how often something goes wrong.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Sends, each of one message.
    pub sends: u8,
    /// Looks at history, one after the other, which also finish what was left.
    pub looks: u8,
    /// `atm read`, one after the other.
    pub reads: u8,
    /// `atm recall` of the first message, one after the other.
    pub recalls: u8,
    /// Other programs, and how often each does its work.
    pub others: Vec<(Kind, u8)>,
    /// A message that is in the file at first; whether it is read.
    pub old: Option<bool>,
    /// The client's conversation can be read.
    pub transcript: bool,
    /// Turns that the client ends at most.
    pub turns: u8,
    /// Deaths of the client with mail in its memory.
    pub deaths: u8,
    /// SIGKILLs of our processes.
    pub crashes: u8,
    /// Failures of a ledger transaction, or of writing the new version.
    pub faults: u8,
    /// Sends that are told to stop, or whose patience ends.
    pub stops: u8,
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// One of our processes.
    Ours(usize),
    /// Another program.
    Other(usize),
    /// A process of ours that was killed: only directories stay so.
    Dead,
}

/// What stands in the queue's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// Nothing is under way.
    Clear,
    /// A temp file is being made.
    Temp,
    /// It is about to be put in place, with these messages.
    Ids(Ids),
    /// It is about to be put in place, without these messages: their sender takes them back.
    Out(Ids),
}

/// How far a message of ours came, for the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It will be written.
    Accepted,
    /// It is in the file.
    Written,
    /// Its client took it: for sure, or likely, as of this many ended turns.
    Taken {
        /// Nothing can show otherwise.
        sure: bool,
        /// Turns that had ended when it was found gone.
        turn: u8,
    },
    /// It was shown.
    Seen,
    /// Put back too often: somebody has to look.
    Held,
    /// Its sender took it back.
    Recalled {
        /// It was in the file before.
        written: bool,
    },
}

/// The ledger's row of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// How far it came.
    pub stage: Stage,
    /// What stood in the file when it was written.
    pub before: Ids,
    /// How often it was put back or offered again.
    pub put_backs: u8,
}

/// What a sender was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It is there.
    There,
    /// It is there, and nobody will know what becomes of it.
    ThereUntracked,
    /// It is not there and never will be.
    NotThere,
    /// It is accepted and will be written.
    WillBe,
}

/// What really happened; no program can see this.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact that a property asks for")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Truth {
    /// How often each of ours was put into the file.
    pub writes: Vec<u8>,
    /// How often each of ours was shown to the model.
    pub shown: Vec<u8>,
    /// What each sender was told.
    pub answers: Vec<Option<Answer>>,
    /// Ours whose evidence a writer without our lock spoiled while a reader had them in hand.
    pub spoiled: Ids,
    /// Ours that were taken back.
    pub recalled: Ids,
    /// One that was taken back was shown after that.
    pub shown_recalled: bool,
    /// A reader took something.
    pub was_taken: bool,
    /// A writer without a lock came between our compare and our rename.
    pub slipped_in: bool,
    /// We removed an entry of somebody who holds a lock, or brought one back.
    pub damage: bool,
    /// We marked as read what nobody was shown.
    pub marked_unshown: bool,
    /// Nobody else acted since the running look began.
    pub is_quiet: bool,
    /// A look has just ended in which nobody else acted.
    pub is_settled: bool,
}

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The inbox file.
    pub file: Vec<Entry>,
    /// `inboxes/.lock`.
    pub flock: Option<Holder>,
    /// `<name>.json.lock`.
    pub mkdir: Option<Holder>,
    /// Our own queue.
    pub queue: Option<usize>,
    /// What the queue's file says.
    pub note: Note,
    /// A temp file of ours is beside the inbox.
    pub temp: bool,
    /// What dead processes had put in place, beside the queue.
    pub left: Ids,
    /// What dead processes had taken out.
    pub taken_out: Ids,
    /// The ledger.
    pub rows: Vec<Option<Row>>,
    /// Our processes.
    pub ours: Vec<Process>,
    /// Other programs.
    pub others: Vec<Other>,
    /// Turns that the client has ended.
    pub turn: u8,
    /// Deaths of the client that may still come.
    pub deaths: u8,
    /// Kills that may still come.
    pub crashes: u8,
    /// Failures that may still come.
    pub faults: u8,
    /// Stops that may still come.
    pub stops: u8,
    /// What really happened.
    pub truth: Truth,
}

/// Something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A process of ours does its next step.
    Ours(usize, Step),
    /// Its next step fails.
    Fails(usize, Step),
    /// It is killed before its next step.
    Killed(usize, Step),
    /// It is told to stop, or its patience ends.
    Stopped(usize, Step),
    /// Another program does its next step.
    Other(usize, Place),
    /// A client takes this message, and no other.
    TakesOne(usize, Id),
    /// The client's turn ends: what it took is in the conversation.
    TurnEnds(usize),
    /// The client dies, and with it what it had in memory.
    ClientDies(usize),
}

impl Model for Commit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let setup = &self.setup;
        assert!(setup.others.iter().all(|(_, rounds)| *rounds <= ROUNDS), "more rounds than ids");
        let sends = usize::from(setup.sends);
        let ours = (0..setup.sends).map(|number| (Task::Send(Id(number)), 1));
        let ours = ours.chain([
            (Task::Look, setup.looks),
            (Task::Read, setup.reads),
            (Task::Recall(Id(0)), setup.recalls),
        ]);
        let state = State {
            file: setup.old.map(|read| Entry { id: OLD, read }).into_iter().collect(),
            flock: None,
            mkdir: None,
            queue: None,
            note: Note::Clear,
            temp: false,
            left: Ids::default(),
            taken_out: Ids::default(),
            rows: vec![None; sends],
            ours: ours.filter(|(_, runs)| *runs > 0).map(|(task, runs)| Process::new(task, runs)).collect(),
            others: setup.others.iter().map(|(kind, rounds)| Other::new(*kind, *rounds)).collect(),
            turn: 0,
            deaths: setup.deaths,
            crashes: setup.crashes,
            faults: setup.faults,
            stops: setup.stops,
            truth: Truth {
                writes: vec![0; sends],
                shown: vec![0; sends],
                answers: vec![None; sends],
                ..Truth::default()
            },
        };
        vec![state]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.our_actions(state, actions);
        self.other_actions(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.truth.is_settled = false;
        let is_look = |at: usize| last.ours[at].task == Task::Look;
        match action {
            Action::Ours(at, step) => {
                if is_look(at) && step == Step::Ready {
                    state.truth.is_quiet = true;
                } else if !is_look(at) {
                    state.truth.is_quiet = false;
                }
                self.step(&mut state, at);
            }
            Action::Fails(at, _) | Action::Killed(at, _) | Action::Stopped(at, _) => {
                state.truth.is_quiet = false;
                match action {
                    Action::Fails(..) => self.fail(&mut state, at),
                    Action::Killed(..) => Self::kill(&mut state, at),
                    _ => self.stop(&mut state, at),
                }
            }
            Action::Other(at, _) => Self::step_other(&mut state, at),
            Action::TakesOne(at, id) => Self::take_one(&mut state, at, id),
            Action::TurnEnds(at) => Self::end_turn(&mut state, at, true),
            Action::ClientDies(at) => {
                state.deaths -= 1;
                Self::end_turn(&mut state, at, false);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {:?}, ledger {:?}, note {:?}", self.file, self.rows, self.note)
    }
}

impl State {
    /// Ours that a client has taken and not shown yet.
    pub fn in_hand(&self) -> Ids {
        let mut hand = Ids::default();
        self.others.iter().for_each(|other| hand.extend(other.hand));
        hand
    }

    /// Ours that were shown.
    pub fn shown(&self) -> Ids {
        (0..).map(Id).zip(&self.truth.shown).filter(|(_, count)| **count > 0).map(|(id, _)| id).collect()
    }

    /// Counts ours as shown once more.
    pub fn show(&mut self, ids: Ids) {
        for id in ids.iter().filter(|id| id.is_ours()) {
            self.truth.shown[id.index()] += 1;
            self.truth.shown_recalled |= self.truth.recalled.has(id);
        }
    }
}

impl Commit {
    /// What a look learns of the recipient's client.
    pub fn client(&self, state: &State) -> Client {
        let transcript = self.setup.transcript.then(|| (state.shown(), state.turn));
        let in_process = self.setup.others.iter().any(|(kind, _)| *kind == Kind::InProcess);
        Client { in_process, transcript }
    }
}
