//! Completing what was accepted: mail whose sender died before it could write it.
//!
//! Everything that looks at mail does this first, so that no agent needs to know which command would. It costs a look at
//! three small files as long as nothing waits.

use std::time::Duration;

use atm_store::{LockTimes, Stillness};
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::outbox::write_waiting;
use crate::office::Office;

/// How long a look waits for its turn at an inbox that somebody else writes. Who has the turn writes all that waits.
const PATIENCE: Duration = Duration::from_secs(2);

impl Office {
    /// Writes what was accepted for a team, or for one name of it, and is not written yet. What cannot be written now is
    /// for the next look, and so is everything if the ledger cannot be asked.
    pub fn complete_accepted(&self, team: &TeamName, only: Option<&MemberName>) {
        self.complete(Some(team), only);
    }

    /// The same for all teams at once.
    pub(crate) fn complete_all_accepted(&self) {
        self.complete(None, None);
    }

    /// Writes what was accepted for one inbox, and fails if it cannot.
    pub fn write_accepted(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        write_waiting(self, &self.inbox_key(team, name), &self.mailbox(team, name))?;
        Ok(())
    }

    /// The same for a hook, which is called again and again: if nothing waits, the next one need not ask the ledger. Other
    /// looks write nothing where there is nothing to complete.
    pub(crate) fn complete_for_hook(&self, team: &TeamName, who: &MemberName) {
        if let Some(signature) = self.complete(Some(team), Some(who)) {
            // If it cannot be noted, the next one asks again.
            Stillness::of(&self.state).note(&signature);
        }
    }

    /// An office for what is done beside what was asked for: it does not wait for long.
    pub(crate) fn hurried(&self) -> Self {
        let times = LockTimes { wait: PATIENCE.min(self.times.wait), ..self.times };
        self.clone().with_lock_times(times)
    }

    /// Says what the ledger looked like if it was asked, and nothing waits for anybody.
    fn complete(&self, team: Option<&TeamName>, only: Option<&MemberName>) -> Option<String> {
        if !self.books.exist() {
            return None;
        }
        // Looked at before the ledger is asked: what is accepted in between changes it.
        let still = Stillness::of(&self.state);
        let signature = still.signature();
        if signature.as_ref().is_some_and(|signature| still.is_noted(signature)) {
            return None;
        }
        let root = self.root_key();
        let asked =
            self.books.with(|ledger| Ok((ledger.has_waiting()?, ledger.inboxes_with_waiting(&root)?)));
        let Ok((something_waits, inboxes)) = asked else { return None };
        let hurried = self.hurried();
        for inbox in inboxes.iter().filter(|inbox| team.is_none_or(|team| inbox.team == team.as_str())) {
            let (Ok(name), Ok(team)) = (MemberName::parse(&inbox.name), TeamName::parse(&inbox.team)) else {
                continue;
            };
            // What is promised to a team that is gone is closed with it.
            if only.is_none_or(|only| *only == name) && self.folder_of(&team).exists() {
                let _ = write_waiting(self, inbox, &hurried.mailbox(&team, &name));
            }
        }
        signature.filter(|_| !something_waits)
    }
}
