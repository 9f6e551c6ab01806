//! A line that is typed into a member's pane.
//!
//! Who is typed at in the middle of something loses what it was doing, so a pane counts as idle only if its screen does
//! not move, nobody scrolls in it, and either the member's own last word is that it is idle, with nothing read or said
//! since, or what runs there is a shell at its prompt.

use std::time::Duration;

use atm_wire::{MemberName, TeamName};

use super::way::{Hearer, Way};
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::pane::{Activity, PaneRef};
use crate::people::spawn_error::SpawnError;

/// Between two looks at a screen.
const PAUSE: Duration = Duration::from_millis(400);

/// What a member says that waits.
const IDLE: &str = "idle_notification";

/// A member's pane.
#[derive(Debug)]
pub(super) struct TypedLine<'a> {
    pub(super) office: &'a Office,
    pub(super) team: &'a TeamName,
    pub(super) name: &'a MemberName,
    pub(super) pane: PaneRef,
}

impl Way for TypedLine<'_> {
    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        let who = || format!("{}@{}", self.name, self.team);
        let busy = |why: &str| SpawnError::Busy { who: who(), why: why.to_owned() };
        let Activity { screen_moves, in_mode, command, shell_waits } =
            self.office.panes.busy(&self.pane, PAUSE).map_err(SpawnError::from)?;
        if screen_moves {
            return Err(busy("its screen moves").into());
        }
        if in_mode {
            return Err(busy("somebody scrolls in its pane").into());
        }
        if shell_waits {
            return Ok(Hearer::Shell);
        }
        if self.office.is_idle_by_its_word(self.team, self.name)? {
            return Ok(Hearer::Agent);
        }
        Err(busy(&format!("{command} runs there, and it did not say that it is idle")).into())
    }

    fn wake(&self, line: &str) -> Result<&'static str, OfficeError> {
        self.office.panes.type_line(&self.pane, line).map_err(SpawnError::from)?;
        Ok("a line in its pane")
    }
}

impl Office {
    /// Whether a member's last word was that it is idle, and it took no mail since.
    pub(super) fn is_idle_by_its_word(
        &self,
        team: &TeamName,
        name: &MemberName,
    ) -> Result<bool, OfficeError> {
        self.look(team)?;
        let (root, inbox) = (self.root_key(), self.inbox_key(team, name));
        let last = self.books.with(|ledger| ledger.last_word(&root, team.as_str(), name.as_str()))?;
        let Some(idle) = last.filter(|last| last.kind == IDLE) else { return Ok(false) };
        Ok(!self.books.with(|ledger| ledger.took_since(&inbox, idle.sent_at))?)
    }
}
