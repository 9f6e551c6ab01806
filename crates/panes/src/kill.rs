//! Ending a member: its pane is closed, and with it what runs there.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_office::mail::partly::{After, Done};
use atm_office::people::exits::has_announced_end;
use atm_office::people::pane::{Life, PaneRef};
use atm_office::people::probe::ProcessProbe;
use atm_office::people::spawn_error::SpawnError;
use atm_office::{OfficeError, Team};
use atm_wire::status::State;
use atm_wire::{MemberName, TeamName};
use serde::Serialize;

/// For how long a program may go on after its pane was closed.
const PATIENCE: Duration = Duration::from_secs(3);

/// What became of a member that was to be ended.
#[derive(Debug, Clone, Serialize)]
pub struct Killed {
    /// Its team.
    pub team: TeamName,
    /// Its name.
    pub name: MemberName,
    /// Whether it ran until now.
    pub killed: bool,
    /// Its pane.
    pub pane: String,
}

/// Ends a member: closes its pane, and with it whatever runs there. Its inbox stays.
pub fn kill(team: &mut Team, name: &MemberName) -> Result<Killed, OfficeError> {
    let office = team.office();
    let _turn = team.folder().turn(office.state(), office.lock_times())?;
    team.record_exits()?;
    let member = team.member(name)?;
    let pane =
        PaneRef::of(member).ok_or_else(|| SpawnError::NotOurs { who: format!("{name}@{}", team.name()) })?;
    let lives = office.panes().lives(std::slice::from_ref(&pane)).map_err(SpawnError::from)?;
    let mut killed = false;
    if let Some(Life::Alive { pid, .. }) = lives.first() {
        killed = true;
        let ending = [Some(u64::from(*pid)), team.agent_named(name)].into_iter().flatten();
        let ending: Vec<_> = ending.filter_map(|pid| Some((pid, office.probe().started(pid)?))).collect();
        // First the pane: should we die now, the next look finds it gone.
        office.panes().close(&pane).map_err(SpawnError::from)?;
        await_end(office.probe(), &ending);
        let how = "it was ended by kill";
        let recorded = team.record_offline(name, has_announced_end(member), how);
        recorded.after(|| Done::MemberEnded(name.clone()))?;
        team.report_state(name, State::Complete, how);
    }
    Ok(Killed { team: team.name().clone(), name: name.clone(), killed, pane: pane.id })
}

/// Waits until processes have ended whose pane was closed, so that the next look does not find them still going.
/// One that does not listen to that is killed.
fn await_end(probe: &dyn ProcessProbe, processes: &[(u64, String)]) {
    let runs = |(pid, start): &&(u64, String)| probe.started(*pid).as_ref() == Some(start);
    let begun = Instant::now();
    let mut is_forced = false;
    while let Some((pid, _)) = processes.iter().find(runs) {
        let waited = begun.elapsed();
        if waited > PATIENCE && !is_forced {
            is_forced = true;
            // If that cannot be done, the next look shows that it still runs.
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stdin(Stdio::null()).output();
        } else if waited > 2 * PATIENCE {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
