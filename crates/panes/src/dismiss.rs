//! Members that leave a team: their pane is closed, their tasks are free again, their mail stays.

use atm_office::mail::partly::{After, Done};
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_wire::MemberName;
use atm_wire::task::TaskId;
use serde::Serialize;

use crate::kill::kill;

/// What became of a member that left.
#[derive(Debug, Clone, Serialize)]
pub struct Dismissed {
    /// The tasks that are free again.
    pub released: Vec<TaskId>,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

/// Takes a member out of its team. One that runs must have approved its shutdown, unless it goes by `force`.
pub fn dismiss(team: &mut Team, name: &MemberName, force: bool) -> Result<Dismissed, OfficeError> {
    // If tmux cannot be asked, the file's word stands.
    let _ = team.notice_exits();
    let is_off = team.check_leaving(name, force)?;
    let mut warnings = Vec::new();
    match kill(team, name) {
        Ok(_) => {}
        Err(OfficeError::Spawn(SpawnError::NotOurs { .. })) => {
            if force && !is_off {
                warnings.push(format!("{name} was not started by atm: if it runs, it still does"));
            }
        }
        Err(error) => return Err(error),
    }
    let released = team.take_out(name).after(|| Done::MemberEnded(name.clone()))?;
    Ok(Dismissed { released, warnings })
}
