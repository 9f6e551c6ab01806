//! Members whose program has ended: noticed at the next look, and entered as off.

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
    /// It is entered as off already: it said so itself.
    off: bool,
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
        Some((how, if self.off { State::Complete } else { state }))
    }
}

impl Office {
    /// Looks whether the members that we started still run, and enters those as off that do not. Costs nothing in a
    /// team where nobody was started.
    pub fn notice_exits(&self, team: &TeamName) -> Result<Vec<Ended>, OfficeError> {
        let folder = self.folder(team)?;
        if watched(&folder.load()?)?.iter().all(|watched| watched.end().is_none()) {
            return Ok(Vec::new());
        }
        // One that is just being started looks like one that was never started: wait for whoever does it.
        let _turn = folder.turn(&self.state, self.times)?;
        self.bury(team, &folder)
    }

    /// The same in our turn.
    pub(super) fn bury(&self, team: &TeamName, folder: &TeamFolder) -> Result<Vec<Ended>, OfficeError> {
        let mut ended = Vec::new();
        for watched in watched(&folder.load()?)? {
            if let Some((how, state)) = watched.end() {
                let name = MemberName::parse(&watched.name)?;
                self.set_off(team, &name, watched.off, &how)?;
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
        if killed {
            // First the pane: should we die now, the next look finds it gone.
            backend.close(&pane).map_err(SpawnError::from)?;
            let how = "it was ended by `atm kill`";
            let entered = self.set_off(team, name, member.is_offline(), how);
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
        let mut running = config.members.iter().filter(|member| !member.is_offline()).filter_map(PaneRef::of);
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

    /// Enters a member as off, and how it ended; of one that is off, only that.
    pub(super) fn set_off(
        &self,
        team: &TeamName,
        name: &MemberName,
        is_off: bool,
        how: &str,
    ) -> Result<(), OfficeError> {
        let how_path = Spawned::PATH.into_iter().chain(["exit"]).collect();
        let mut fields: Vec<(Vec<&str>, Value)> = vec![(how_path, how.into())];
        if !is_off {
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

/// The members that we started and have not seen end, with what their panes say.
fn watched(config: &TeamConfig) -> Result<Vec<Watched>, OfficeError> {
    let not_seen = |member: &&Member| {
        !member.is_offline() || member.spawned.as_ref().is_some_and(|spawned| spawned.exit.is_none())
    };
    let (members, panes): (Vec<&Member>, Vec<PaneRef>) = config
        .members
        .iter()
        .filter(not_seen)
        .filter_map(|member| Some((member, PaneRef::of(member)?)))
        .unzip();
    let lives = Tmux::lives(&panes).map_err(SpawnError::from)?;
    let watched = members.into_iter().zip(panes).zip(lives);
    Ok(watched
        .map(|((member, pane), life)| Watched {
            name: member.name.clone(),
            off: member.is_offline(),
            pane,
            life,
        })
        .collect())
}
