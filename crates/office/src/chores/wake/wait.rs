//! Waiting for mail that is worth a wake, for a hook or a plugin of a client that can be woken while it is idle.
//!
//! | who waits | for which mail |
//! |---|---|
//! | a member | what is unread and before no model |
//! | a session | the mail of its folder that it may take: not what is another's, or on its way by push |
//!
//! A session that mail is pushed into needs no wake, nor does a single run for a program, which ends with its turn. That a session has a
//! socket does not say that somebody pushes: where it has one, whoever may push is given time, and the session is woken for what is
//! still there and not on its way. Each mail wakes once for each step of the ladder, whichever session of a folder is woken for it: that is remembered before it is said.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use atm_clients::claude::sessions;
use atm_ledger::Kind;
use atm_store::watch::FolderWatch;
use atm_store::{Mailbox, Receipt, Seat, SessionNote};
use atm_wire::{MemberName, Message, TeamName};

use super::{Hearer, Ladder, Memory, line, unread};
use crate::error::OfficeError;
use crate::mail::hook::Record;
use crate::office::Office;
use crate::sessions::team_name;

/// For how long mail lies before a session with a socket is woken for it. A server that runs pushes it within a second; the hook
/// that ends a turn, within the three that it waits for a lock. A line beside a frame would begin a second turn.
const PUSH_COMES_FIRST: Duration = Duration::from_secs(10);

/// One that waits: the owner of an inbox, or one of several sessions that share it.
struct Waiter<'a> {
    team: &'a TeamName,
    name: &'a MemberName,
    session: Option<&'a str>,
    mailbox: Mailbox,
    /// For how long mail lies before it wakes.
    grace: Duration,
}

/// The folders that are watched, until others are to be.
struct Watched<'a> {
    office: &'a Office,
    folders: Vec<PathBuf>,
    watch: FolderWatch,
}

impl<'a> Watched<'a> {
    fn of(office: &'a Office, folders: Vec<PathBuf>) -> Self {
        Self { office, watch: office.hub.folders(folders.iter().cloned()), folders }
    }

    /// From now on; what changed in folders that are new is looked for after this.
    fn set(&mut self, folders: Vec<PathBuf>) {
        if folders != self.folders {
            *self = Self::of(self.office, folders);
        }
    }
}

impl Office {
    /// Waits for mail that is worth a wake, and gives the line for it: for a hook of the member's client that waits while
    /// the member is idle. Of several that wait for one member, the last one gets the line, and the others end. `None`
    /// when `deadline` is over, when a turn has begun meanwhile, as the client's other hooks tell, or when `is_heard` says
    /// that nobody would hear the line.
    pub fn wait_to_wake(
        &self,
        team: &TeamName,
        name: &MemberName,
        ladder: &Ladder,
        deadline: Option<Instant>,
        is_heard: impl Fn() -> bool,
    ) -> Result<Option<String>, OfficeError> {
        let mailbox = self.team(team)?.known_mailbox(name)?;
        let seat = Seat::take(&mailbox, &self.state)?;
        let waiter = Waiter { team, name, session: None, mailbox, grace: Duration::ZERO };
        self.wait_in_seat(&waiter, &seat, ladder, deadline, is_heard)
    }

    /// The same for a session that is no member's, with the mailbox of its folder, which may come while it waits. `None` also
    /// where the session is not to be woken in this way. Beside the session stands whether its client handed over a socket.
    pub fn wait_in_session(
        &self,
        (session, has_socket): (&str, bool),
        ladder: &Ladder,
        deadline: Option<Instant>,
        is_heard: impl Fn() -> bool,
    ) -> Result<Option<(MemberName, String)>, OfficeError> {
        let grace = has_socket.then_some(PUSH_COMES_FIRST);
        self.wait_in_session_for((session, grace), ladder, deadline, is_heard)
    }

    /// The same, with the time that mail lies before the session is woken for it, if it is not the usual one.
    pub(crate) fn wait_in_session_for(
        &self,
        (session, grace): (&str, Option<Duration>),
        ladder: &Ladder,
        deadline: Option<Instant>,
        is_heard: impl Fn() -> bool,
    ) -> Result<Option<(MemberName, String)>, OfficeError> {
        let seat = Seat::take_in_session(&self.root, session, &self.state)?;
        let folders =
            || self.where_mailboxes_come().into_iter().chain(seat.folder().map(Into::into)).collect();
        let mut watched = Watched::of(self, folders());
        let name = loop {
            if !seat.is_ours() || !is_heard() || !self.is_woken_in_session(session) {
                return Ok(None);
            }
            let name = self.known_mailbox_of_session(session);
            if let Some(name) = name.filter(|name| self.mailbox(&team_name(), name).exists()) {
                break name;
            }
            if !watched.watch.wait(deadline) {
                return Ok(None);
            }
            watched.set(folders());
        };
        let mailbox = self.mailbox(&team_name(), &name);
        let usual = || if self.has_socket(session) { PUSH_COMES_FIRST } else { Duration::ZERO };
        let grace = grace.unwrap_or_else(usual);
        let waiter = Waiter { team: &team_name(), name: &name, session: Some(session), mailbox, grace };
        let is_heard = || {
            // What cannot be read says nothing of one that pushes.
            let is_pushed_into = || self.is_pushed_into(&waiter.mailbox, session).unwrap_or(false);
            is_heard() && self.is_woken_in_session(session) && !is_pushed_into()
        };
        let told = self.wait_in_seat(&waiter, &seat, ladder, deadline, is_heard)?;
        Ok(told.map(|line| (name, line)))
    }

