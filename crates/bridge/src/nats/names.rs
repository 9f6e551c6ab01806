//! What a realm has on the server.

use crate::name::{Machine, Realm};

/// Names of the stream and the buckets of a realm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The stream of envelopes.
    pub stream: String,
    /// Heartbeats: entries expire by age.
    pub presence: String,
    /// The last announcement of each machine: entries stay.
    pub machines: String,
    /// Where each member is at home: entries stay, and are replaced by compare-and-set.
    pub homes: String,
    /// The tasks of shared teams, the same way.
    pub tasks: String,
    /// Envelopes that are larger than the server takes in one message.
    pub objects: String,
}

impl Names {
    /// Those of this realm.
    pub fn of(realm: &Realm) -> Self {
        Self {
            stream: format!("atm-{realm}"),
            presence: format!("atm-{realm}-presence"),
            machines: format!("atm-{realm}-machines"),
            homes: format!("atm-{realm}-homes"),
            tasks: format!("atm-{realm}-tasks"),
            objects: format!("atm-{realm}-objects"),
        }
    }

    /// The buckets, and whether their entries expire.
    pub fn buckets(&self) -> [(&str, bool); 4] {
        [(&self.presence, true), (&self.machines, false), (&self.homes, false), (&self.tasks, false)]
    }

    /// The durable consumer of a machine.
    pub fn consumer(machine: &Machine) -> String {
        format!("machine-{machine}")
    }

    /// The consumer of a machine's dead letters, which is there only while they are read.
    pub fn dead_letters(machine: &Machine) -> String {
        format!("dead-{machine}")
    }
}
