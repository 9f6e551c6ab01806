//! Who speaks.

use atm_wire::Stamp;

use crate::envelope::{Body, Envelope, Header};
use crate::name::{Machine, Realm};

/// Who this machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The realm.
    pub realm: Realm,
    /// This machine.
    pub machine: Machine,
    /// The epoch of its log.
    pub epoch: String,
}

impl Identity {
    /// An envelope of this machine for all of the realm.
    pub fn announce(&self, body: Body, at: Stamp) -> Envelope {
        let header = Header {
            realm: self.realm.clone(),
            from: self.machine.clone(),
            to: None,
            epoch: self.epoch.clone(),
            n: 0,
            attempt: 1,
            at,
        };
        Envelope { header, body }
    }
}
