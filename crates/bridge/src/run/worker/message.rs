//! What is handed to the engine's thread, and what comes from it.

use std::sync::mpsc as std_mpsc;

use atm_wire::Stamp;
use tokio::sync::oneshot;

use crate::engine::{Post, Ticket, Verdict};
use crate::envelope::{Envelope, Presence, SharedTeam};
use crate::name::Machine;
use crate::protocol::homes::Put;
use crate::protocol::{Position, StreamView};
use crate::run::homes::News;
use crate::run::status::Fill;
use crate::trust::Trust;

/// Something for the engine.
#[derive(Debug)]
pub enum Input {
    /// Envelopes that arrived; the verdicts are wanted.
    Arrived(Vec<Envelope>, oneshot::Sender<Vec<Verdict>>),
    /// A dead letter that was asked for again; the verdict is wanted.
    Wanted(Box<Envelope>, oneshot::Sender<Verdict>),
    /// What the server answered to a publication.
    Published(Ticket, Option<Position>),
    /// A letter makes an envelope of so many bytes, more than anybody reads: it is not published.
    TooLarge(Ticket, usize),
    /// The stream as it is; none: out of reach.
    Stream(Option<StreamView>),
    /// The connection came or went.
    Connected(bool),
    /// Another machine announced itself.
    Heard(Box<Word>),
    /// The bucket of homes.
    Homes(News),
    /// What the stream held for this machine when this question was asked is processed.
    CaughtUp(u64),
    /// The last word of every machine was heard.
    HeardAll,
    /// An envelope was refused before its content was read: why, and who sent it.
    Refused(&'static str, String),
    /// An envelope can never be taken in: its sender is told.
    Poison {
        /// The sender.
        from: Machine,
        /// The epoch of its log.
        epoch: String,
        /// The letter's number.
        n: u64,
        /// Why.
        why: String,
    },
    /// Messages for this machine that the server has not delivered.
    Lag(u64),
    /// How much later by this machine's clock a message came than the server stored it by its own, in milliseconds.
    Age(i64),
    /// How full the bucket of tasks is.
    TaskBytes(Fill),
    /// Another bridge speaks under this machine's name.
    Namesake,
    /// Something went wrong that people should know.
    Trouble(String),
    /// Files changed.
    Wake,
    /// Other machines are trusted.
    Trust(Box<Trust>),
    /// The process ends.
    Stop,
}

/// What another machine said of itself; its signature is checked.
#[derive(Debug)]
pub struct Word {
    /// The machine.
    pub from: Machine,
    /// The epoch of its log.
    pub epoch: String,
    /// When it said so, by its own clock.
    pub at: Stamp,
    /// What it said.
    pub presence: Presence,
    /// Whether it was a heartbeat.
    pub is_live: bool,
}

/// Something for the server.
#[derive(Debug)]
pub enum Output {
    /// To be published.
    Posts(Vec<Post>),
    /// What this machine shares has changed.
    Teams(Vec<SharedTeam>),
    /// The log was lost, and this is its epoch now.
    Epoch(String),
    /// Homes of members, for their bucket.
    Homes(Vec<Put>),
    /// Letters that were confirmed: for which machines, and their numbers.
    Confirmed(Vec<(Machine, u64)>),
}

/// Where inputs go.
#[derive(Debug, Clone)]
pub struct Handle(std_mpsc::Sender<Input>);

impl Handle {
    /// A way to the worker, and its end.
    pub fn new() -> (Self, std_mpsc::Receiver<Input>) {
        let (sender, receiver) = std_mpsc::channel();
        (Self(sender), receiver)
    }

    /// Hands something over. A worker that ended needs nothing more.
    pub fn send(&self, input: Input) {
        let _ = self.0.send(input);
    }
}
