//! All that happens by the clock, with its settings.

use atm_office::chores::health::Health;
use atm_office::chores::retry::Retry;
use atm_office::chores::wake::Waking;
use atm_office::chores::{Chore, Leases};
use atm_upkeep::archive::Archiving;

use crate::settings::Settings;

/// Every chore.
#[derive(Debug)]
pub(crate) struct Chores<'a> {
    retry: Retry<'a>,
    waking: Waking<'a>,
    archiving: Archiving<'a>,
}

impl<'a> Chores<'a> {
    pub(crate) fn of(settings: &'a Settings) -> Self {
        Self {
            retry: Retry(&settings.policies.value),
            waking: Waking(&settings.ladder.value),
            archiving: Archiving(&settings.upkeep.value),
        }
    }

    /// In the order in which they are run.
    pub(crate) fn list(&self) -> [&dyn Chore; 5] {
        [&Health, &Leases, &self.retry, &self.waking, &self.archiving]
    }
}
