//! Members whose program has ended: noticed at the next look, and recorded as offline.

use atm_wire::status::State;
use atm_wire::team::{Member, Spawned, TeamConfig};
use atm_wire::{MemberName, TeamName};
use serde::Serialize;
use serde_json::Value;

use super::members::MemberChange;
use super::pane::{Exit, Life, PaneRef};
use super::presence::ended;
use super::spawn_error::SpawnError;
use crate::error::OfficeError;
use crate::office::Office;
use crate::team::Team;

/// A member whose program has ended.
#[derive(Debug, Clone, Serialize)]
pub struct Ended {
    /// Who.
    pub name: String,
    /// How.
    pub how: String,
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

/// The members that we started and have not seen end, each with its pane.
pub(crate) fn open_panes(config: &TeamConfig) -> impl Iterator<Item = (&Member, PaneRef)> {
    let not_seen_ending = config.members.iter().filter(|member| ended(member).is_none());
    not_seen_ending.filter_map(|member| Some((member, PaneRef::of(member)?)))
}

impl Office {
    /// Looks whether the members that we started still run, and records those as offline that do not. Costs nothing in a
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

    /// The members that we started and have not seen end, with what their panes say.
    fn watched(&self, config: &TeamConfig) -> Result<Vec<Watched>, OfficeError> {
        let (members, panes): (Vec<&Member>, Vec<PaneRef>) = open_panes(config).unzip();
        let lives = self.panes.lives(&panes).map_err(SpawnError::from)?;
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

impl Office {
    /// Closes the pane of a member that has approved its end, if we opened it; says whether there was one. What runs there
    /// ends with it, the caller too if it is that.
    pub fn close_pane(&self, team: &TeamName, name: &MemberName) -> Result<bool, OfficeError> {
        let handle = self.team(team)?;
        let Some(member) = handle.config().member(name.as_str()) else { return Ok(false) };
        let Some(pane) = PaneRef::of(member) else { return Ok(false) };
        // It may be in the middle of recording that itself, and would end as one that failed.
        if !has_announced_end(member) {
            self.set_member(team, name, &MemberChange { active: Some(false), ..MemberChange::default() })?;
        }
        self.panes.close(&pane).map_err(SpawnError::from)?;
        Ok(true)
    }
}

impl Team<'_> {
    /// Looks whether the members that we started still run, and records those as offline that do not. Costs nothing in a
    /// team where nobody was started.
    pub fn notice_exits(&mut self) -> Result<Vec<Ended>, OfficeError> {
        let office = self.office();
        if office.watched(self.config())?.iter().all(|watched| watched.end().is_none()) {
            return Ok(Vec::new());
        }
        // One that is just being started looks like one that was never started: wait for its starter.
        let _turn = self.folder().turn(&office.state, office.times)?;
        self.record_exits()
    }

    /// The same for a holder of the team's lock. The configuration is that of now afterwards.
    pub fn record_exits(&mut self) -> Result<Vec<Ended>, OfficeError> {
        self.reload()?;
        let mut ended = Vec::new();
        let recorded = self.record_each_exit(&mut ended);
        if !ended.is_empty() {
            self.reload()?;
        }
        recorded.map(|()| ended)
    }

    fn record_each_exit(&self, ended: &mut Vec<Ended>) -> Result<(), OfficeError> {
        for watched in self.office().watched(self.config())? {
            if let Some((how, state)) = watched.end() {
                let name = MemberName::parse(&watched.name)?;
                self.record_offline(&name, watched.announced, &how)?;
                // A pane that cannot be closed is of no use to anybody, and in nobody's way.
                let _ = self.office().panes.close(&watched.pane);
                self.report_state(&name, state, &how);
                ended.push(Ended { name: watched.name, how });
            }
        }
        Ok(())
    }

    /// Records a member as offline, and how it ended. Its end counts from now, also if it was between two turns, so that
    /// what it said before is no sign that it is back; one that announced its end did so in time.
    pub fn record_offline(
        &self,
        name: &MemberName,
        has_announced: bool,
        how: &str,
    ) -> Result<(), OfficeError> {
        let how_path = Spawned::PATH.into_iter().chain(["exit"]).collect();
        let mut fields: Vec<(Vec<&str>, Value)> = vec![(how_path, how.into())];
        if !has_announced {
            fields.push((vec!["isActive"], false.into()));
            fields.push((vec!["shutdownAt"], self.office().now().to_string().into()));
        }
        Ok(self.folder().set_member_below(name.as_str(), &fields)?)
    }

    /// Keeps a member's report of itself current. If it cannot be written, nothing else is the worse for it.
    pub fn report_state(&self, name: &MemberName, state: State, how: &str) {
        let detail = (state == State::Error).then_some(how);
        let office = self.office();
        let _ = self.status_changed(name, state, detail, office.now());
    }

    /// The panes of the members that we started and have not seen end.
    pub fn open_panes(&self) -> impl Iterator<Item = PaneRef> {
        open_panes(self.config()).map(|(_, pane)| pane)
    }

    /// A member's pane, to look at or type into; of one that we did not start it is not known for sure.
    pub fn pane_of(&self, name: &MemberName) -> Result<PaneRef, OfficeError> {
        let member = self.member(name)?;
        let who = format!("{name}@{}", self.name());
        let pane = PaneRef::of(member).ok_or_else(|| SpawnError::NotOurs { who: who.clone() })?;
        // `isActive: false` alone means that it is between two turns.
        match ended(member) {
            Some(how) => Err(SpawnError::Off { who, why: how.to_owned() }.into()),
            None => Ok(pane),
        }
    }
}

/// Whether a member said itself that it ends. `isActive` alone does not: clients write it between two turns.
pub fn has_announced_end(member: &Member) -> bool {
    let since_start = |end| member.spawned_at.is_none_or(|start| end >= start);
    member.is_offline() && member.shutdown_at.is_some_and(since_start)
}
