//! Who may act in a team's name: somebody that it knows.

use atm_wire::MemberName;

use crate::error::OfficeError;
use crate::office::USER;
use crate::team::Team;

impl Team<'_> {
    /// Fails with the nearest names if nobody knows `from`: neither a member, nor the person at the keyboard, nor one that
    /// has an inbox here, or whose client runs.
    pub fn check_sender(&self, from: &MemberName) -> Result<(), OfficeError> {
        let is_known = from.as_str() == USER
            || self.config().member(from.as_str()).is_some()
            || self.office().leads(self.name(), self.config(), from)
            || self.mailbox(from).exists()
            || self.agent_named(from).is_some();
        if is_known { Ok(()) } else { Err(self.office().no_sender(self.name(), self.config(), from)) }
    }
}
