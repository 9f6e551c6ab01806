//! Whose conversation a hook is called in.
//!
//! Settings of a client are for many sessions, and mail is for one member. So a session is tied to a member by what the
//! client and the team's files say of it, in this order:
//!
//! | clue | who it is |
//! |---|---|
//! | the client's command line: `--agent-id NAME@TEAM` | that member, in a process of its own |
//! | the session is a team's `leadSessionId` | the team's lead |
//! | the session is the one that a member's entry names for waking it | that member |
//! | the client's process is a team's `leadProcess`, or the one in which its lead was seen before | the lead, after `/clear` |
//! | the conversation's first entries: `agentName`, `teamName` | that member; without a member's name, the lead |
//!
//! An agent inside a lead's session (`agent_id`, or a teammate that is about to idle) is a member of that lead's team and
//! of no other. Who is named by `--as` or a variable is believed where none of this says otherwise. A session that nothing
//! ties to a member is nobody: it gets nothing and takes nothing.

use std::cell::{OnceCell, RefCell};
use std::path::Path;

use atm_clients::claude::sessions;
use atm_store::files::read_small;
use atm_store::{SessionNote, TeamFolder};
use atm_wire::team::TeamConfig;
use atm_wire::{Address, MemberName, TeamName};
use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::FORGOTTEN_AFTER;
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::ancestry::ClientProcess;
use crate::people::process::{Fate, fate_by};
use crate::team::Team;
use crate::trail::transcript::first_owner;

/// No configuration is as long as this.
const LARGEST_CONFIG: u64 = 16 << 20;

/// What is known of the session that calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller<'a> {
    /// The client's name for the conversation.
    pub session: &'a str,
    /// The agent inside the session that it is about: `NAME@TEAM`, in the client's own words.
    pub agent: Option<(&'a str, &'a str)>,
    /// Where the client keeps the conversation.
    pub transcript: Option<&'a Path>,
    /// The process that called us.
    pub parent: u64,
    /// Who it is by settings, if they say so.
    pub claimed: Option<(&'a TeamName, &'a MemberName)>,
    /// The team that is meant where several could be.
    pub team: Option<&'a TeamName>,
}

/// Whose session it is.
#[derive(Debug)]
pub struct Whose<'a> {
    /// The team.
    pub team: Team<'a>,
    /// The member.
    pub who: MemberName,
    /// Whether settings alone say so.
    pub is_claimed: bool,
}

impl<'a> Whose<'a> {
    fn proved(team: Team<'a>, who: MemberName) -> Self {
        Self { team, who, is_claimed: false }
    }
}

/// What a conversation's first entries say, once they have said it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Decided {
    team: Option<String>,
    member: Option<String>,
}

struct Search<'a> {
    office: &'a Office,
    caller: &'a Caller<'a>,
    client: OnceCell<Option<ClientProcess>>,
    /// The configuration that was read last, as it stands in the file.
    last_read: RefCell<Option<(TeamName, Vec<u8>)>>,
}

impl Office {
    /// Whose session it is that calls; nothing if it is nobody's.
    pub fn whose<'a>(&'a self, caller: &'a Caller<'a>) -> Result<Option<Whose<'a>>, OfficeError> {
        let last_read = RefCell::default();
        let search = Search { office: self, caller, client: OnceCell::new(), last_read };
        let found = match caller.claimed {
            Some((team, who)) => search.claimed(team, who)?,
            None => search.proved(&TeamFolder::list(&self.root)?)?,
        };
        let Some(found) = found else { return Ok(None) };
        match caller.agent {
            Some((name, team)) => found.inside(name, team),
            None => Ok(Some(found)),
        }
    }
}

impl Whose<'_> {
    /// The agent inside a session that is found to be somebody's: itself, or a member of the team that it leads.
    fn inside(self, name: &str, team: &str) -> Result<Option<Self>, OfficeError> {
        let found = self;
        let config = found.team.config();
        let is_team = found.team.name().as_str() == team || config.name.as_deref() == Some(team);
        if !is_team {
            return Ok(None);
        }
        let who = MemberName::parse(name)?;
        if found.who == who {
            return Ok(Some(found));
        }
        let is_member = config.member(who.as_str()).is_some();
        let may = is_member && found.team.is_led_by(&found.who);
        Ok(may.then_some(Whose { who, ..found }))
    }
}