    /// Whether a session is woken by one that waits: not if a hook never noted it, or if it ends with its turn.
    fn is_woken_in_session(&self, session: &str) -> bool {
        let live = sessions::live(self.root.path(), |pid| self.probe.started(pid));
        let listed = live.into_iter().find(|live| live.id == session);
        listed.is_none_or(|live| !live.is_single_run)
            && self.registered_session(session).is_some_and(|known| !known.is_single_run)
    }

    /// Whether mail could be pushed into a session, by its client's list.
    fn has_socket(&self, session: &str) -> bool {
        let live = sessions::live(self.root.path(), |pid| self.probe.started(pid));
        live.iter().any(|live| live.id == session && live.socket.is_some())
    }

    /// Whether a process pushes into a session now, as it noted.
    fn is_pushed_into(&self, mailbox: &Mailbox, session: &str) -> Result<bool, OfficeError> {
        let record = Record::read(&SessionNote::of(mailbox, session, &self.state))?;
        Ok(record.and_then(|record| record.pusher).is_some_and(|pusher| self.is_alive(&pusher)))
    }

    fn wait_in_seat(
        &self,
        waiter: &Waiter<'_>,
        seat: &Seat,
        ladder: &Ladder,
        deadline: Option<Instant>,
        is_heard: impl Fn() -> bool,
    ) -> Result<Option<String>, OfficeError> {
        let (handle, mailbox) = (self.team(waiter.team)?, &waiter.mailbox);
        let folders = [mailbox.file().parent().map(ToOwned::to_owned), seat.folder().map(ToOwned::to_owned)];
        let mut watch = self.hub.folders(folders.into_iter().flatten());
        let (mut signature, mut mail) = (None, Vec::new());
        let mut calls_since = None;
        loop {
            if !seat.is_ours() || !is_heard() {
                return Ok(None);
            }
            handle.look_for(waiter.name);
            let now = mailbox.signature();
            // What is another session's may be this one's when that one ends.
            if signature.as_ref() != Some(&now) || waiter.session.is_some() {
                mail = self.mail_for(waiter)?;
                signature = Some(now);
            }
            let before = self.memo(mailbox).read()?;
            let calls = Memory::parse(before.as_deref()).calls(&mail, ladder, self.now());
            calls_since = calls.then(|| calls_since.unwrap_or_else(Instant::now));
            if calls_since.is_some_and(|since| since.elapsed() >= waiter.grace)
                && let Some(told) = self.remember_wake(waiter, ladder)?
            {
                let what = "woken by a hook of its client; not confirmed";
                self.note_wake(waiter.team, waiter.name, &told, Kind::Woken, what);
                return Ok(Some(line(&told, Hearer::Agent)));
            }
            if !watch.wait(deadline) {
                return Ok(None);
            }
        }
    }

    /// What is unread, before no model and not on its way to one: the hook that ends a turn, and marks what was presented in it, runs
    /// beside the one that waits.
    fn mail_for(&self, waiter: &Waiter<'_>) -> Result<Vec<Message>, OfficeError> {
        let mailbox = &waiter.mailbox;
        let Some(session) = waiter.session else {
            // Asked first: what is marked in between is not unread.
            let offered = self.offered(mailbox);
            let is_new = |message: &Message| !offered.has(&Receipt::of(message).to_string());
            return Ok(unread(mailbox)?.into_iter().filter(is_new).collect());
        };
        let text = SessionNote::of(mailbox, session, &self.state).read()?;
        let record: Option<Record> = text.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let record = record.unwrap_or_default();
        // One that began to push a moment ago has it, or will.
        if record.pusher.as_ref().is_some_and(|pusher| self.is_alive(pusher)) {
            return Ok(Vec::new());
        }
        let mut withheld = self.withheld(waiter.name, session)?;
        withheld.present(text.as_deref());
        let is_new = |message: &Message| {
            let receipt = Receipt::of(message).to_string();
            !withheld.has(message, &receipt) && !record.denied.contains(&receipt)
        };
        Ok(unread(mailbox)?.into_iter().filter(is_new).collect())
    }

    /// In the turn of those who wake: for which mail it is woken now, if for any.
    fn remember_wake(
        &self,
        waiter: &Waiter<'_>,
        ladder: &Ladder,
    ) -> Result<Option<Vec<Message>>, OfficeError> {
        self.memo(&waiter.mailbox).update(|before| {
            let (mut memory, mail, now) = (Memory::parse(before), self.mail_for(waiter)?, self.now());
            if !memory.calls(&mail, ladder, now) {
                return Ok((None, None));
            }
            match waiter.session {
                // What others of the folder were woken for is not forgotten.
                Some(_) => memory.woke_for(&mail, &unread(&waiter.mailbox)?, ladder, now),
                None => memory.woke(&mail, ladder, now),
            }
            Ok((Some(memory.render()), Some(mail)))
        })
    }
}
