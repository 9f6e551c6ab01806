//! One pass of pushing: what is shown is marked, what is lost is free again, and the next frame is given.

use std::collections::HashSet;
use std::time::Duration;

use atm_clients::claude::socket::{Receipt, SocketError};
use atm_ledger::{Evidence, Frame};
use atm_store::{Mailbox, SessionNote, fresh_id};
use atm_wire::{MemberName, Message, visible};

use super::channel::{Channels, is_pushable};
use super::fate::{Doing, Moment};
use super::pace::{Limits, Pace};
use super::plan::{Next, Under, Waiting, next};
use super::text::Words;
use super::watched::Watched;
use crate::error::OfficeError;
use crate::mail::hook::{Process, PushedFrame, Record, receipt, unread};
use crate::office::Office;
use crate::sessions;
use crate::team::Team;
use crate::trail::transcript::Transcript;

/// A client's session, as it is pushed to. Tests have one of their own.
pub(crate) trait Client {
    /// Its process.
    fn process(&self) -> Process;

    /// The session as it is now; nothing if it is over.
    fn session(&mut self) -> Option<SessionState>;

    /// Gives a frame to it.
    fn give(&mut self, frame: &str, session: &str, text: &str) -> Result<(), SocketError>;

    /// What it says of earlier frames; for its first word it is waited at most so long.
    fn receipts(&mut self, patience: Duration) -> Vec<Receipt>;
}

/// A session as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionState {
    /// The present conversation.
    pub(crate) session: String,
    /// What it does. Where the client does not say so, its conversation is asked.
    pub(crate) doing: Option<Doing>,
    /// Since when, in milliseconds since the epoch.
    pub(crate) since: Option<i64>,
}

/// What a client says of a frame at once, it says within this time.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Pushes the mail of one mailbox into one session.
#[derive(Debug)]
pub(crate) struct Pusher<C> {
    office: Office,
    client: C,
    mailbox: MemberName,
    /// Ourselves.
    process: Process,
    /// What a turn may be given, in bytes.
    budget: usize,
    pace: Pace,
    session: Option<String>,
    /// How long the conversation was when it was last looked at.
    looked_at: u64,
    watched: Watched,
}

/// What a pass came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
    /// A frame was given to the client. There may be more to do at once.
    Given,
    /// There is something to do at this time, or when something changes.
    Until(Option<i64>),
    /// The session is over.
    Over,
}

impl<C: Client> Pusher<C> {
    pub(crate) fn new(office: &Office, client: C, mailbox: MemberName, budget: usize) -> Self {
        let pid = u64::from(std::process::id());
        let start = office.probe.started(pid).unwrap_or_default();
        Self {
            office: office.clone(),
            client,
            mailbox,
            process: (pid, start),
            budget,
            pace: Pace::new(Limits::CLAUDE),
            session: None,
            looked_at: 0,
            watched: Watched::default(),
        }
    }

    /// The session that it pushes into.
    pub(crate) fn client(&self) -> &C {
        &self.client
    }

    /// Another mailbox, from now on.
    pub(crate) fn set_mailbox(&mut self, mailbox: MemberName) {
        self.mailbox = mailbox;
    }

    /// Whether another process pushes into this session.
    pub(crate) fn has_another(&mut self) -> Result<bool, OfficeError> {
        let Some(SessionState { session, .. }) = self.client.session() else { return Ok(false) };
        let inbox = self.office.mailbox(&sessions::team_name(), &self.mailbox);
        let record = Record::read(&SessionNote::of(&inbox, &session, &self.office.state))?;
        let pusher = record.and_then(|record| record.pusher).filter(|pusher| *pusher != self.process);
        Ok(pusher.is_some_and(|pusher| self.office.is_alive(&pusher)))
    }

