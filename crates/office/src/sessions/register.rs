//! What is known of a session from the calls of its client: noted when a hook or a server of ours is started by it.
//!
//! A note is no promise. If it is lost, the session is noted again at its next call; its mail is in the team of sessions.

use std::path::{Path, PathBuf};

use atm_clients::AgentClient;
use atm_clients::claude::sessions;
use atm_clients::conversations::Openness;
use atm_store::SessionNote;
use atm_wire::Stamp;
use serde::{Deserialize, Serialize};

use super::list::Takes;
use crate::error::OfficeError;
use crate::office::Office;
use crate::people::presence::went_on_at;
use crate::trail::transcript::written;

/// A call of a client in one of its sessions.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The client.
    pub client: AgentClient,
    /// The client's name for the conversation.
    pub session: &'a str,
    /// Where the client works, as far as the caller knows.
    pub cwd: &'a Path,
    /// Where the client keeps the conversation.
    pub transcript: Option<&'a Path>,
    /// The process that called us.
    pub parent: u64,
    /// Whether the conversation begins, or is taken up again.
    pub begins: bool,
    /// Whether the client handed over a socket that mail can be pushed through.
    pub has_socket: bool,
}

/// A session, as it is noted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Registered {
    pub(crate) client: String,
    pub(crate) session: String,
    /// The folder that it works in, without links.
    pub(crate) folder: PathBuf,
    pub(crate) transcript: Option<PathBuf>,
    /// Its client's process, and when that started in the system's words.
    pub(crate) pid: Option<u64>,
    pub(crate) start: Option<String>,
    /// That process is a single run: it ends with its turn, and has a task of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_single_run: bool,
    /// When it last began, in milliseconds since the epoch.
    pub(crate) began: i64,
    /// Its client said that it is over.
    pub(crate) is_over: bool,
    /// When its client asked its user for a permission, if no hook was called after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_at: Option<Stamp>,
}

impl Registered {
    /// When its conversation last went on, where that can be told.
    pub(crate) fn went_on(&self) -> Option<Stamp> {
        went_on_at(self.client.parse().ok()?, self.transcript.as_deref(), &self.session)
    }

    /// Which mail of its folder it takes in a process.
    pub(super) fn takes_in(&self, pid: u64) -> Takes {
        if self.is_single_run && self.pid == Some(pid) { Takes::Named } else { Takes::All }
    }

    /// Whether a process has its conversation open.
    pub(crate) fn openness(&self) -> Openness {
        let client = self.client.parse::<AgentClient>().ok();
        let known = client.and_then(|client| client.profile().conversations.as_ref());
        known
            .zip(self.transcript.as_deref())
            .map_or(Openness::Unknown, |(known, path)| (known.openness)(path, &self.session))
    }
}

impl Office {
    /// Notes the session that a client's call is made in; says where it works.
    pub(crate) fn register_session(&self, arrival: &Arrival<'_>) -> Result<Registered, OfficeError> {
        let note = SessionNote::in_register(&self.root, arrival.session, &self.state);
        let before = parse(note.read()?.as_deref());
        let process = self.probe.client_above(arrival.parent);
        let mut now = before.clone().unwrap_or_default();
        // A conversation may be taken up again elsewhere; within it, tools go to other folders and the session does not.
        if arrival.begins || before.is_none() {
            now.folder = self.folder_of_arrival(arrival, process.as_ref().map(|process| process.pid));
        }
        arrival.client.as_str().clone_into(&mut now.client);
        arrival.session.clone_into(&mut now.session);
        now.is_over = false;
        if let Some(said) = arrival.transcript {
            now.transcript = Some(written(now.transcript.as_deref(), said).to_owned());
        }
        if process.is_none() && arrival.begins {
            now.is_single_run = false;
        }
        if let Some(process) = process {
            now.is_single_run = arrival.client.is_single_run(&process.invocation);
            (now.pid, now.start) = (Some(process.pid), Some(process.start));
        }
        if arrival.begins || before.is_none() {
            now.began = self.now().as_millis();
        }
        if before.as_ref() != Some(&now) {
            // Strings and numbers: that cannot fail.
            note.write(&serde_json::to_string(&now).unwrap_or_default())?;
        }
        Ok(now)
    }

