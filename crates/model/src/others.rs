//! Other programs at the same inbox: what each locks, reads and writes.

use crate::ids::{Entry, Id, Ids, ids};
use crate::state::{Action, Commit, Holder, State};

/// A kind of program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An agent client that sends: the directory lock.
    Client,
    /// A Python tool that sends: `flock`.
    Flocker,
    /// A shell recipe that sends: no lock.
    Lockless,
    /// A lead: takes all in one write, and keeps it in memory until the turn ends.
    Drainer,
    /// An old client: reads without a lock, then marks everything that is there.
    Marker,
    /// A member inside its lead: takes one at a time, in any order.
    InProcess,
}

/// How far it is in its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// About to take its lock, or to read where it takes none.
    Ready,
    /// With its lock, about to read.
    Locked,
    /// Has read, about to write.
    Read,
    /// Has written, about to give its lock back.
    Written,
    /// All its rounds are done.
    Done,
}

/// A program at work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Other {
    kind: Kind,
    place: Place,
    rounds: u8,
    round: u8,
    seen: Vec<Entry>,
    /// Ours that readers took since it read the file.
    taken_since: Ids,
    /// What it has taken and not shown yet.
    pub hand: Ids,
}

impl Other {
    pub(crate) fn new(kind: Kind, rounds: u8) -> Self {
        let (seen, taken_since, hand) = (Vec::new(), Ids::default(), Ids::default());
        Self { kind, place: Place::Ready, rounds, round: 0, seen, taken_since, hand }
    }

    fn is_reader(&self) -> bool {
        matches!(self.kind, Kind::Drainer | Kind::Marker | Kind::InProcess)
    }

    fn finish_round(&mut self) {
        self.seen.clear();
        self.taken_since = Ids::default();
        self.round += 1;
        self.place = if self.round == self.rounds { Place::Done } else { Place::Ready };
    }
}

impl Commit {
    pub(crate) fn other_actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, other) in state.others.iter().enumerate() {
            let is_possible = match (other.place, other.kind) {
                (Place::Ready, Kind::Flocker) => state.flock.is_none(),
                // A directory whose owner is dead is taken after ten seconds.
                (Place::Ready, Kind::Client | Kind::Drainer | Kind::InProcess)
                | (Place::Read, Kind::Marker) => is_free(state.mkdir),
                (Place::Done, _) => false,
                _ => true,
            };
            match other.kind {
                Kind::InProcess if other.place == Place::Locked => {
                    let unread = state.file.iter().filter(|entry| !entry.read);
                    actions.extend(unread.map(|entry| Action::TakesOne(at, entry.id)));
                    if state.file.iter().all(|entry| entry.read) {
                        actions.push(Action::Other(at, other.place));
                    }
                }
                _ if is_possible => actions.push(Action::Other(at, other.place)),
                _ => {}
            }
            let is_between = matches!(other.place, Place::Ready | Place::Done);
            if other.is_reader() && other.kind != Kind::Marker && is_between {
                if state.turn < self.setup.turns {
                    actions.push(Action::TurnEnds(at));
                }
                if state.deaths > 0 && !other.hand.is_empty() {
                    actions.push(Action::ClientDies(at));
                }
            }
        }
    }

    pub(crate) fn step_other(state: &mut State, at: usize) {
        state.truth.is_quiet = false;
        let (kind, place, round) = {
            let other = &state.others[at];
            (other.kind, other.place, other.round)
        };
        let me = Some(Holder::Other(at));
        match (kind, place) {
            (Kind::Flocker, Place::Ready) => {
                state.flock = me;
                state.others[at].place = Place::Locked;
            }
            (Kind::Client | Kind::Drainer | Kind::InProcess, Place::Ready) => {
                state.mkdir = me;
                state.others[at].place = Place::Locked;
            }
            (Kind::InProcess, Place::Locked) => state.others[at].place = Place::Written,
            (Kind::Lockless | Kind::Marker, Place::Ready) | (_, Place::Locked) => {
                state.others[at].seen = state.file.clone();
                state.others[at].place = Place::Read;
                if kind == Kind::Marker {
                    let unread =
                        state.file.iter().filter(|entry| !entry.read).map(|entry| entry.id).collect();
                    state.others[at].hand = unread;
                }
            }
            (Kind::Client | Kind::Flocker | Kind::Lockless, Place::Read) => {
                let mut file = state.others[at].seen.clone();
                file.push(Entry { id: Id::foreign(at, round), read: false });
                replace(state, at, file);
                state.others[at].place = Place::Written;
                if kind == Kind::Lockless {
                    state.others[at].finish_round();
                }
            }
            (Kind::Drainer, Place::Read) => {
                let taken = ids(&state.others[at].seen);
                replace(state, at, Vec::new());
                take(state, at, taken);
                state.others[at].place = Place::Written;
            }
            // The lock, a second look, the marks and the unlock: nobody who locks comes in between.
            (Kind::Marker, Place::Read) => {
                state.file.iter_mut().for_each(|entry| entry.read = true);
                let marked = ids(&state.file);
                let shown = state.others[at].hand;
                take(state, at, marked);
                state.others[at].hand = Ids::default();
                state.show(shown);
                state.others[at].finish_round();
            }
            (_, Place::Written) => {
                if kind == Kind::Flocker {
                    state.flock = None;
                } else if state.mkdir == me {
                    state.mkdir = None;
                }
                state.others[at].finish_round();
            }
            (Kind::InProcess, Place::Read) | (_, Place::Done) => {}
        }
    }

    pub(crate) fn take_one(state: &mut State, at: usize, id: Id) {
        state.truth.is_quiet = false;
        state.file.retain(|entry| entry.id != id);
        take(state, at, [id].into_iter().collect());
        state.others[at].place = Place::Written;
    }

    /// A turn ends, with what was taken in the conversation, or lost.
    pub(crate) fn end_turn(state: &mut State, at: usize, is_shown: bool) {
        state.truth.is_quiet = false;
        state.turn += 1;
        let hand = std::mem::take(&mut state.others[at].hand);
        if is_shown {
            state.show(hand);
        }
    }
}

/// A reader takes these. A writer that has read the file before may bring them back.
fn take(state: &mut State, at: usize, taken: Ids) {
    state.truth.was_taken = state.truth.was_taken || !taken.is_empty();
    state.others[at].hand.extend(taken);
    for (number, other) in state.others.iter_mut().enumerate() {
        if number != at && matches!(other.place, Place::Read) {
            other.taken_since.extend(taken);
        }
    }
}

/// Another program puts its version in place. What it undoes or brings back may spoil what we can know of ours.
fn replace(state: &mut State, at: usize, file: Vec<Entry>) {
    let undone = ids(&state.file).without(ids(&file));
    let in_hand = state.in_hand();
    if !state.others[at].is_reader() {
        state.truth.spoiled.extend(undone.and(in_hand));
        state.truth.spoiled.extend(state.others[at].taken_since);
    }
    let are_ours = |lock| matches!(lock, Some(Holder::Ours(_)));
    state.truth.slipped_in |=
        state.others[at].kind == Kind::Lockless && are_ours(state.flock) && are_ours(state.mkdir);
    state.file = file;
}

fn is_free(lock: Option<Holder>) -> bool {
    matches!(lock, None | Some(Holder::Dead))
}
