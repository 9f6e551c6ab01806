//! Which of the teams that had a name, one after the other, is in the folder now.
//!
//! A team is told from a former one of its name by `createdAt` in its configuration: every client writes it once and keeps
//! it. What became of the former one's mail is found out first, since its conversations are still there.

use atm_ledger::Bearer;
use atm_wire::team::TeamConfig;
use atm_wire::{Stamp, TeamName};

use crate::error::OfficeError;
use crate::office::Office;

impl Office {
    /// Sees to it that what the ledger keeps under a team's name is about the team that has this configuration. Says whether
    /// another one had the name. What cannot be recorded now is for the next who loads the configuration.
    pub(crate) fn recognise(&self, team: &TeamName, config: &TeamConfig) -> bool {
        self.recognise_by(team, config.created_at)
    }

    /// The same, by when its configuration says that it was made.
    pub(crate) fn recognise_by(&self, team: &TeamName, created_at: Option<Stamp>) -> bool {
        let Some(created) = created_at else { return false };
        self.books.exist() && self.try_to_recognise(team, created.as_millis()).unwrap_or(false)
    }

    fn try_to_recognise(&self, team: &TeamName, created: i64) -> Result<bool, OfficeError> {
        let (root, name) = (self.root_key(), team.as_str());
        let is_first = match self.books.with(|ledger| ledger.bearer(&root, name, created))? {
            Bearer::Same => return Ok(false),
            Bearer::Unknown => true,
            Bearer::Other => {
                self.close_inboxes(team)?;
                false
            }
        };
        self.books.with(|ledger| ledger.begin_team(&root, name, created, is_first))?;
        Ok(!is_first)
    }
}
