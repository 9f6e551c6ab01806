//! Messages and sets of them.

use std::fmt;

/// A message: ours, the one that was there before, or somebody else's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u8);

/// The message that is in the inbox from the start, where there is one.
pub const OLD: Id = Id(4);
const FOREIGN: u8 = 5;
/// Most messages that one other program writes.
pub const ROUNDS: u8 = 4;

impl Id {
    /// The message that another program writes in one of its rounds.
    pub fn foreign(program: usize, round: u8) -> Self {
        let program = u8::try_from(program).unwrap_or(u8::MAX);
        Self(FOREIGN + program * ROUNDS + round)
    }

    /// Whether one of our senders brought it.
    pub fn is_ours(self) -> bool {
        self < OLD
    }

    /// Its place in tables of our messages.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ours if *self < OLD => write!(f, "m{}", ours + 1),
            _ if *self == OLD => f.write_str("old"),
            other => write!(f, "f{}", other - FOREIGN),
        }
    }
}

/// A set of messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ids(u32);

impl Ids {
    /// Puts one in.
    pub fn insert(&mut self, id: Id) {
        self.0 |= 1 << id.0;
    }

    /// Takes one out.
    pub fn remove(&mut self, id: Id) {
        self.0 &= !(1 << id.0);
    }

    /// Puts all of another set in.
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether one is in it.
    pub fn has(self, id: Id) -> bool {
        self.0 & (1 << id.0) != 0
    }

    /// Whether none is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Id> {
        (0..32).map(Id).filter(move |id| self.has(*id))
    }
}

impl FromIterator<Id> for Ids {
    fn from_iter<T: IntoIterator<Item = Id>>(ids: T) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A message in the inbox file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Entry {
    /// Which.
    pub id: Id,
    /// Marked as read.
    pub read: bool,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}{}", self.id, if self.read { " read" } else { "" })
    }
}

/// The messages of a file.
pub fn ids(file: &[Entry]) -> Ids {
    file.iter().map(|entry| entry.id).collect()
}
