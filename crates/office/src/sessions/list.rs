//! Which sessions there are, and what names they have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use atm_clients::AgentClient;
use atm_clients::claude::sessions::{self, Activity};
use atm_wire::{Address, MemberName, Stamp};
use serde::Serialize;

use super::address::{Destination, Names, Running};
use super::register::{Registered, real};
use super::unread::UnreadOf;
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::ancestry::ClientProcess;
use crate::people::presence::{Presence, asking};

/// A session that runs, or a folder in which one has run.
#[derive(Debug, Clone, Serialize)]
pub struct SessionView {
    /// What its folder is called: as few of its last parts as tell it from others.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
    /// The client, where a session is known.
    pub client: Option<&'static str>,
    /// The client's id of the conversation, where it runs.
    pub session: Option<String>,
    /// What the client calls it, while it runs.
    pub session_name: Option<String>,
    /// What its folder is called by its people.
    pub aliases: Vec<String>,
    /// Whether it runs, and works.
    pub state: Presence,
    /// What it does, where its client says so.
    pub activity: Option<String>,
    /// Its client's process.
    pub pid: Option<u64>,
    /// The mailbox in the team of sessions, once somebody wrote to it.
    pub mailbox: Option<MemberName>,
    /// How much mail is unread that it may take; of a folder in which none works, that the next one may.
    pub unread: usize,
}

/// A session that runs, with all that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) client: AgentClient,
    pub(crate) folder: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) pid: u64,
    pub(crate) activity: Option<Activity>,
    /// Since when it does that, where its client says so.
    pub(crate) since: Option<Stamp>,
    pub(crate) takes: Takes,
}

/// Which mail of its folder a session takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// What is for it, and what is for any that works there.
    All,
    /// What names it: a single run for a program has a task of its own, and nobody who would answer.
    Named,
    /// None: a single run in which no hook of ours was called, or only for a member's mail.
    Nothing,
}

impl Live {
    /// Whether it works in a folder in the sense that mail for the folder is for it.
    pub(crate) fn works_in(&self, folder: &Path) -> bool {
        self.takes == Takes::All && self.folder == folder
    }
}

impl Office {
    /// All sessions that run, and the folders in which some have run: first those that run, then by name.
    pub fn sessions(&self) -> Result<Vec<SessionView>, OfficeError> {
        let registered = self.registered_sessions();
        let running = self.running_among(&registered);
        let names = self.session_names(&registered, &running)?;
        let mailboxes = self.session_mailboxes();
        let view = |folder: &Path, live: Option<&Live>, unread: usize| {
            let mailbox = mailboxes.get(folder);
            let last =
                registered.iter().filter(|known| known.folder == folder).max_by_key(|known| known.began);
            let client =
                live.map(|live| live.client).or_else(|| last.and_then(|known| known.client.parse().ok()));
            let aliases = names.aliases.iter().filter(|(_, place)| *place == folder);
            SessionView {
                name: names.tail(folder),
                folder: folder.to_owned(),
                client: client.map(AgentClient::as_str),
                session: live.map(|live| live.id.clone()),
                session_name: live.and_then(|live| live.name.clone()),
                aliases: aliases.map(|(alias, _)| alias.clone()).collect(),
                state: live.map_or(Presence::Offline, |live| self.state_of(live, mailbox)),
                activity: live.and_then(|live| live.activity.as_ref()).map(Activity::describe),
                pid: live.map(|live| live.pid),
                mailbox: mailbox.cloned(),
                unread,
            }
        };
        let mut views = Vec::new();
        for folder in &names.folders {
            let is_here = |live: &&Live| live.folder == *folder && live.takes != Takes::Nothing;
            let here: Vec<&Live> = running.iter().filter(is_here).collect();
            let unread = UnreadOf::folder(self, mailboxes.get(folder), &running)?;
            if !here.iter().any(|live| live.works_in(folder)) {
                views.push(view(folder, None, unread.for_next()));
            }
            views.extend(here.into_iter().map(|live| view(folder, Some(live), unread.for_session(live))));
        }
        views.sort_by(|a, b| {
            (a.session.is_none(), &a.name, &a.session).cmp(&(b.session.is_none(), &b.name, &b.session))
        });
        Ok(views)
    }

    /// Whom a name means among sessions and the folders that they work in.
    pub fn find_session(&self, wanted: &str) -> Result<Destination, OfficeError> {
        let registered = self.registered_sessions();
        let running = self.running_among(&registered);
        let names = self.session_names(&registered, &running)?;
        if wanted.starts_with('/') {
            let folder = real(Path::new(wanted)).display().to_string();
            return names.resolve(&folder);
        }
        names.resolve(wanted)
    }

    /// Whether any session is known, of now or of before.
    pub fn knows_sessions(&self) -> bool {
        let registered = self.registered_sessions();
        !registered.is_empty()
            || self.sessions_folder().exists()
            || self.session_aliases().is_ok_and(|aliases| !aliases.is_empty())
            || !self.running_among(&registered).is_empty()
    }