impl<'a> Search<'a> {
    fn client(&self) -> Option<&ClientProcess> {
        self.client.get_or_init(|| self.office.probe.client_above(self.caller.parent)).as_ref()
    }

    /// Whether a process is above us.
    fn is_above(&self, pid: u64) -> bool {
        self.client().is_some_and(|client| client.pid == pid)
            || self.office.probe.is_above(self.caller.parent, pid)
    }

    /// Who it is by settings, unless the team's own files say otherwise.
    fn claimed(&self, team: &TeamName, who: &MemberName) -> Result<Option<Whose<'a>>, OfficeError> {
        if let Some(other) =
            self.proved(std::slice::from_ref(team))?.filter(|other| other.team.name() == team)
        {
            return Ok(Some(Whose { is_claimed: other.who == *who, ..other }));
        }
        // A team that is not there is an error with the nearest names, which the caller reports.
        let team = self.team(team)?;
        let is_elsewhere = team.is_led_by(who) && self.lead_is_elsewhere(&team);
        let claimed = Whose { team, who: who.clone(), is_claimed: true };
        Ok((!is_elsewhere).then_some(claimed))
    }

    /// Who it is by what is known of the session, among these teams.
    fn proved(&self, teams: &[TeamName]) -> Result<Option<Whose<'a>>, OfficeError> {
        if let Some(member) = self.by_command_line()? {
            return Ok(Some(member));
        }
        if self.caller.session.is_empty() {
            return Ok(None);
        }
        let mut found: Option<Whose<'a>> = None;
        for team in teams {
            let Some(whose) = self.in_team(team) else { continue };
            // Of several teams that a session leads: the one that is meant, else the newest.
            let is_meant = self.caller.team == Some(team);
            let made = |whose: &Whose<'_>| whose.team.config().created_at;
            let is_newer = found.as_ref().is_none_or(|best| made(&whose) > made(best));
            if is_meant || is_newer {
                found = Some(whose);
            }
            if is_meant {
                break;
            }
        }
        match found {
            Some(whose) => Ok(Some(whose)),
            None => self.by_conversation(),
        }
    }

    /// A member in a process of its own says so on its command line.
    fn by_command_line(&self) -> Result<Option<Whose<'a>>, OfficeError> {
        let Some(id) = self.client().and_then(|client| client.agent_id.as_deref()) else { return Ok(None) };
        let Ok(Address { name, team: Some(team) }) = id.parse() else { return Ok(None) };
        if !self.office.folder_of(&team).exists() {
            return Ok(None);
        }
        let team = self.team(&team)?;
        let is_member = team.config().member(name.as_str()).is_some();
        Ok(is_member.then(|| Whose::proved(team, name)))
    }

    /// Whom a team's own files name for this session. A file that says neither the session nor the process is not parsed.
    fn in_team(&self, team: &TeamName) -> Option<Whose<'a>> {
        let folder = self.office.folder_of(team);
        let Ok(Some(file)) = read_small(folder.config_file(), LARGEST_CONFIG) else { return None };
        let session = self.caller.session;
        let names_session = memmem::find(&file.bytes, session.as_bytes()).is_some();
        let names_process = memmem::find(&file.bytes, b"\"leadProcess\"").is_some();
        *self.last_read.borrow_mut() = Some((team.clone(), file.bytes));
        let remembers = || self.office.remembers_lead(team, session, self.client());
        if !names_session && !names_process && !remembers() {
            return None;
        }
        let Ok(team) = self.team(team) else { return None };
        let (name, config) = (team.name(), team.config());
        let Ok(lead) = self.office.lead_name(name, config) else { return None };
        if config.lead_session_id.as_deref() == Some(session) {
            let is_ours = !self.lead_process_is_elsewhere(config);
            if is_ours {
                self.office.remember_session(name, config, session, self.client());
            }
            return is_ours.then(|| Whose::proved(team, lead));
        }
        let woken = config.members.iter().find(|member| member.waking.session.as_deref() == Some(session));
        if let Some(who) = woken.and_then(|member| member.checked_name().ok()) {
            return Some(Whose::proved(team, who));
        }
        if (self.has_lead_process(config) || remembers()) && !self.lead_is_elsewhere(&team) {
            self.office.remember_session(name, config, session, self.client());
            return Some(Whose::proved(team, lead));
        }
        None
    }

    /// A team, of the file that was read already if that can be.
    fn team(&self, name: &TeamName) -> Result<Team<'a>, OfficeError> {
        let read = self.last_read.take().filter(|(team, _)| team == name);
        // What does not parse may be half written: it is read again until it does.
        let config =
            match read.and_then(|(_, bytes)| TeamConfig::parse(&String::from_utf8_lossy(&bytes)).ok()) {
                Some(config) => config,
                None => self.office.folder(name)?.load()?,
            };
        Ok(self.office.team_with(name.clone(), config))
    }

    /// Whether the configuration names our client's process as the lead's.
    fn has_lead_process(&self, config: &TeamConfig) -> bool {
        let Some(process) = &config.lead_process else { return false };
        let is_ours = |client: &ClientProcess| {
            process.pid == Some(client.pid)
                && process.proc_start.as_deref().is_none_or(|start| start == client.start)
        };
        self.client().is_some_and(is_ours) && self.fate(config) == Some(Fate::Runs)
    }

    fn fate(&self, config: &TeamConfig) -> Option<Fate> {
        config.lead_process.as_ref().and_then(|process| fate_by(&*self.office.probe, process))
    }

    fn lead_process_is_elsewhere(&self, config: &TeamConfig) -> bool {
        let pid = config.lead_process.as_ref().and_then(|process| process.pid);
        self.fate(config) == Some(Fate::Runs) && pid.is_some_and(|pid| !self.is_above(pid))
    }

    /// Whether the lead runs in another session, as far as processes show.
    fn lead_is_elsewhere(&self, team: &Team<'_>) -> bool {
        let config = team.config();
        let started = |pid| self.office.probe.started(pid);
        let named = config.lead_session_id.as_deref().filter(|named| *named != self.caller.session);
        let registered = || {
            let live = sessions::live(self.office.root.path(), started);
            live.into_iter().find(|session| Some(session.id.as_str()) == named).map(|session| session.pid)
        };
        let is_other = |pid: u64| !self.is_above(pid);
        self.lead_process_is_elsewhere(config)
            || self.office.remembered_lead_process(team.name()).is_some_and(is_other)
            || named.is_some() && registered().is_some_and(is_other)
    }

    /// Whom the conversation's first entries name. What they say does not change, so it is remembered.
    fn by_conversation(&self) -> Result<Option<Whose<'a>>, OfficeError> {
        let Some(decided) = self.first_entries() else { return Ok(None) };
        let Some(said) = &decided.team else { return Ok(None) };
        let Ok(team) = self.office.choose_team(Some(said), Path::new("")) else { return Ok(None) };
        let team = self.team(&team)?;
        let config = team.config();
        match decided.member.as_deref().map(MemberName::parse) {
            Some(Ok(name)) => {
                let is_member = config.member(name.as_str()).is_some();
                Ok(is_member.then(|| Whose::proved(team, name)))
            }
            Some(Err(_)) => Ok(None),
            None if self.lead_is_elsewhere(&team) => Ok(None),
            None => {
                let lead = self.office.lead_name(team.name(), config)?;
                self.office.remember_session(team.name(), config, self.caller.session, self.client());
                Ok(Some(Whose::proved(team, lead)))
            }
        }
    }

    fn first_entries(&self) -> Option<Decided> {
        let note = SessionNote::of_client(&self.office.root, self.caller.session, &self.office.state);
        if let Some(known) = note.read().ok().flatten() {
            return serde_json::from_str(&known).ok();
        }
        let (is_decided, team, member) =
            first_owner(self.office.root.path(), self.caller.session, self.caller.transcript?)?;
        let decided = Decided { team, member };
        if is_decided && let Ok(text) = serde_json::to_string(&decided) {
            // If it cannot be kept, it is read again.
            let _ = note.write(&text);
            note.forget_older(FORGOTTEN_AFTER);
        }
        Some(decided)
    }
}
