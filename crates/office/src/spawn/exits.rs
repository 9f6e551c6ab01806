//! Members whose program has ended: noticed at the next look, and entered as off.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_store::TeamFolder;
use atm_wire::status::State;
use atm_wire::team::{Member, Spawned, TeamConfig};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;
use serde_json::Value;

use super::{SpawnError, close};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::pane::{Backend, Exit, Life, PaneRef, Server, Tmux};
use crate::people::presence::{Surroundings, ended};
use crate::team::Team;

/// For how long a program may go on after its pane was closed.
const PATIENCE: Duration = Duration::from_secs(3);

/// A member whose program has ended.
#[derive(Debug, Clone, Serialize)]
pub struct Ended {
    /// Who.
    pub name: String,
    /// How.
    pub how: String,
}

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

/// A member that we started and have not seen end, and its pane's fate.
struct Watched {
    name: String,
    /// It announced its end itself.
    announced: bool,
    pane: PaneRef,
    life: Life,
}

impl Watched {
    /// How it ended, if it did, and what its report says then.
    fn end(&self) -> Option<(String, State)> {
        let (how, state) = match &self.life {
            Life::Alive { waiting: false, .. } => return None,
            Life::Alive { waiting: true, .. } => ("it was never started".to_owned(), State::Error),
            Life::Dead(Some(exit)) => {
                let state = if *exit == Exit::Status(0) { State::Complete } else { State::Error };
                (format!("it ended with {exit}"), state)
            }
            Life::Dead(None) => (format!("its {} is gone", self.pane), State::Error),
            Life::NoServer => (format!("the tmux server of its {} is gone", self.pane), State::Error),
        };
        // Who was asked to end, and said yes, has done what it should.
        Some((how, if self.announced { State::Complete } else { state }))
    }
}

impl Office {
    /// Looks whether the members that we started still run, and enters those as off that do not. Costs nothing in a
    /// team where nobody was started.
    pub fn notice_exits(&self, team: &TeamName) -> Result<Vec<Ended>, OfficeError> {
        self.team(team)?.notice_exits()
    }

    /// The members that we started and whose program has ended. Changes nothing.
    pub(crate) fn ended(&self, config: &TeamConfig) -> Result<Vec<Ended>, OfficeError> {
        let ended = self.watched(config)?.into_iter().filter_map(|watched| {
            let (how, _) = watched.end()?;
            Some(Ended { name: watched.name, how })
        });
        Ok(ended.collect())
    }

    /// The same in our turn.
    pub(super) fn bury(&self, team: &TeamName, folder: &TeamFolder) -> Result<Vec<Ended>, OfficeError> {
        let mut ended = Vec::new();
        for watched in self.watched(&folder.load()?)? {
            if let Some((how, state)) = watched.end() {
                let name = MemberName::parse(&watched.name)?;
                self.set_off(team, &name, watched.announced, &how)?;
                close(&watched.pane);
                self.say_in_report(team, &name, state, &how);
                ended.push(Ended { name: watched.name, how });
            }
        }
        Ok(ended)
    }

    /// Ends a member: closes its pane, and with it whatever runs there. Its inbox stays.
    pub fn kill(&self, team: &TeamName, name: &MemberName) -> Result<Killed, OfficeError> {
        let folder = self.folder(team)?;
        let _turn = folder.turn(&self.state, self.times)?;
        self.bury(team, &folder)?;
        let config = folder.load()?;
        let member =
            config.member(name.as_str()).ok_or_else(|| self.no_member(team, &config, name.as_str()))?;
        let pane =
            PaneRef::of(member).ok_or_else(|| SpawnError::NotOurs { who: format!("{name}@{team}") })?;
        let backend = Tmux::on(Server::Socket(pane.socket.clone()));
        let life = backend.alive(&pane).map_err(SpawnError::from)?;
        let killed = matches!(life, Life::Alive { .. });
        if let Life::Alive { pid, .. } = life {
            let agent = self.agent_named(team, name.as_str(), &Surroundings::default());
            let ending = [Some(u64::from(pid)), agent].into_iter().flatten();
            let ending: Vec<_> = ending.filter_map(|pid| Some((pid, self.probe.started(pid)?))).collect();
            // First the pane: should we die now, the next look finds it gone.
            backend.close(&pane).map_err(SpawnError::from)?;
            self.await_end(&ending);
            let how = "it was ended by kill";
            let entered = self.set_off(team, name, has_announced_end(member), how);
            entered.after(|| Done::MemberEnded(name.clone()))?;
            self.say_in_report(team, name, State::Complete, how);
        }
        Ok(Killed { team: team.clone(), name: name.clone(), killed, pane: pane.id })
    }

