//! What a residence says: which member is at home where, under which epoch, as which entry of a list, and where it was before.

use std::collections::BTreeMap;

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use crate::name::Machine;

/// Former homes that a residence names.
pub const MOST_FORMER: usize = 32;

/// More moves than any member makes: what says that it had more is no residence.
pub const HIGHEST_EPOCH: u64 = 1 << 32;

/// A member, by the shared name of its team and its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberKey {
    /// The team.
    pub team: String,
    /// The member.
    pub name: String,
}

/// The ordinary members on the list of a machine.
pub type Entries = BTreeMap<MemberKey, Resident>;

/// Which entry of its machine's list a member is. A name that was removed and added again is another entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resident {
    /// One that does not say when it joined.
    #[default]
    Unknown,
    /// None: the member was removed there, and a machine that has it takes it over.
    Nobody,
    /// The one that joined the team then, in milliseconds since 1970.
    Joined(i64),
}

impl Resident {
    /// The entry that joined then.
    pub fn of(joined: Option<Stamp>) -> Self {
        joined.map_or(Self::Unknown, |at| Self::Joined(at.as_millis()))
    }

    /// Whether the member of a residence is this entry of the list there.
    pub(super) fn is_entry(self, entry: Self) -> bool {
        match (self, entry) {
            (Self::Nobody, _) | (_, Self::Nobody) => false,
            (Self::Unknown, _) | (_, Self::Unknown) => true,
            (Self::Joined(one), Self::Joined(other)) => one == other,
        }
    }
}

/// Where a member was at home before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FormerForm")]
pub struct Former {
    /// The machine.
    pub machine: Machine,
    /// Which entry of its list has moved: another one of that name there is another member.
    pub resident: Resident,
}

/// An earlier version has the machine's name alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum FormerForm {
    Name(Machine),
    Whole { machine: Machine, resident: Resident },
}

impl From<FormerForm> for Former {
    fn from(form: FormerForm) -> Self {
        match form {
            FormerForm::Name(machine) => Self { machine, resident: Resident::Unknown },
            FormerForm::Whole { machine, resident } => Self { machine, resident },
        }
    }
}

/// What a machine says: that a member is at home on it, or was the last time that anybody had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residence {
    /// The home.
    pub machine: Machine,
    /// It grows by one with each takeover, and begins with 1.
    pub epoch: u64,
    /// When this was said, by that machine's clock.
    pub at: Stamp,
    /// Which entry of the list there it is.
    #[serde(default)]
    pub resident: Resident,
    /// Where the member was at home before.
    pub former: Vec<Former>,
}

impl Residence {
    /// Whether it is the same stay of the member, on the same machine.
    pub fn is_stay_of(&self, other: &Self) -> bool {
        (self.epoch, &self.machine) == (other.epoch, &other.machine)
    }

    /// Whether it counts rather than another one. Two of one epoch are of buckets that were lost: every machine decides the same.
    /// Of one stay, what its home said last.
    pub fn beats(&self, other: &Self) -> bool {
        (self.epoch, &self.machine, self.at) > (other.epoch, &other.machine, other.at)
    }

    /// Whether no other stay can come after it.
    pub(super) fn is_last(&self) -> bool {
        self.epoch >= HIGHEST_EPOCH
    }

    /// Whether an entry of a machine's list is the member that has left that machine, and not another one of its name.
    pub fn has_left(&self, me: &Machine, entry: Resident) -> bool {
        let is_it = |former: &Former| former.machine == *me && former.resident.is_entry(entry);
        self.machine != *me && self.former.iter().any(is_it)
    }
}

/// What stands in a place of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// A residence, as it was signed.
    Residence(Residence, String),
    /// One in this machine's name, by another key: this machine had it before its key was replaced.
    FormerKey,
    /// Something that cannot be read, or is of a machine that is not trusted here: it is not ours to replace.
    Foreign,
    /// Nothing: it was deleted.
    Deleted,
}
