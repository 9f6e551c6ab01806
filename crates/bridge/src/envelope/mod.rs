//! What one machine tells another: an envelope with a signature.
//!
//! The bytes that are signed are the bytes that are sent, so nothing has to be put into a canonical form: [`codec`] writes a
//! first line with the sender's name and signature, and the signed bytes after it. [`seal`] encrypts a body for the machine
//! that it is for. [`Refusal`] says why an envelope is not accepted.

pub mod codec;
mod refusal;
pub mod seal;

pub use refusal::Refusal;

use std::collections::BTreeSet;

use atm_wire::Stamp;
use atm_wire::task::TaskId;
use serde::{Deserialize, Serialize};

use crate::local::{Letter, Receipt};
use crate::name::{Machine, Realm};
use crate::protocol::Position;
use crate::protocol::homes::{Former, Resident};
use crate::protocol::tasks::SharedTask;

/// An envelope whose signature was checked, or that will be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Who tells whom, and when.
    pub header: Header,
    /// What.
    pub body: Body,
}

/// Who tells whom, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The realm: an envelope of another one is refused.
    pub realm: Realm,
    /// The machine that signs.
    pub from: Machine,
    /// The machine that it is for; none: all of the realm.
    pub to: Option<Machine>,
    /// The epoch of the sender's log.
    pub epoch: String,
    /// The letter's number in that log; 0 for what is no letter.
    pub n: u64,
    /// Which attempt this is: part of the id by which the server drops duplicates.
    pub attempt: u32,
    /// When it was signed.
    pub at: Stamp,
}

/// What one machine tells another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "lowercase")]
pub enum Body {
    /// A letter for a member of the recipient machine.
    Letter(Letter),
    /// How far letters came that were published, each time they arrive.
    Confirm(Vec<Receipt>),
    /// What became of letters later.
    Receipts(Receipts),
    /// A batch of receipts is recorded.
    Applied(Applied),
    /// Letters that cannot be taken in, now or ever.
    Failed(Vec<Failure>),
    /// Letters whose recipients are not at home on the machine that says so.
    Absent(Vec<Absence>),
    /// The machine is there, and who its members are.
    Presence(Presence),
    /// A member is at home on the machine.
    Home(Home),
    /// What the machines have in common of a task: an entry of a bucket.
    Task(SharedTask),
    /// The last number that was given to a task of a team: an entry of a bucket.
    Numbers(Numbers),
}

impl Body {
    /// One word for it, as in subjects.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Letter(_) => "letter",
            Self::Confirm(_) => "confirm",
            Self::Receipts(_) => "receipts",
            Self::Applied(_) => "applied",
            Self::Failed(_) => "failed",
            Self::Absent(_) => "absent",
            Self::Presence(_) => "presence",
            Self::Home(_) => "home",
            Self::Task(_) => "task",
            Self::Numbers(_) => "numbers",
        }
    }

    /// Whether it answers an envelope of the machine that it is for.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Confirm(_) | Self::Applied(_) | Self::Failed(_) | Self::Absent(_))
    }

    /// How many receipts or failures it has.
    pub fn count(&self) -> usize {
        match self {
            Self::Confirm(receipts) | Self::Receipts(Receipts { receipts, .. }) => receipts.len(),
            Self::Failed(failures) => failures.len(),
            Self::Absent(absences) => absences.len(),
            _ => 0,
        }
    }
}

/// The numbers of a team's tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// The team, by its shared name.
    pub team: String,
    /// The last one that was given.
    pub last: TaskId,
}

/// A batch of receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipts {
    /// Names the batch.
    pub upto: String,
    /// The receipts.
    pub receipts: Vec<Receipt>,
}

/// A batch of receipts is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// Which.
    pub upto: String,
    /// The teams in it that the machine does not share: of these, nothing is recorded.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unshared: BTreeSet<String>,
}

/// A letter that cannot be taken in, now or ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The message.
    pub id: String,
    /// The epoch of the sender's log in which it has that number.
    pub epoch: String,
    /// Its number in the sender's log.
    pub n: u64,
    /// Why.
    pub why: String,
}

/// A letter whose recipient is not at home on the machine that says so. It is not refused: its sender keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// The message.
    pub id: String,
    /// The epoch of the sender's log in which it has that number.
    pub epoch: String,
    /// Its number in the sender's log.
    pub n: u64,
    /// Which attempt is answered: what is known of the recipient may be another since.
    pub attempt: u32,
}

/// What a machine says of itself, again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The last message of the stream that it has processed.
    pub passed: Option<Position>,
    /// The teams that it shares.
    pub teams: Vec<SharedTeam>,
}

/// A team that a machine shares, and the members that are at home there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedTeam {
    /// Its shared name.
    pub name: String,
    /// The members.
    pub members: Vec<SharedMember>,
}

/// A member that is at home on the machine that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMember {
    /// Its name there.
    pub name: String,
    /// Whether it leads there.
    #[serde(default)]
    pub lead: bool,
    /// Its state: `online`, `idle`, `stalled`, `offline` or `unknown`.
    pub state: String,
    /// The epoch of its home there; none where it has none, or has it on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// That a member is at home on the machine that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// The team, by its shared name.
    pub team: String,
    /// The member.
    pub name: String,
    /// The epoch of its home.
    pub epoch: u64,
    /// Which entry of the list there it is.
    #[serde(default)]
    pub resident: Resident,
    /// Where it was at home before.
    pub former: Vec<Former>,
}
