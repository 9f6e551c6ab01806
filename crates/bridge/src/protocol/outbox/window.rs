//! How much of the stream the letters of this machine for one other machine may be.
//!
//! A stream that is full drops its oldest messages, whoever they are for. If all that waits for a machine that is off went there, it
//! would push out everybody's mail, and its own beginning, without which the rest is early. So this machine fills only a part of the
//! stream for each other one; what is behind that waits in the ledger until something of it is confirmed.
//!
//! Each sender counts its own letters: several of them can fill the stream for a machine that is off. What is dropped then costs time, and no
//! mail. How full the stream is says nothing of that: what was processed stays in it until it is too old, so that most of a full stream
//! waits for nobody.

use std::collections::{HashMap, HashSet};

use crate::local::Outgoing;
use crate::name::Machine;

/// The share of the stream for one machine's mail from this one: one of so many.
const SHARES: u64 = 4;
/// What an envelope has beside its letter, in bytes: names, signature, headers.
const AROUND: u64 = 1_024;

/// The bytes of a letter in the stream, about.
pub(super) fn bytes_of(letter: &Outgoing) -> u64 {
    AROUND + letter.letter.len() as u64
}

/// What is in the stream for each machine, and not processed by it or to be published again.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// The most that there may be for one machine; none: the stream has no bound.
    most: Option<u64>,
    used: HashMap<Machine, u64>,
    /// Machines for which something waits for room. Nothing that comes later goes before it.
    full: HashSet<Machine>,
}

/// What is about to be published.
pub(super) struct Plan<'a> {
    windows: &'a Windows,
    planned: HashMap<Machine, u64>,
    full: HashSet<Machine>,
}

impl Windows {
    /// All is counted anew, over a stream with this bound.
    pub(super) fn begin(&mut self, stream: Option<u64>) {
        self.most = stream.map(|bytes| bytes / SHARES);
        self.used.clear();
    }

    /// Who waits for room may have it now.
    pub(super) fn open(&mut self) {
        self.full.clear();
    }

    pub(super) fn note_full(&mut self, machines: HashSet<Machine>) {
        self.full.extend(machines);
    }

    pub(super) fn enter(&mut self, machine: &Machine, size: u64) {
        match self.used.get_mut(machine) {
            Some(used) => *used += size,
            None => drop(self.used.insert(machine.clone(), size)),
        }
    }

    /// Whether there is room for a letter. One that is larger than all of it goes alone.
    pub(super) fn has_room(&self, machine: &Machine, size: u64) -> bool {
        self.fits(self.used(machine), size)
    }

    fn fits(&self, used: u64, size: u64) -> bool {
        self.most.is_none_or(|most| used == 0 || used + size <= most)
    }

    fn used(&self, machine: &Machine) -> u64 {
        self.used.get(machine).copied().unwrap_or(0)
    }

    /// Says whether something waits that has room now. Until half of it is free nothing is looked for: that costs a look at all letters.
    pub(super) fn leave(&mut self, machine: &Machine, size: u64) -> bool {
        let Some(used) = self.used.get_mut(machine) else { return false };
        *used = used.saturating_sub(size);
        self.full.contains(machine) && self.most.is_none_or(|most| *used <= most / 2)
    }

    pub(super) fn plan(&self) -> Plan<'_> {
        Plan { windows: self, planned: HashMap::new(), full: HashSet::new() }
    }
}

impl Plan<'_> {
    /// Whether there is room for a letter. Then it is taken.
    pub(super) fn admit(&mut self, machine: &Machine, size: u64) -> bool {
        if self.windows.most.is_none() {
            return true;
        }
        if self.windows.full.contains(machine) || self.full.contains(machine) {
            return false;
        }
        let planned = self.planned.get(machine).copied().unwrap_or(0);
        if !self.windows.fits(self.windows.used(machine) + planned, size) {
            self.full.insert(machine.clone());
            return false;
        }
        match self.planned.get_mut(machine) {
            Some(planned) => *planned += size,
            None => drop(self.planned.insert(machine.clone(), size)),
        }
        true
    }

    /// The machines for which there was no room.
    pub(super) fn full(self) -> HashSet<Machine> {
        self.full
    }
}
