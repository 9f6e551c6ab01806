//! For whom a call is made, and in which team.

use std::sync::{Mutex, MutexGuard, PoisonError};

use atm_office::mail::hook::Caller;
use atm_office::mail::pages::Pages;
use atm_office::office::USER;
use atm_office::people::ancestry::ClientProcess;
use atm_office::people::nearest::nearest;
use atm_office::sessions::{self, Recipient, Route, Sender};
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
        let Some(bound) = self.bound() else { return Ok(self.choose(named.or(self.named_team()))?) };
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
        let team = self.team(named)?;
        Ok(self.office().team(&team)?.in_session(self.session_of(&team)))
    }

    /// The session that this server runs in, where the mail of a team is shared by several.
    pub(crate) fn session_of(&self, team: &TeamName) -> Option<String> {
        sessions::is_team(team).then(|| self.session()).flatten()
    }

    fn choose(&self, name: Option<&str>) -> Result<TeamName, OfficeError> {
        self.office().choose_team(name, &self.settings.cwd)
    }

    /// Where a letter goes, and in whose name: to a member of the team, or to a session; from the one whose server this is or,
    /// where it is nobody's and writes to a session, from the session that it runs in.
    pub(crate) fn route(
        &self,
        team: Option<&str>,
        sender: Option<&str>,
        to: &str,
    ) -> Result<(Route<'_>, MemberName), Trouble> {
        let team = team.filter(|team| !team.is_empty());
        let is_anybodys = self.bound().is_none() && sender.is_none_or(str::is_empty);
        let session = if is_anybodys { self.session() } else { None };
        let chosen = match self.bound() {
            Some(_) => Ok(self.team(team)?),
            None => self.choose(team.or(self.named_team())),
        };
        // Where there are several, a call has to name one, for every recipient.
        let names_team = team.is_some() && self.team_is_clear();
        let find = || session.clone();
        let from = Sender { team: chosen, names_team, is_named: session.is_none(), session: Some(&find) };
        let to = to.parse::<Recipient>()?.within(&self.settings.cwd, None);
        let route = self.office().route(from, to, false)?;
        let sender = match &route.from {
            Some(own) => own.clone(),
            None if sessions::is_team(route.team.name()) && self.bound().is_none() => {
                MemberName::parse(USER)?
            }
            None => self.sender(&route.team, sender)?,
        };
        Ok((route, sender))
    }

    /// Who answers, and in which team: the session that this server runs in, if it is nobody's and the session has what is
    /// answered; else whose server it is.
    pub(crate) fn answerer(
        &self,
        team: Option<&str>,
        sender: Option<&str>,
        has: impl FnOnce(&Team<'_>, &MemberName) -> bool,
    ) -> Result<(Team<'_>, MemberName), Trouble> {
        let given = [team, sender].into_iter().flatten().any(|name| !name.is_empty());
        let is_own = !given && self.bound().is_none() && self.settings.team.is_none();
        let session = if is_own { self.session() } else { None };
        let own = session.as_ref().and_then(|session| self.office().known_mailbox_of_session(session));
        if let Some(mailbox) = own {
            let sessions = self.office().team(&sessions::team_name())?.in_session(session);
            if has(&sessions, &mailbox) {
                return Ok((sessions, mailbox));
            }
        }
        let team = self.open(team)?;
        let sender = self.sender(&team, sender)?;
        Ok((team, sender))
    }

    /// The session that this server runs in, as it is now: after `/clear` it is another one.
    fn session(&self) -> Option<String> {
        self.settings.client.as_ref().and_then(|client| self.office().session_in(client))
    }

    /// Who the session of a client's process is in a team, if it is somebody.
    pub(crate) fn member_of(&self, client: &ClientProcess) -> Option<(TeamName, MemberName)> {
        let session = self.session().unwrap_or_default();
        let caller = Caller { session: &session, parent: client.pid, ..Caller::default() };
        let found = self.office().whose(&caller).ok().flatten()?;
        Some((found.team.name().clone(), found.who))
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
