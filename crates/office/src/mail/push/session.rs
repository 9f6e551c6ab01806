//! Pushing into a session of Claude Code, for as long as it lives.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atm_clients::AgentClient;
use atm_clients::claude::sessions::{self, Activity};
use atm_clients::claude::socket::{self, Mailbag, Receipt, SocketError};
use atm_store::watch::Stop;
use atm_store::{LockTimes, bounded_log};
use atm_wire::{MemberName, Stamp};

use super::fate::Doing;
use super::pusher::{Client, Passed, Pusher, SessionState};
use crate::error::OfficeError;
use crate::mail::hook::Process;
use crate::office::Office;
use crate::sessions::Arrival;

/// How long the client's end is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// In its first second a session may lose a frame.
const FIRST_FRAME_AFTER: Duration = Duration::from_millis(1_500);
/// After an error it is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Without a change it is looked so often: events of files can be lost.
const RESCAN_MS: i64 = 5_000;
/// Nobody waits longer for a lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// What a session hands to the processes that it starts.
#[derive(Debug, Clone)]
pub struct Push {
    /// Its messaging socket.
    pub socket: PathBuf,
    /// Its id, when the process was started.
    pub session: String,
    /// The folder that it works in.
    pub cwd: PathBuf,
    /// The process that started ours.
    pub parent: u64,
    /// What a turn may be given, in bytes.
    pub budget: usize,
}

impl Push {
    /// Pushes mail for the session's folder into its conversation, until somebody says stop or the session is over. What goes
    /// wrong is in the log of hooks, and tried again: mail that is not pushed comes by the hooks.
    pub fn run(&self, office: &Office, stop: &Stop) {
        let office = hurried(office);
        let mut told = String::new();
        while !stop.is_stopped() {
            let Err(error) = self.serve(&office, stop, &mut told) else { return };
            self.tell(&office, &error, &mut told);
            stop.wait(AGAIN_AFTER);
        }
    }

    /// Pushes what waits now, for a process that is about to end: a hook at the end of a turn. Another process that pushes into this
    /// session is left to do it, and so is a session that nobody sits before: it may end at any moment.
    pub fn once(&self, office: &Office) -> Result<(), OfficeError> {
        let office = hurried(office);
        let Some((mut pusher, _)) = self.pusher(&office)? else { return Ok(()) };
        if pusher.client().is_interactive() && !pusher.has_another()? {
            match pusher.pass()? {
                Passed::Given => pusher.listen()?,
                Passed::Until(_) | Passed::Over => {}
            }
        }
        Ok(())
    }

