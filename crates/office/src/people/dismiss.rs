//! Members that leave a team: their pane is closed, their tasks are free again, their mail stays.

use atm_wire::task::TaskId;
use atm_wire::team::Member;
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::spawn::SpawnError;

const APPROVED: &str = "shutdown_approved";

/// What became of a member that left.
#[derive(Debug, Clone, Serialize)]
pub struct Dismissed {
    /// The tasks that are free again.
    pub released: Vec<TaskId>,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

impl Office {
    /// Takes a member out of its team. One that runs must have approved its shutdown, unless it goes by `force`.
    pub fn dismiss(&self, team: &TeamName, name: &MemberName, force: bool) -> Result<Dismissed, OfficeError> {
        // If tmux cannot be asked, the file's word stands.
        let mut handle = self.team(team)?;
        let _ = handle.notice_exits();
        let member = handle.member(name)?;
        let is_off = handle.why_off(member).is_some();
        let refuse = |why: &str| Err(OfficeError::NotYours { who: name.to_string(), why: why.to_owned() });
        if self.leads(team, handle.config(), name) {
            return refuse("the lead does not leave its team");
        }
        if !force && !is_off && !self.has_approved_shutdown(team, member)? {
            return refuse("it runs, and has not approved its shutdown");
        }
        let mut warnings = Vec::new();
        match self.kill(team, name) {
            Ok(_) => {}
            Err(OfficeError::Spawn(SpawnError::NotOurs { .. })) => {
                if force && !is_off {
                    warnings.push(format!("{name} was not started by atm: if it runs, it still does"));
                }
            }
            Err(error) => return Err(error),
        }
        // The member goes last: should we die before, all of this can be asked for again.
        let ended = || Done::MemberEnded(name.clone());
        let released = self.tasks(team).and_then(|tasks| tasks.release_all(name, self.now())).after(ended)?;
        let removed = self.remove_member(team, name);
        let removed = if released.is_empty() {
            removed
        } else {
            removed.after(|| Done::TasksReleased(released.clone()))
        };
        removed.after(ended)?;
        Ok(Dismissed { released, warnings })
    }

    /// Whether a member has approved its end since it was started.
    fn has_approved_shutdown(&self, team: &TeamName, member: &Member) -> Result<bool, OfficeError> {
        self.look(team)?;
        let since = member.spawned_at.or(member.joined_at).map_or(0, atm_wire::Stamp::as_millis);
        let root = self.root_key();
        let said =
            self.books.with(|ledger| ledger.sent_by(&root, team.as_str(), &member.name, APPROVED, since))?;
        Ok(!said.is_empty())
    }
}