    /// One pass.
    pub(crate) fn pass(&mut self) -> Result<Passed, OfficeError> {
        let Some(state) = self.client.session() else { return Ok(Passed::Over) };
        let session = state.session.clone();
        let office = self.office.clone();
        let team = office.team(&sessions::team_name())?;
        self.follow(&team, &session)?;
        office.complete_for_hook(team.name(), &self.mailbox);
        let transcript = office.registered_session(&session).and_then(|it| office.transcript_of_session(&it));
        let inbox = team.mailbox(&self.mailbox);
        let note = SessionNote::of(&inbox, &session, &office.state);
        let is_open = Record::read(&note)?.is_some_and(|record| !record.pushed.is_empty());
        let length = transcript.as_ref().map_or(0, |transcript| transcript.length);
        if is_open && length != self.looked_at {
            team.catch_up()?;
            self.looked_at = length;
        }
        let turn = inbox.turn()?;
        let mut record = Record::read(&note)?.unwrap_or_default();
        // Kept before anything else is done: a client says it once.
        if record.hear(self.client.receipts(Duration::ZERO)) {
            record.write(&note)?;
        }
        let before = record.clone();
        let moment = self.moment(&state, transcript.as_ref(), &record);
        if moment.doing == Doing::Nothing {
            record.spent = 0;
        }
        if !record.pusher.as_ref().is_some_and(|pusher| office.is_alive(pusher)) {
            record.pusher = Some(self.process.clone());
        }
        let messages = unread(&inbox)?;
        let read = self.settle(&team, &inbox, &mut record, &messages, &moment)?;
        let withheld = office.withheld(&self.mailbox, &session)?;
        let channels = Channels::of(&record);
        let waiting: Vec<(&Message, String, u32)> = messages
            .iter()
            .map(|message| (message, receipt(message)))
            .filter(|(message, receipt)| {
                channels.may_push(receipt, is_pushable(message))
                    && !read.contains(receipt)
                    && !withheld.has(message, receipt)
            })
            .map(|(message, receipt)| {
                let lost = channels.times_lost(&receipt);
                (message, receipt, lost)
            })
            .collect();
        let shown: Vec<(String, String)> = waiting.iter().map(|(message, ..)| heading(message)).collect();
        let letters: Vec<Waiting> = waiting
            .iter()
            .zip(&shown)
            .map(|((message, _, lost), (from, at))| {
                let wants_ack = message.ack_id().is_some();
                Waiting {
                    words: Words { id: &message.id, from, at, wants_ack, text: &message.text },
                    lost: *lost,
                }
            })
            .collect();
        let under = Under {
            frames: record.pushed.len(),
            bytes: record.spent + record.pushed.iter().map(|frame| frame.bytes).sum::<usize>(),
            last_at: record.pushed.iter().map(|frame| frame.at).max().unwrap_or_default(),
        };
        let (text, count) = match next(&letters, &under, &self.pace, &moment, self.budget) {
            Next::Wait(until) => {
                if record != before {
                    record.write(&note)?;
                }
                return Ok(Passed::Until(until));
            }
            Next::Push { text, count } => (text, count),
        };
        let frame = PushedFrame {
            frame: fresh_id().to_string(),
            at: moment.now,
            bytes: text.len(),
            ids: waiting[..count].iter().map(|(message, ..)| message.id.clone()).collect(),
            receipts: waiting[..count].iter().map(|(_, receipt, _)| receipt.clone()).collect(),
            client: Some(self.client.process()),
            ..PushedFrame::default()
        };
        let id = frame.frame.clone();
        let listed = Frame { frame: id.clone(), session: session.clone(), messages: frame.ids.clone() };
        // Recorded first: whatever the conversation shows later is known.
        let evidence = Evidence::certain(format!("put into frame {id} for session {session}")).by("atm mcp");
        let key = team.inbox_key(&self.mailbox);
        office.books.with(|ledger| ledger.push(&key, &listed, &evidence, moment.now))?;
        record.pushed.push(frame);
        record.signature = None;
        record.write(&note)?;
        drop(turn);
        self.pace.send(moment.now);
        if let Err(error) = self.client.give(&id, &session, &text) {
            return self.take_back(&team, &note, &listed, &error);
        }
        self.pace.succeed();
        Ok(Passed::Given)
    }

    fn moment(&mut self, state: &SessionState, transcript: Option<&Transcript>, record: &Record) -> Moment {
        let now = self.office.now().as_millis();
        let is_quiet = || transcript.is_none_or(|it| now.saturating_sub(it.changed_at) > QUIET_MS);
        let (doing, said) = match state.doing {
            Some(doing) => (doing, state.since),
            None if record.rests || is_quiet() => (Doing::Nothing, transcript.map(|it| it.changed_at)),
            None => (Doing::Turn, None),
        };
        let since = self.watched.look(now, doing, said);
        let asked_at =
            (!record.pushed.is_empty()).then(|| transcript.and_then(Transcript::last_asked)).flatten();
        Moment { now, doing, since, asked_at }
    }