    fn serve(&self, office: &Office, stop: &Stop, told: &mut String) -> Result<(), OfficeError> {
        let Some((mut pusher, inbox)) = self.pusher(office)? else { return Ok(()) };
        stop.wait(FIRST_FRAME_AFTER);
        let registry = office.root().path().join("sessions");
        let folders = inbox.parent().map(Path::to_owned).into_iter().chain([registry]);
        let mut watch = office.hub().folders_until(folders.filter(|folder| folder.is_dir()), stop);
        while !stop.is_stopped() {
            let until = match pusher.pass() {
                Ok(Passed::Over) => return Ok(()),
                Ok(Passed::Given) => continue,
                Ok(Passed::Until(until)) => until.unwrap_or(office.now().as_millis() + RESCAN_MS),
                // The mailbox may be gone: it is made again. The pace goes on as it was, which is the client's to set.
                Err(error) => {
                    self.tell(office, &error, told);
                    stop.wait(AGAIN_AFTER);
                    let (mailbox, _) = self.mailbox(office)?;
                    pusher.set_mailbox(mailbox);
                    continue;
                }
            };
            let deadline = office.clock.instant_of(Stamp::from_millis(until));
            watch.wait_for_change(deadline);
            if watch.is_over() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What pushes into the session, and the inbox whose mail that is; nothing if it was not started by one.
    pub(crate) fn pusher(&self, office: &Office) -> Result<Option<(Pusher<Claude>, PathBuf)>, OfficeError> {
        let Some(client) = office.probe.client_above(self.parent) else { return Ok(None) };
        // A client within the session inherits what the session hands to its children.
        if !office.is_started_by(&self.session, self.parent) {
            return Ok(None);
        }
        let (mailbox, inbox) = self.mailbox(office)?;
        let claude = Claude {
            office: office.clone(),
            push: self.clone(),
            pid: client.pid,
            start: client.start,
            // Without one there are no receipts, and all else is the same.
            bag: Mailbag::beside(&self.socket, std::process::id()).ok(),
            known: self.session.clone(),
        };
        let budget = self.budget.min(socket::LONGEST_TEXT);
        Ok(Some((Pusher::new(office, claude, mailbox, budget), inbox)))
    }

    /// The mailbox of the folder that the session works in, and where it is; made if there is none.
    fn mailbox(&self, office: &Office) -> Result<(MemberName, PathBuf), OfficeError> {
        let arrival = Arrival {
            client: AgentClient::Claude,
            session: &self.session,
            cwd: &self.cwd,
            transcript: None,
            parent: self.parent,
            begins: false,
            has_socket: true,
        };
        let folder = office.register_session(&arrival)?.folder;
        let mailbox = office.make_mailbox_of_folder(&folder)?;
        let inbox = office.mailbox(&crate::sessions::team_name(), &mailbox).file();
        Ok((mailbox, inbox))
    }

    /// Puts into the log of hooks what went wrong, once.
    fn tell(&self, office: &Office, error: &OfficeError, told: &mut String) {
        let words = error.to_string();
        if words != *told {
            // There is nobody else to tell.
            let line = format!("{} push into {}: {words}", office.now(), self.session);
            let _ = bounded_log::note(&office.state().hook_log(), &line);
            *told = words;
        }
    }
}

/// An office that does not wait for long: nobody waits for it.
fn hurried(office: &Office) -> Office {
    office.clone().with_lock_times(LockTimes { wait: LOCK_PATIENCE, ..office.lock_times() })
}

/// A session of Claude Code, as a process that it started sees it.
#[derive(Debug)]
pub(crate) struct Claude {
    office: Office,
    push: Push,
    pid: u64,
    start: String,
    bag: Option<Mailbag>,
    /// The conversation that it had last.
    known: String,
}

impl Claude {
    /// Whether a process is the client that started us, or the one that listens for it.
    fn is_client(&self, pid: u64) -> bool {
        pid == self.pid || self.office.probe.is_above(self.push.parent, pid)
    }

    /// Whether its process was stopped, as by Ctrl-Z.
    fn is_stopped(&self) -> bool {
        self.office.probe.is_stopped(self.pid)
    }

    /// After `/clear` it has another conversation, which is to be known as this folder's.
    fn follow(&mut self, session: &str) {
        if self.known == session {
            return;
        }
        let arrival = Arrival {
            client: AgentClient::Claude,
            session,
            cwd: &self.push.cwd,
            transcript: None,
            parent: self.push.parent,
            begins: true,
            has_socket: true,
        };
        // What cannot be noted is noted by its next hook.
        let _ = self.office.register_session(&arrival);
        session.clone_into(&mut self.known);
    }
}

impl Claude {
    /// Whether a person sits before the session, as far as its client says so.
    fn is_interactive(&self) -> bool {
        let live = sessions::live(self.office.root().path(), |pid| self.office.probe.started(pid));
        live.iter().any(|session| session.pid == self.pid && session.is_interactive)
    }
}

impl Client for Claude {
    fn process(&self) -> Process {
        (self.pid, self.start.clone())
    }

    fn session(&mut self) -> Option<SessionState> {
        let started = self.office.probe.started(self.pid)?;
        if !self.start.is_empty() && !started.is_empty() && started != self.start {
            return None;
        }
        let live = sessions::live(self.office.root().path(), |pid| self.office.probe.started(pid));
        let Some(listed) = live.into_iter().find(|session| session.pid == self.pid && !session.id.is_empty())
        else {
            let doing = self.is_stopped().then_some(Doing::Turn);
            return Some(SessionState { session: self.known.clone(), doing, since: None });
        };
        self.follow(&listed.id);
        let doing = listed.activity.map(|activity| match activity {
            // It shows what it was given when it goes on.
            _ if self.is_stopped() => Doing::Turn,
            Activity::Idle => Doing::Nothing,
            Activity::Busy | Activity::Waiting(_) | Activity::Other(_) => Doing::Turn,
        });
        Some(SessionState { session: listed.id, doing, since: listed.since })
    }

    fn give(&mut self, frame: &str, session: &str, text: &str) -> Result<(), SocketError> {
        let from = self.bag.as_ref().map(Mailbag::address);
        let line = socket::Frame { id: frame, session, from: from.as_deref(), text }.line()?;
        socket::give(&self.push.socket, &line, |pid| self.is_client(pid), PATIENCE)
    }

    fn receipts(&mut self, patience: Duration) -> Vec<Receipt> {
        let Some(mut bag) = self.bag.take() else { return Vec::new() };
        let until = Instant::now() + patience;
        let receipts = loop {
            let receipts = bag.receipts(|pid| self.is_client(pid));
            let left = until.saturating_duration_since(Instant::now());
            if !receipts.is_empty() || left.is_zero() || !bag.wait(left) {
                break receipts;
            }
        };
        self.bag = Some(bag);
        receipts
    }
}

#[cfg(test)]
mod tests;
