//! Whose a task is after its owner has moved: by the member's residence, never by a clock.
//!
//! | the owner's stay | the residence | the task is |
//! |---|---|---|
//! | an epoch | a later one, elsewhere | the member's at its new home |
//! | not known | elsewhere, and names the owner's machine as a former home | the same |
//! | 0: another member of the name | elsewhere | the owner's, as it was |
//! | any | on the owner's machine | the owner's, in this stay |
//! | any | none, or an earlier one | the owner's, as it was |

use std::collections::BTreeMap;

use super::{Owner, SharedTask};
use crate::name::Machine;
use crate::protocol::homes::{MemberKey, Residence};

/// Where members are at home.
pub type Residences = BTreeMap<MemberKey, Residence>;

/// The stay of a member that is not the one whose homes are registered.
pub const NO_STAY: u64 = 0;

impl Owner {
    /// A member of a machine, by what is known of the residence of its name.
    pub fn at(name: &str, machine: &Machine, residence: Option<&Residence>) -> Self {
        let stay = residence.map(|home| if home.machine == *machine { home.epoch } else { NO_STAY });
        Self { name: name.to_owned(), machine: machine.clone(), stay }
    }

    /// Where it is at home now.
    #[must_use]
    pub fn at_home(&self, residence: Option<&Residence>) -> Self {
        let Some(home) = residence else { return self.clone() };
        let has_left = match self.stay {
            Some(NO_STAY) => false,
            Some(stay) => stay < home.epoch,
            None => home.former.iter().any(|former| former.machine == self.machine),
        };
        if home.machine == self.machine || has_left {
            return Self { machine: home.machine.clone(), stay: Some(home.epoch), ..self.clone() };
        }
        self.clone()
    }

    /// The owner of a task that only this machine had until now. Who has moved away since got it here: its new home takes it along,
    /// and is not given it by another machine.
    #[must_use]
    pub fn as_held_on(self, me: &Machine, residence: Option<&Residence>) -> Self {
        let home = residence.filter(|home| self.machine != *me && home.machine == self.machine);
        let was_here = home.is_some_and(|home| home.former.iter().any(|former| former.machine == *me));
        if was_here { Self { machine: me.clone(), stay: None, ..self } } else { self }
    }

    /// Whether an entry of the home of `new` may say that this owner lives there now. The residence that shows it may be heard of
    /// a moment later; who can say so falsely can register that, too.
    pub(super) fn has_moved_to(&self, new: &Self, from: &Machine) -> bool {
        let is_later = match self.stay {
            Some(NO_STAY) => false,
            stay => new.stay > stay.max(Some(1)),
        };
        self.name == new.name && new.machine == *from && is_later
    }
}

/// Whether two owners are the same member, as far as it is known that it has not moved in between.
pub fn is_same(one: Option<&Owner>, other: Option<&Owner>) -> bool {
    let key = |owner: &Owner| (owner.name.clone(), owner.machine.clone());
    one.map(key) == other.map(key)
}

impl SharedTask {
    /// The task with its owner where it is at home now.
    #[must_use]
    pub fn at_home(&self, residence: Option<&Residence>) -> Self {
        Self { owner: self.owner.as_ref().map(|owner| owner.at_home(residence)), ..self.clone() }
    }

    /// What the new home of its owner says of a task, if it has not said so yet: the bucket has `self`, and by the residence it is
    /// `now`. From then on nobody needs the residence to know whose it is, and the new home says who may lead its member.
    pub fn taken_along(&self, now: &Self, me: &Machine, as_lead: &[Machine]) -> Option<Self> {
        let is_mine = now.owner.as_ref().is_some_and(|owner| owner.machine == *me);
        // Which stay on the same machine matters to nobody, but for one that became the member whose homes are registered.
        let is_other = self.owner.as_ref().is_some_and(|owner| owner.stay == Some(NO_STAY));
        let is_same = is_same(self.owner.as_ref(), now.owner.as_ref());
        let is_said = self.owner == now.owner || is_same && !is_other;
        (is_mine && !is_said && !now.is_completed())
            .then(|| Self { leads: as_lead.to_vec(), ..now.clone() }.renewed())
    }

    /// What is put in the place of `entry`, with the owner as it stands there if that is the same: only its home says that it has moved.
    #[must_use]
    pub fn told_by(self, me: &Machine, entry: &Self, now: &Self) -> Self {
        let is_kept = is_same(self.owner.as_ref(), now.owner.as_ref());
        let is_mine = self.owner.as_ref().is_some_and(|owner| owner.machine == *me);
        if is_kept && !is_mine { Self { owner: entry.owner.clone(), ..self } } else { self }
    }
}
