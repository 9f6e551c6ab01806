//! Pushing into a session of Claude Code, for as long as it lives.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use atm_clients::AgentClient;
use atm_clients::claude::sessions::{self, Activity};
use atm_clients::claude::socket::{self, Mailbag, Receipt, SocketError};
use atm_store::watch::{FolderWatch, Stop};
use atm_store::{LockTimes, bounded_log};
use atm_wire::{MemberName, Stamp};

use super::fate::Doing;
use super::pusher::{Client, Passed, Pusher, SessionState};
use crate::error::OfficeError;
use crate::mail::hook::Process;
use crate::office::Office;
use crate::sessions::{Arrival, team_name};

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
        let Some(claude) = self.client(&office)?.filter(|claude| !claude.is_single_run()) else {
            return Ok(());
        };
        let Some(mailbox) = claude.mailbox() else { return Ok(()) };
        let mut pusher = self.pusher(claude, mailbox);
        if !pusher.has_another()? {
            match pusher.pass()? {
                Passed::Given => pusher.listen()?,
                Passed::Until(_) | Passed::Over => {}
            }
        }
        Ok(())
    }

    fn serve(&self, office: &Office, stop: &Stop, told: &mut String) -> Result<(), OfficeError> {
        let Some(claude) = self.client(office)? else { return Ok(()) };
        stop.wait(FIRST_FRAME_AFTER);
        let Some(mailbox) = await_mailbox(&claude, stop) else { return Ok(()) };
        let mut pusher = self.pusher(claude, mailbox.clone());
        let mut watch = watch_of(office, &mailbox, stop);
        while !stop.is_stopped() {
            let until = match pusher.pass() {
                Ok(Passed::Over) => return Ok(()),
                Ok(Passed::Given) => continue,
                Ok(Passed::Until(until)) => until.unwrap_or(office.now().as_millis() + RESCAN_MS),
                // The mailbox may be gone: the next letter makes it again. The pace goes on as it was, which is the client's to set.
                Err(error) => {
                    self.tell(office, &error, told);
                    stop.wait(AGAIN_AFTER);
                    let Some(mailbox) = await_mailbox(pusher.client(), stop) else { return Ok(()) };
                    watch = watch_of(office, &mailbox, stop);
                    pusher.set_mailbox(mailbox);
                    continue;
                }
            };
            watch.wait_for_change(office.clock.instant_of(Stamp::from_millis(until)));
            if watch.is_over() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn pusher(&self, claude: Claude, mailbox: MemberName) -> Pusher<Claude> {
        let budget = self.budget.min(socket::LONGEST_TEXT);
        let office = claude.office.clone();
        Pusher::new(&office, claude, mailbox, budget)
    }

    /// The session, which is noted as one that runs; nothing if we were not started by it.
    pub(crate) fn client(&self, office: &Office) -> Result<Option<Claude>, OfficeError> {
        let Some(client) = office.probe.client_above(self.parent) else { return Ok(None) };
        // A client within the session inherits what the session hands to its children.
        if !office.is_started_by(&self.session, self.parent) {
            return Ok(None);
        }
        let claude = Claude {
            office: office.clone(),
            push: self.clone(),
            pid: client.pid,
            start: client.start,
            // Without one there are no receipts, and all else is the same.
            bag: Mailbag::beside(&self.socket, std::process::id()).ok(),
            known: self.session.clone(),
        };
        // What is noted of a single run, its hooks note: they know whether it takes mail at all.
        if !claude.is_single_run() {
            office.register_session(&self.arrival(&self.session, false))?;
        }
        Ok(Some(claude))
    }

    fn arrival<'a>(&'a self, session: &'a str, begins: bool) -> Arrival<'a> {
        Arrival {
            client: AgentClient::Claude,
            session,
            cwd: &self.cwd,
            transcript: None,
            parent: self.parent,
            begins,
            has_socket: true,
        }
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

/// Waits until somebody has written to the folder that the session works in: nothing is made for a session that nobody writes to.
/// Nothing if it takes no frames, is over first, or somebody says stop.
fn await_mailbox(claude: &Claude, stop: &Stop) -> Option<MemberName> {
    let office = &claude.office;
    loop {
        // The watch begins before the look, so that nothing falls between them.
        let mut watch = office.hub().folders_until(office.where_mailboxes_come(), stop);
        if watch.is_over() || claude.is_over() || claude.is_single_run() {
            return None;
        }
        if let Some(mailbox) = claude.mailbox() {
            return Some(mailbox);
        }
        let rescan = office.now().as_millis() + RESCAN_MS;
        watch.wait_for_change(office.clock.instant_of(Stamp::from_millis(rescan)));
    }
}

/// Changes in an inbox, and in what the client says of its sessions.
fn watch_of(office: &Office, mailbox: &MemberName, stop: &Stop) -> FolderWatch {
    let inbox = office.mailbox(&team_name(), mailbox).file();
    let registry = office.root().path().join("sessions");
    let folders = inbox.parent().map(Path::to_owned).into_iter().chain([registry]);
    office.hub().folders_until(folders.filter(|folder| folder.is_dir()), stop)
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
        // What cannot be noted is noted by its next hook.
        let _ = self.office.register_session(&self.push.arrival(session, true));
        session.clone_into(&mut self.known);
    }
}

impl Claude {
    /// Whether the session is a single run for a program, by its client's word: it would answer the mail instead of its task, or end
    /// with the frame.
    fn is_single_run(&self) -> bool {
        let live = sessions::live(self.office.root().path(), |pid| self.office.probe.started(pid));
        live.iter().any(|session| session.pid == self.pid && session.is_single_run)
    }

    /// Whether its process has ended, and its number may be another's by now.
    fn is_over(&self) -> bool {
        self.office
            .probe
            .started(self.pid)
            .is_none_or(|now| !self.start.is_empty() && !now.is_empty() && now != self.start)
    }

    /// The mailbox of the folder that it works in, once somebody wrote to it.
    fn mailbox(&self) -> Option<MemberName> {
        let name = self.office.known_mailbox_of_session(&self.known)?;
        self.office.mailbox(&team_name(), &name).exists().then_some(name)
    }
}

impl Client for Claude {
    fn process(&self) -> Process {
        (self.pid, self.start.clone())
    }

    fn session(&mut self) -> Option<SessionState> {
        if self.is_over() {
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
