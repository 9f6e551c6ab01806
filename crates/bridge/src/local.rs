//! The ledger of this machine, as the engine sees it. Teams have their shared names here; the implementation translates.

use std::collections::BTreeSet;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::envelope::Failure;
use crate::name::Machine;

/// A letter that this machine's ledger keeps until its recipient's machine has confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its number in the log: grows within one epoch, with gaps.
    pub n: u64,
    /// The message's id.
    pub id: String,
    /// The team, by its shared name.
    pub team: String,
    /// The recipient, as it is called on its own machine.
    pub to: String,
    /// The recipient's machine.
    pub machine: Machine,
    /// The sender, as it is called here.
    pub from: String,
    /// Whether the sender leads its team here.
    pub from_lead: bool,
    /// The epoch of the recipient's home, once it has moved.
    pub home: Option<u64>,
    /// When it was accepted here.
    pub accepted_at: Stamp,
    /// Everything that is needed to write it there: opaque.
    pub letter: String,
}

/// What the recipient's machine recorded about a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The message.
    pub id: String,
    /// The team, by its shared name.
    pub team: String,
    /// Stage, time and evidence: opaque.
    pub record: String,
}

/// A letter from another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Letter {
    /// The message's id.
    pub id: String,
    /// The team, by its shared name.
    pub team: String,
    /// The recipient, as it is called on its own machine.
    pub to: String,
    /// The sender, as it is called on its own machine.
    pub from: String,
    /// Whether the sender leads its team there.
    #[serde(default)]
    pub from_lead: bool,
    /// The letter before this one, if the recipient's machine had not confirmed that one when this was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The epoch of the recipient's home that it is addressed to; none before its first move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<u64>,
    /// Everything that is needed to write it: opaque.
    pub letter: String,
}

#[cfg(test)]
impl Letter {
    /// One from ann to bob.
    pub(crate) fn sample() -> Self {
        Self {
            id: "id".into(),
            team: "alpha".into(),
            to: "bob".into(),
            from: "ann".into(),
            from_lead: false,
            after: None,
            home: None,
            letter: "{}".into(),
        }
    }
}

impl Letter {
    /// The length of the longest of its names, in bytes.
    pub fn longest_name(&self) -> usize {
        [&self.id, &self.team, &self.to, &self.from].map(String::len).into_iter().max().unwrap_or(0)
    }
}

/// What became of a letter that was offered to this machine's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// It is recorded durably, now or before; these receipts say how far it came.
    Recorded(Vec<Receipt>),
    /// It is refused for good, and the receipt says why.
    Refused(Receipt),
    /// Its recipient is not at home here. It is not refused: its sender looks where the recipient is.
    NotHome,
}

/// How far a receipt of another machine ends the wait for its confirmation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confirmed {
    /// It says nothing about a letter of this machine.
    Nothing,
    /// That machine's ledger has it, and its inbox could not be written yet: it waits here until that is told.
    Accepted {
        /// The recipient, as it is called on that machine: others may have a letter with the same id.
        to: String,
    },
    /// It is where its recipient reads, or further, or it has failed.
    Written {
        /// The recipient, as it is called on that machine.
        to: String,
    },
}

/// Why the ledger could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// Input, output or a lock: the same call may succeed later.
    #[error("{0}")]
    Transient(String),
    /// The letter itself cannot be taken in, now or ever.
    #[error("{0}")]
    Poison(String),
}

/// The ledger of this machine. Every method is durable when it returns.
pub trait Local {
    /// The epoch of the log: another one after the log was lost, when numbers begin anew.
    fn epoch(&mut self) -> Result<String, LocalError>;

    /// The teams that are shared now, by their shared names.
    fn teams(&mut self) -> BTreeSet<String>;

    /// Letters for other machines with a number above `after`, in the order of the log: at most `most`, fewer where they are large,
    /// and none where there are no more.
    fn outgoing(&mut self, after: u64, most: usize) -> Result<Vec<Outgoing>, LocalError>;

    /// What is known of where a member of another machine is, as a number: another one when that changes.
    fn whereabouts(&mut self, machine: &Machine, team: &str, to: &str) -> u64;

    /// Offers letters of one machine to the ledger; one answer for each, in order.
    fn take_in(&mut self, from: &Machine, letters: &[Letter]) -> Vec<Result<TakenIn, LocalError>>;

    /// Whether the ledger has answered for this letter before, or its recipient is not at home here; without taking it in.
    fn is_known(&mut self, letter: &Letter) -> Result<bool, LocalError>;

    /// Records what `from` said about mail that is addressed to it; says of each what it confirms. Idempotent, in any order.
    fn confirm(&mut self, from: &Machine, receipts: &[Receipt]) -> Result<Vec<Confirmed>, LocalError>;

    /// Records that `from` can never take this letter in, if it is addressed to `from`; its id may be empty, where it could
    /// not be read there. Idempotent.
    fn fail(&mut self, from: &Machine, failure: &Failure) -> Result<(), LocalError>;

    /// Records that this letter of this machine can never be carried. Idempotent.
    fn give_up(&mut self, n: u64, why: &str) -> Result<(), LocalError>;

    /// What this machine recorded after `cursor` about mail that came from other machines, each with the machine that it
    /// came from; and the cursor after it.
    fn receipts_since(
        &mut self,
        cursor: Option<&str>,
        most: usize,
    ) -> Result<(Vec<(Machine, Receipt)>, String), LocalError>;
}
