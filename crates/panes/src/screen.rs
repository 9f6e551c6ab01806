//! Looking at a member's pane: its last lines, or the pane itself.

use atm_office::people::pane::PaneRef;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

use crate::backend::Backend;
use crate::tmux::Tmux;

/// A look at a member's screen.
#[derive(Debug, Clone, Serialize)]
pub struct Peek {
    /// Its team.
    pub team: TeamName,
    /// Its name.
    pub name: MemberName,
    /// Its pane.
    pub pane: String,
    /// The last lines, without control characters.
    pub lines: Vec<String>,
}

/// The last lines of a member's screen.
pub fn screen(team: &mut Team, name: &MemberName, lines: usize) -> Result<Peek, OfficeError> {
    let pane = pane_to_show(team, Some(name))?;
    let text = Tmux::default().capture(&pane, lines).map_err(SpawnError::from)?;
    let lines = text.lines().map(ToOwned::to_owned).collect();
    Ok(Peek { team: team.name().clone(), name: name.clone(), pane: pane.id, lines })
}

/// The pane of a member that runs; without a name, of the first that does.
pub fn pane_to_show(team: &mut Team, name: Option<&MemberName>) -> Result<PaneRef, OfficeError> {
    team.notice_exits()?;
    if let Some(name) = name {
        return team.pane_of(name);
    }
    let first = team.open_panes().next();
    first.ok_or_else(|| {
        let why = "none of its members runs in a pane that we opened".to_owned();
        SpawnError::Off { who: format!("team {}", team.name()), why }.into()
    })
}