    /// The last lines of a member's screen.
    pub fn screen(&self, team: &TeamName, name: &MemberName, lines: usize) -> Result<Peek, OfficeError> {
        let pane = self.running(team, name)?;
        let backend = Tmux::on(Server::Socket(pane.socket.clone()));
        let text = backend.capture(&pane, lines).map_err(SpawnError::from)?;
        let lines = text.lines().map(ToOwned::to_owned).collect();
        Ok(Peek { team: team.clone(), name: name.clone(), pane: pane.id, lines })
    }

    /// The pane of a member that runs; without a name, of the first that does.
    pub fn pane_to_show(&self, team: &TeamName, name: Option<&MemberName>) -> Result<PaneRef, OfficeError> {
        if let Some(name) = name {
            return self.running(team, name);
        }
        self.notice_exits(team)?;
        let config = self.folder(team)?.load()?;
        let mut running =
            config.members.iter().filter(|member| ended(member).is_none()).filter_map(PaneRef::of);
        running.next().ok_or_else(|| {
            let why = "none of its members runs in a pane that we opened".to_owned();
            SpawnError::Off { who: format!("team {team}"), why }.into()
        })
    }

    fn running(&self, team: &TeamName, name: &MemberName) -> Result<PaneRef, OfficeError> {
        self.notice_exits(team)?;
        let config = self.folder(team)?.load()?;
        self.pane_of(team, &config, name)
    }

    /// Waits until processes have ended whose pane was closed, so that the next look does not find them still going.
    /// One that does not listen to that is killed.
    fn await_end(&self, processes: &[(u64, String)]) {
        let runs = |(pid, start): &&(u64, String)| self.probe.started(*pid).as_ref() == Some(start);
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

    /// Enters a member as off, and how it ended. Its end counts from now, also if it was between two turns, so that what
    /// it said before is no sign that it is back; one that announced its end did so in time.
    pub(super) fn set_off(
        &self,
        team: &TeamName,
        name: &MemberName,
        has_announced: bool,
        how: &str,
    ) -> Result<(), OfficeError> {
        let how_path = Spawned::PATH.into_iter().chain(["exit"]).collect();
        let mut fields: Vec<(Vec<&str>, Value)> = vec![(how_path, how.into())];
        if !has_announced {
            fields.push((vec!["isActive"], false.into()));
            fields.push((vec!["shutdownAt"], self.now().to_string().into()));
        }
        Ok(self.folder(team)?.set_member_below(name.as_str(), &fields)?)
    }

    /// Keeps a member's report of itself current. If it cannot be written, nothing else is the worse for it.
    pub(super) fn say_in_report(&self, team: &TeamName, name: &MemberName, state: State, how: &str) {
        let detail = (state == State::Error).then_some(how);
        let _ = self.status_changed(team, name, state, detail, self.now());
    }
}

impl Office {
    /// The members that we started and have not seen end, with what their panes say.
    fn watched(&self, config: &TeamConfig) -> Result<Vec<Watched>, OfficeError> {
        let not_seen = |member: &&Member| ended(member).is_none();
        let (members, panes): (Vec<&Member>, Vec<PaneRef>) = config
            .members
            .iter()
            .filter(not_seen)
            .filter_map(|member| Some((member, PaneRef::of(member)?)))
            .unzip();
        let lives = self.probe.panes(&panes).map_err(SpawnError::from)?;
        let watched = members.into_iter().zip(panes).zip(lives);
        Ok(watched
            .map(|((member, pane), life)| Watched {
                name: member.name.clone(),
                announced: has_announced_end(member),
                pane,
                life,
            })
            .collect())
    }
}

impl Team<'_> {
    /// Looks whether the members that we started still run, and enters those as off that do not. Costs nothing in a
    /// team where nobody was started.
    pub fn notice_exits(&mut self) -> Result<Vec<Ended>, OfficeError> {
        let office = self.office();
        if office.watched(self.config())?.iter().all(|watched| watched.end().is_none()) {
            return Ok(Vec::new());
        }
        // One that is just being started looks like one that was never started: wait for its starter.
        let turn = self.folder().turn(&office.state, office.times)?;
        let ended = office.bury(self.name(), self.folder());
        drop(turn);
        self.reload()?;
        ended
    }
}

/// Whether a member said itself that it ends. `isActive` alone does not: clients write it between two turns.
fn has_announced_end(member: &Member) -> bool {
    let since_start = |end| member.spawned_at.is_none_or(|start| end >= start);
    member.is_offline() && member.shutdown_at.is_some_and(since_start)
}