    /// A client said that a session is over. Its folder stays known.
    pub(crate) fn end_session(&self, session: &str) -> Result<(), OfficeError> {
        let note = SessionNote::in_register(&self.root, session, &self.state);
        if let Some(before) = parse(note.read()?.as_deref()).filter(|before| !before.is_over) {
            let over = Registered { is_over: true, ..before };
            note.write(&serde_json::to_string(&over).unwrap_or_default())?;
        }
        Ok(())
    }

    /// A hook of a session's client was called: its client asks its user for a permission now, or it does not.
    pub(crate) fn note_asking(&self, session: &Registered, asks: bool) -> Result<(), OfficeError> {
        let asked_at = asks.then(|| self.now());
        if session.asked_at == asked_at {
            return Ok(());
        }
        let note = SessionNote::in_register(&self.root, &session.session, &self.state);
        let now = Registered { asked_at, ..session.clone() };
        Ok(note.write(&serde_json::to_string(&now).unwrap_or_default())?)
    }

    /// A session that was noted.
    pub(crate) fn registered_session(&self, session: &str) -> Option<Registered> {
        let note = SessionNote::in_register(&self.root, session, &self.state);
        parse(note.read().ok().flatten().as_deref())
    }

    /// All sessions that were noted, the newest first: what is asked about a process is about the one that began there last.
    pub(crate) fn registered_sessions(&self) -> Vec<Registered> {
        let notes = SessionNote::register(&self.root, &self.state);
        let mut sessions: Vec<Registered> = notes.iter().filter_map(|text| parse(Some(text))).collect();
        sessions.sort_by(|a, b| (b.began, &a.session).cmp(&(a.began, &b.session)));
        sessions
    }

    /// The process of a noted session, if that runs: by the lock of its client where there is one, else by the process that called
    /// our hooks. One that is over, or began anew in the same process, does not count; nor in another folder, unless such a process
    /// serves several.
    pub(crate) fn process_running(&self, session: &Registered, all: &[Registered]) -> Option<u64> {
        if session.is_over {
            return None;
        }
        let runs = |pid| {
            self.probe.started(pid).is_some_and(|now| {
                let start = session.start.as_deref().filter(|start| !start.is_empty());
                now.is_empty() || start.is_none_or(|start| start == now)
            })
        };
        let is_newest = || {
            let serves_folders =
                session.client.parse().is_ok_and(|client: AgentClient| client.profile().serves_folders);
            let is_in_its_place = |other: &&Registered| {
                (other.pid, &other.start) == (session.pid, &session.start)
                    && !(serves_folders && other.folder != session.folder)
            };
            let newest = all.iter().filter(is_in_its_place).map(|other| other.began).max();
            newest.is_none_or(|newest| newest <= session.began)
        };
        let caller = session.pid.filter(|pid| runs(*pid));
        match Openness::certain(caller.is_some(), || session.openness()) {
            Openness::Closed => None,
            // It was taken up again in another process, which has called no hook yet.
            Openness::Open { pid } if session.pid != Some(pid) => Some(pid),
            Openness::Open { pid } => Some(pid).filter(|_| is_newest()),
            Openness::Unknown => caller.filter(|_| is_newest()),
        }
    }

    /// Where a session works: as its client's registry says, since a hook is called wherever a tool has gone to.
    fn folder_of_arrival(&self, arrival: &Arrival<'_>, pid: Option<u64>) -> PathBuf {
        let live = sessions::live(self.root.path(), |pid| self.probe.started(pid));
        let listed =
            live.into_iter().find(|session| Some(session.pid) == pid).and_then(|session| session.cwd);
        real(listed.map(PathBuf::from).filter(|cwd| cwd.is_absolute()).as_deref().unwrap_or(arrival.cwd))
    }
}

/// A folder without links, as far as it is there.
pub(super) fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

pub(super) fn parse(text: Option<&str>) -> Option<Registered> {
    let session: Registered = serde_json::from_str(text?).ok()?;
    (!session.session.is_empty() && session.folder.is_absolute()).then_some(session)
}
