//! For whom a call is made, and in which team.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atm_office::mail::pages::Pages;
use atm_office::office::USER;
use atm_office::people::nearest::nearest;
use atm_office::trail::history::Remembered;
use atm_office::{Office, OfficeError, Team};
use atm_wire::{MemberName, TeamName};

use crate::hint::Toolbox;
use crate::settings::{Profile, Settings};
use crate::trouble::Trouble;

/// What tools work with: the office, and who may do what through this server.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) settings: Settings,
    /// The team that a bound server is in.
    settled: Mutex<Option<TeamName>>,
    late: Mutex<Vec<String>>,
    pages: Pages,
}

impl Desk {
    pub(crate) fn new(settings: Settings) -> Self {
        let desk =
            Self { settings, settled: Mutex::default(), late: Mutex::default(), pages: Pages::default() };
        if desk.bound().is_some() {
            // There may be none yet, or several and nothing that says which: then the first call settles it.
            *desk.settled() = desk.choose(desk.named_team()).ok();
        }
        desk
    }

    pub(crate) fn office(&self) -> &Office {
        &self.settings.office
    }

    /// The mail that clients read page by page.
    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Whose server this is, if it is bound to somebody.
    pub(crate) fn bound(&self) -> Option<&MemberName> {
        self.settings.identity.as_ref().map(|address| &address.name)
    }

    /// The team that it was started for.
    fn named_team(&self) -> Option<&str> {
        let of_identity = self.settings.identity.as_ref().and_then(|address| address.team.as_ref());
        self.settings.team.as_ref().or(of_identity).map(TeamName::as_str)
    }

    /// The team that calls mean which name none, if that is settled.
    pub(crate) fn own_team(&self) -> Option<String> {
        let named = self.named_team().map(ToOwned::to_owned);
        named.or_else(|| self.settled().as_ref().map(ToString::to_string))
    }

    /// The team that a bound server is in, if that is settled.
    pub(crate) fn bound_team(&self) -> Option<TeamName> {
        self.settled().clone()
    }

    /// The team that is meant. A server that is somebody's in one team is nobody's in another: it is in the one that it was
    /// started for, else in the one that its first call means.
    pub(crate) fn team(&self, named: Option<&str>) -> Result<TeamName, Trouble> {
        let named = named.filter(|name| !name.is_empty());
        let Some(bound) = self.bound() else { return self.choose(named.or(self.named_team())) };
        let settled = self.bound_team();
        let own = settled.map_or_else(|| self.choose(self.named_team().or(named)), Ok)?;
        // Another call may have been the first.
        let own = self.settled().get_or_insert(own).clone();
        let team = self.choose(named.or(Some(own.as_str())))?;
        if own != team {
            return Err(Trouble::new(format!("this server is {bound}'s in team {own}, not in {team}"))
                .hint(format!("Leave team_name out, or say {own}")));
        }
        Ok(team)
    }

    /// A bound server that was started for no team goes with the one that it made: nobody had mail there before.
    pub(crate) fn move_to(&self, made: &TeamName) {
        if self.bound().is_some() && self.named_team().is_none() {
            *self.settled() = Some(made.clone());
        }
    }

    /// The team that is meant, with its configuration, which is loaded once for each call.
    pub(crate) fn open(&self, named: Option<&str>) -> Result<Team<'_>, Trouble> {
        Ok(self.office().team(&self.team(named)?)?)
    }

    fn choose(&self, name: Option<&str>) -> Result<TeamName, Trouble> {
        Ok(self.office().choose_team(name, &self.settings.cwd)?)
    }

    fn settled(&self) -> MutexGuard<'_, Option<TeamName>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call that names no team would find one.
    pub(crate) fn team_is_clear(&self) -> bool {
        self.own_team().is_some() || self.choose(None).is_ok()
    }

    /// Whether this server may do what is for a lead, as far as that is known before it is asked to.
    pub(crate) fn may_lead(&self) -> bool {
        let Some(team) = self.bound().and(self.bound_team()) else { return true };
        self.office().team(&team).map_or(true, |team| self.leads(&team))
    }

    /// Whether this server may do what is for the lead of a team.
    pub(crate) fn leads(&self, team: &Team<'_>) -> bool {
        self.bound().is_none_or(|bound| team.is_led_by(bound))
    }

    /// Which tools this server lists.
    pub(crate) fn toolbox(&self) -> Toolbox {
        match self.settings.profile {
            Profile::Core => Toolbox::Core,
            Profile::All if self.may_lead() => Toolbox::Leads,
            Profile::All => Toolbox::Members,
        }
    }

    /// In whose name a call is made that says nothing: the one it is bound to, else the lead.
    pub(crate) fn actor(&self, team: &Team<'_>) -> Result<MemberName, Trouble> {
        match self.bound() {
            Some(bound) => Ok(bound.clone()),
            None => Ok(self.office().lead_name(team.name(), team.config())?),
        }
    }

    /// Who looks: the one that acts, or the person at the keyboard where nobody leads.
    pub(crate) fn viewer(&self, team: &Team<'_>) -> Result<MemberName, Trouble> {
        self.actor(team).or_else(|_| Ok(MemberName::parse(USER)?))
    }

    /// Who sends, or acts for itself: the named member, if this server may speak for it.
    pub(crate) fn sender(&self, team: &Team<'_>, named: Option<&str>) -> Result<MemberName, Trouble> {
        let Some(named) = named.filter(|name| !name.is_empty()) else { return self.actor(team) };
        self.is_mine(named, "speaks for")?;
        let config = team.config();
        if config.member(named).is_none() && *named != *self.actor(team)?.as_str() {
            let known = nearest(named, config.members.iter().map(|member| member.name.as_str()));
            let wanted = named.chars().take(80).collect();
            return Err(OfficeError::NoMember { team: team.name().clone(), wanted, nearest: known }.into());
        }
        Ok(MemberName::parse(named)?)
    }

    /// Whose mail is taken.
    pub(crate) fn reader(&self, team: &TeamName, named: Option<&str>) -> Result<MemberName, Trouble> {
        let Some(named) = named.filter(|name| !name.is_empty()) else {
            // Whose it is alone does not take a look at the team.
            return self.bound().cloned().map_or_else(|| self.actor(&self.office().team(team)?), Ok);
        };
        self.is_mine(named, "takes the mail of")?;
        Ok(MemberName::parse(named)?)
    }

    /// Whether a message may be shown through this server: if it is somebody's, what that one sent or received.
    pub(crate) fn may_see(&self, team: &TeamName, message: &Remembered) -> bool {
        self.bound().is_none_or(|bound| message.is_of(team, bound))
    }

    /// Refuses what is for the lead alone, if this server is somebody else's.
    pub(crate) fn must_lead(&self, team: &Team<'_>, what: &str) -> Result<(), Trouble> {
        let Some(bound) = self.bound().filter(|_| !self.leads(team)) else { return Ok(()) };
        Err(Trouble::new(format!("{bound} may not: {what} is for the lead of team {}", team.name()))
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
        let mut late = std::mem::take(&mut *self.late.lock().unwrap_or_else(PoisonError::into_inner));
        late.extend(self.pages.troubles());
        late
    }
}
