//! One team over many machines: the local side.
//!
//! Each member has a *home*, the machine that alone judges its inbox and runs its chores. Members of other machines stand in
//! `config.json` here as entries of ours (`members`). Mail for one of them is accepted and waits in the log: nobody writes
//! it into a file here, a bridge carries it (`outgoing`), its home takes it in once (`incoming`), and what becomes of it
//! there comes home as receipts (`receipts`). Who is not of the team is carried within it, too (`outsiders`). What a client
//! here writes into the inbox of such a member is collected into the log (`collect`). The mail of a member that moves is
//! sent on (`moves`). Nothing of this knows a network.

mod collect;
mod incoming;
mod members;
mod moves;
mod notices;
mod outgoing;
mod outsiders;
mod owners;
mod place;
mod recall;
mod receipts;
mod table;

use std::path::PathBuf;

use atm_store::{Bell, Serving};
use atm_wire::MachineName;

pub use atm_ledger::{Evidence, Stage};
pub use collect::Quiet;
pub use incoming::{Incoming, TakenIn};
pub use members::{LocalMember, Placed};
pub use moves::Move;
pub use outgoing::Outgoing;
pub use owners::EntryHere;
pub use place::{Refusal, RemoteMember};
pub(crate) use recall::{AskedBack, RECALL};
pub use receipts::Receipt;
pub(crate) use table::Table;

use crate::error::OfficeError;
use crate::office::Office;

/// Other machines, as an office sees them.
#[derive(Debug, Clone)]
pub struct Machines<'a> {
    pub(crate) office: &'a Office,
}

/// Where a member's home is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Home {
    /// This machine.
    Here,
    /// Another one.
    Machine(MachineName),
}

/// What a log is told from others by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Another one if the log was lost: numbers begin anew then. 32 hexadecimal digits.
    pub epoch: String,
    /// The origin of the log's events. 32 hexadecimal digits.
    pub origin: String,
}

impl Office {
    /// Other machines that share teams with this one.
    pub fn machines(&self) -> Machines<'_> {
        Machines { office: self }
    }
}

impl Machines<'_> {
    /// What this machine's log is told from others by.
    pub fn identity(&self) -> Result<Identity, OfficeError> {
        let (epoch, origin) = self.office.books.with(|ledger| ledger.identity())?;
        Ok(Identity { epoch: epoch.simple().to_string(), origin: origin.simple().to_string() })
    }

    /// Becomes the one bridge of this state folder, for as long as the answer lives; `None` if there is one.
    pub fn serve(&self) -> Result<Option<Serving>, OfficeError> {
        Ok(Serving::take(&self.office.state)?)
    }

    /// The folder in which something changes when there is new outgoing mail, or when receipts were recorded.
    pub fn bell(&self) -> Result<PathBuf, OfficeError> {
        let bell = Bell::of(&self.office.state);
        bell.ring()?;
        Ok(bell.folder().unwrap_or_default())
    }

    /// Whether a bridge runs here.
    pub fn is_served(&self) -> bool {
        Serving::is_taken(&self.office.state)
    }
}
