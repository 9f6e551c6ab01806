//! For whom a call is made, and in which team.

use std::sync::{Mutex, PoisonError};

use atm_office::Office;
use atm_office::history::Remembered;
use atm_office::nearest::nearest;
use atm_office::protocol::policy;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

use crate::settings::Settings;
use crate::trouble::{Trouble, did_you_mean};

/// Who leads, where nothing says so.
const LEAD: &str = "team-lead";

/// What tools work with: the office, and who may do what through this server.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    late: Mutex<Vec<String>>,
}

impl Desk {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, late: Mutex::default() }
    }

    pub(crate) fn office(&self) -> &Office {
        &self.settings.office
    }

    /// Whose server this is, if it is bound to somebody.
    pub(crate) fn bound(&self) -> Option<&MemberName> {
        self.settings.identity.as_ref().map(|address| &address.name)
    }

    /// The team that calls mean which name none, if that is settled.
    pub(crate) fn own_team(&self) -> Option<&str> {
        let said = self.settings.identity.as_ref().and_then(|address| address.team.as_ref());
        self.settings.team.as_deref().or(said.map(TeamName::as_str))
    }

    /// The team that is meant. A server that is somebody's in one team is nobody's in another.
    pub(crate) fn team(&self, named: Option<&str>) -> Result<TeamName, Trouble> {
        let choose = |name: Option<&str>| self.office().choose_team(name, &self.settings.cwd);
        let named = named.filter(|name| !name.is_empty());
        let team = choose(named.or(self.own_team()))?;
        if let (Some(bound), Some(own), Some(_)) = (self.bound(), self.own_team(), named) {
            let own = choose(Some(own))?;
            if own != team {
                return Err(Trouble::new(format!("this server is {bound}'s in team {own}, not in {team}"))
                    .hint("Leave team_name out"));
            }
        }
        Ok(team)
    }

    /// The members of a team.
    pub(crate) fn config(&self, team: &TeamName) -> Result<TeamConfig, Trouble> {
        Ok(self.office().folder(team).and_then(|folder| Ok(folder.load()?))?)
    }

    /// In whose name a call is made that says nothing: the one it is bound to, else the lead.
    pub(crate) fn actor(&self, team: &TeamName) -> Result<MemberName, Trouble> {
        match self.bound() {
            Some(bound) => Ok(bound.clone()),
            None => self.lead(team),
        }
    }

    fn lead(&self, team: &TeamName) -> Result<MemberName, Trouble> {
        let config = self.config(team)?;
        let lead = self.office().lead_of(team, &config).ok();
        Ok(lead.map_or_else(|| MemberName::parse(LEAD), Ok)?)
    }

    /// Who sends, or acts for itself: whoever is named, if this server may speak for it.
    pub(crate) fn sender(&self, team: &TeamName, named: Option<&str>) -> Result<MemberName, Trouble> {
        let Some(named) = named.filter(|name| !name.is_empty()) else { return self.actor(team) };
        self.is_mine(named, "speaks for")?;
        let config = self.config(team)?;
        if config.member(named).is_none() && *named != *self.actor(team)?.as_str() {
            let known = nearest(named, config.members.iter().map(|member| member.name.as_str()));
            return Err(Trouble::new(format!(
                "team {team} has no member {:?}",
                named.chars().take(80).collect::<String>()
            ))
            .hint(did_you_mean(&known, named, "read_config shows the members")));
        }
        Ok(MemberName::parse(named)?)
    }

    /// Whose mail is taken.
    pub(crate) fn reader(&self, team: &TeamName, named: Option<&str>) -> Result<MemberName, Trouble> {
        let Some(named) = named.filter(|name| !name.is_empty()) else { return self.actor(team) };
        self.is_mine(named, "takes the mail of")?;
        Ok(MemberName::parse(named)?)
    }

    /// Whether a message may be shown through this server: if it is somebody's, what that one sent or received.
    pub(crate) fn may_see(&self, team: &TeamName, message: &Remembered) -> bool {
        self.bound().is_none_or(|bound| message.is_of(team, bound))
    }

    /// Refuses what is for the lead alone, if this server is somebody else's.
    pub(crate) fn must_lead(&self, team: &TeamName, what: &str) -> Result<(), Trouble> {
        let Some(bound) = self.bound() else { return Ok(()) };
        if policy::leads(&self.config(team)?, bound) {
            return Ok(());
        }
        Err(Trouble::new(format!("{bound} may not: {what} is for the lead of team {team}"))
            .hint("Ask the lead, with send_message"))
    }

    fn is_mine(&self, named: &str, does: &str) -> Result<(), Trouble> {
        match self.bound() {
            Some(bound) if bound.as_str() != named => {
                Err(Trouble::new(format!("this server is {bound}'s: it {does} nobody else"))
                    .hint("Leave the name out"))
            }
            _ => Ok(()),
        }
    }

    /// What went wrong after an answer had left is told with the next one.
    pub(crate) fn tell_later(&self, what: String) {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(crate) fn told_late(&self) -> Vec<String> {
        std::mem::take(&mut *self.late.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