    /// Marks what is shown, frees what is lost, and records what the client says of the rest. Gives the receipts of what it
    /// marked as read.
    fn settle(
        &mut self,
        team: &Team<'_>,
        inbox: &Mailbox,
        record: &mut Record,
        messages: &[Message],
        moment: &Moment,
    ) -> Result<HashSet<String>, OfficeError> {
        if team.note_heard(&self.mailbox, record, messages)? {
            self.pace.back_off(moment.now);
        }
        let office = &self.office;
        let read = record.settle(|frame| team.is_shown(frame), |frame| office.has_client(frame), moment);
        team.mark_shown_in_frames(&self.mailbox, inbox, messages, &read)?;
        let unread: HashSet<String> = messages.iter().filter(|message| !message.read).map(receipt).collect();
        record.lost.retain(|letter, _| unread.contains(letter) && !read.contains(letter));
        record.denied.retain(|letter| unread.contains(letter));
        Ok(read)
    }

    /// The client did not get a frame: its letters are free, for the hooks, and tried less and less often.
    fn take_back(
        &mut self,
        team: &Team<'_>,
        note: &SessionNote,
        listed: &Frame,
        error: &SocketError,
    ) -> Result<Passed, OfficeError> {
        let _turn = team.mailbox(&self.mailbox).turn()?;
        let mut record = Record::read(note)?.unwrap_or_default();
        if let Some(place) = record.pushed.iter().position(|frame| frame.frame == listed.frame) {
            let frame = record.pushed.remove(place);
            record.lose(frame);
        }
        record.write(note)?;
        let evidence = Evidence::certain(format!("not given to the client: {error}")).by("atm mcp");
        let (now, key) = (self.office.now().as_millis(), team.inbox_key(&self.mailbox));
        self.office.books.with(|ledger| ledger.push(&key, listed, &evidence, now))?;
        self.pace.fail(now);
        Ok(Passed::Until(Some(self.pace.next())))
    }

    /// Hears what the client says at once of what it was given, for a process that is about to end: nobody hears it later.
    pub(crate) fn listen(&mut self) -> Result<(), OfficeError> {
        let heard = self.client.receipts(AT_ONCE);
        let Some(session) = self.session.clone().filter(|_| !heard.is_empty()) else { return Ok(()) };
        let team = self.office.team(&sessions::team_name())?;
        let inbox = team.mailbox(&self.mailbox);
        let note = SessionNote::of(&inbox, &session, &self.office.state);
        let _turn = inbox.turn()?;
        let Some(mut record) = Record::read(&note)? else { return Ok(()) };
        if !record.hear(heard) {
            return Ok(());
        }
        record.write(&note)?;
        team.note_heard(&self.mailbox, &mut record, &unread(&inbox)?)?;
        record.write(&note)
    }

    /// After `/clear` it is another conversation: what the one before it does not show is free again.
    fn follow(&mut self, team: &Team<'_>, session: &str) -> Result<(), OfficeError> {
        if self.session.as_deref() == Some(session) {
            return Ok(());
        }
        if let Some(before) = &self.session {
            team.close_conversation(&self.mailbox, before)?;
        }
        self.session = Some(session.to_owned());
        self.looked_at = 0;
        Ok(())
    }
}

/// A conversation that nothing was added to for so long is at rest, where its client does not say what it does.
const QUIET_MS: i64 = 3_000;

/// Whom a message is from, and when it was sent, as a frame says it.
fn heading(message: &Message) -> (String, String) {
    let name = visible::name(&message.from);
    let from = match message.ours().origin {
        Some(team) => format!("{name}@{}", visible::name(&team)),
        None => name.into_owned(),
    };
    // To the minute: the day is the reader's own, most often. What is no time is its writer's words, and not repeated.
    let at = message.sent_at.map(|at| at.to_string());
    let minute = at.as_deref().and_then(|at| at.get(11..16)).map(|minute| format!("{minute}Z"));
    (from, minute.unwrap_or_else(|| "an unknown time".to_owned()))
}

#[cfg(test)]
mod tests;