    /// The mailbox that mail for a name goes into, made if there is none; and the session that is meant, if one was named.
    pub fn session_address(&self, wanted: &str) -> Result<(Address, Option<String>), OfficeError> {
        let Destination { folder, session } = self.find_session(wanted)?;
        let name = self.make_mailbox_of_folder(&folder)?;
        Ok((Address { name, team: Some(super::team_name()) }, session))
    }

    /// The session that runs in a client's process, as its client or our own notes have it.
    pub fn session_in(&self, client: &ClientProcess) -> Option<String> {
        self.running_sessions().into_iter().find(|live| live.pid == client.pid).map(|live| live.id)
    }

    /// The mailbox of a session that a client called us in, made if there is none; nothing if it was never noted.
    pub fn mailbox_of_session(&self, session: &str) -> Result<Option<MemberName>, OfficeError> {
        let registered = self.registered_session(session);
        registered.map(|known| self.make_mailbox_of_folder(&known.folder)).transpose()
    }

    /// The same, if somebody wrote to it.
    pub fn known_mailbox_of_session(&self, session: &str) -> Option<MemberName> {
        self.mailbox_of_folder(&self.registered_session(session)?.folder)
    }

    /// The sessions that run.
    pub(crate) fn running_sessions(&self) -> Vec<Live> {
        self.running_among(&self.registered_sessions())
    }

    pub(crate) fn running_among(&self, registered: &[Registered]) -> Vec<Live> {
        let mut running: Vec<Live> = Vec::new();
        for listed in sessions::live(self.root.path(), |pid| self.probe.started(pid)) {
            let known = registered.iter().find(|known| known.session == listed.id);
            let folder = match (known, &listed.cwd) {
                (Some(known), _) => known.folder.clone(),
                (None, Some(cwd)) if Path::new(cwd).is_absolute() => real(Path::new(cwd)),
                (None, _) => continue,
            };
            let takes = match (listed.is_single_run, known) {
                (false, _) => Takes::All,
                (true, Some(_)) => Takes::Named,
                (true, None) => Takes::Nothing,
            };
            running.push(Live {
                id: listed.id,
                client: AgentClient::Claude,
                folder,
                name: listed.name,
                pid: listed.pid,
                activity: listed.activity,
                since: listed.since.map(Stamp::from_millis),
                takes,
            });
        }
        for known in registered {
            let Some(pid) = self.process_running(known, registered) else { continue };
            // What a client lists is newer: after `/clear` it has another id in the same process.
            let is_beside = |live: &Live| live.client.profile().serves_folders && live.folder != known.folder;
            let replaces = |live: &Live| live.id == known.session || live.pid == pid && !is_beside(live);
            if running.iter().any(replaces) {
                continue;
            }
            let Ok(client) = known.client.parse() else { continue };
            let (id, folder) = (known.session.clone(), known.folder.clone());
            let activity = asking(known.asked_at, known.went_on(), self.now());
            let (since, takes) = (known.asked_at.filter(|_| activity.is_some()), known.takes_in(pid));
            running.push(Live { id, client, folder, name: None, pid, activity, since, takes });
        }
        running
    }

    pub(super) fn session_names(
        &self,
        registered: &[Registered],
        running: &[Live],
    ) -> Result<Names, OfficeError> {
        let mut folders: BTreeSet<PathBuf> = registered.iter().map(|known| known.folder.clone()).collect();
        let running: Vec<&Live> = running.iter().filter(|live| live.takes != Takes::Nothing).collect();
        folders.extend(running.iter().map(|live| live.folder.clone()));
        let mailboxes = self.session_mailboxes();
        folders.extend(mailboxes.keys().cloned());
        let mailboxes = mailboxes.into_iter().map(|(folder, name)| (name.to_string(), folder)).collect();
        let aliases = self.session_aliases()?;
        folders.extend(aliases.values().cloned());
        let call = |live: &Live| Running {
            id: live.id.clone(),
            name: live.name.clone(),
            folder: live.folder.clone(),
            is_named_only: live.takes != Takes::All,
        };
        Ok(Names { folders, running: running.into_iter().map(call).collect(), aliases, mailboxes })
    }

    /// The mailboxes of folders that somebody wrote to.
    pub(super) fn session_mailboxes(&self) -> BTreeMap<PathBuf, MemberName> {
        let team = self.sessions_folder();
        let config = team.exists().then(|| team.load().ok()).flatten().unwrap_or_default();
        let members = config.members.iter();
        members
            .filter_map(|member| Some((member.cwd.as_ref()?.into(), member.checked_name().ok()?)))
            .collect()
    }

    fn state_of(&self, live: &Live, mailbox: Option<&MemberName>) -> Presence {
        let rests =
            || mailbox.is_some_and(|name| self.conversation_rests(&super::team_name(), name, &live.id));
        match &live.activity {
            Some(Activity::Idle) => Presence::Idle,
            None if rests() => Presence::Idle,
            _ => Presence::Online,
        }
    }
}
