//! One pass of pushing: what is shown is marked, what is lost is free again, and the next frame is given.

use std::collections::HashSet;

use atm_clients::claude::socket::{Receipt, SocketError, Status};
use atm_ledger::{Evidence, Frame, Handover, Stage};
use atm_store::{Mailbox, Receipt as MailReceipt, SessionNote, fresh_id};
use atm_wire::{MemberName, Message, visible};

use super::channel::{Channels, is_pushable};
use super::fate::{Doing, Moment};
use super::pace::{Limits, Pace};
use super::plan::{Next, Under, Waiting, next};
use super::text::Words;
use crate::error::OfficeError;
use crate::mail::hook::{Process, PushedFrame, Record, receipt};
use crate::office::Office;
use crate::sessions;
use crate::team::Team;
use crate::trail::effects;
use crate::trail::look::{READ, UNREAD, in_inbox};
use crate::trail::transcript::Transcript;

/// A client's session, as it is pushed to. Tests have one of their own.
pub(crate) trait Client {
    /// Its process.
    fn process(&self) -> Process;

    /// The present conversation, and what it does; nothing if the session is over. Where the client does not say what it
    /// does, its conversation is asked.
    fn session(&mut self) -> Option<(String, Option<Doing>)>;

    /// Gives a frame to it.
    fn give(&mut self, frame: &str, session: &str, text: &str) -> Result<(), SocketError>;

    /// What it says of earlier frames.
    fn receipts(&mut self) -> Vec<Receipt>;
}

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
}

/// What a pass came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Passed {
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
        let Some((session, _)) = self.client.session() else { return Ok(false) };
        let inbox = self.office.mailbox(&sessions::team_name(), &self.mailbox);
        let record = Record::read(&SessionNote::of(&inbox, &session, &self.office.state))?;
        let pusher = record.and_then(|record| record.pusher).filter(|pusher| *pusher != self.process);
        Ok(pusher.is_some_and(|pusher| self.office.is_alive(&pusher)))
    }

    /// One pass.
    pub(crate) fn pass(&mut self) -> Result<Passed, OfficeError> {
        let Some((session, doing)) = self.client.session() else { return Ok(Passed::Over) };
        if self.session.as_ref() != Some(&session) {
            // After `/clear` it is another conversation: what was on its way to the old one is free again.
            if let Some(before) = self.session.replace(session.clone()) {
                self.forget(&before)?;
            }
            self.looked_at = 0;
        }
        let office = self.office.clone();
        let team = office.team(&sessions::team_name())?;
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
        if record.hear(self.client.receipts()) {
            record.write(&note)?;
        }
        let before = record.clone();
        let moment = self.moment(doing, transcript.as_ref(), &record);
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
        Ok(Passed::Until(Some(moment.now)))
    }

    fn moment(&self, doing: Option<Doing>, transcript: Option<&Transcript>, record: &Record) -> Moment {
        let now = self.office.now().as_millis();
        let is_quiet = || transcript.is_none_or(|it| now.saturating_sub(it.changed_at) > QUIET_MS);
        let doing =
            doing.unwrap_or_else(|| if record.rests || is_quiet() { Doing::Nothing } else { Doing::Turn });
        let asked_at =
            (!record.pushed.is_empty()).then(|| transcript.and_then(Transcript::last_asked)).flatten();
        Moment { now, doing, asked_at }
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
        for frame in &mut record.pushed {
            let Some(said) = frame.said.clone().filter(|_| !frame.is_noted) else { continue };
            self.note_receipt(team, frame, &said, messages)?;
            frame.is_noted = true;
            if matches!(said, Status::Dropped(_)) {
                self.pace.back_off(moment.now);
            }
        }
        let office = &self.office;
        let read = record.settle(|frame| team.is_shown(frame), |frame| office.has_client(frame), moment);
        let seen: Vec<&Message> =
            messages.iter().filter(|message| read.contains(&receipt(message))).collect();
        if !seen.is_empty() {
            inbox.mark_read(&seen.iter().map(|message| MailReceipt::of(message)).collect())?;
            let marked = Evidence::certain("marked as read: it is in the conversation");
            let marked = marked.by(self.mailbox.as_str()).changed(UNREAD, READ).in_file(inbox.file());
            self.note_stage(team, &seen, (Stage::Taken, marked))?;
        }
        let unread: HashSet<String> = messages.iter().filter(|message| !message.read).map(receipt).collect();
        record.lost.retain(|letter, _| unread.contains(letter) && !read.contains(letter));
        record.denied.retain(|letter| unread.contains(letter));
        Ok(read)
    }

    /// The client's own receipt, as evidence: on `held` where its user has to act, else beside the frame.
    fn note_receipt(
        &self,
        team: &Team<'_>,
        frame: &PushedFrame,
        said: &Status,
        messages: &[Message],
    ) -> Result<(), OfficeError> {
        let what = match said {
            Status::Held => "the client holds it: its user has to decide (its receipt: held)".to_owned(),
            Status::Denied => "the client's user did not let it in (its receipt: denied)".to_owned(),
            Status::Delivered => "the client's user let it in (its receipt: delivered)".to_owned(),
            Status::Expired => {
                "nobody decided on it, or the session takes none (the client's receipt: expired)".to_owned()
            }
            Status::Dropped(why) => {
                format!("dropped by the client (its receipt: {})", visible::line(why))
            }
        };
        let evidence = Evidence::certain(what).by(super::CLIENT);
        if matches!(said, Status::Held | Status::Denied) {
            let inside: Vec<&Message> =
                messages.iter().filter(|message| frame.ids.contains(&message.id)).collect();
            return self.note_stage(team, &inside, (Stage::Held, evidence));
        }
        let now = self.office.now().as_millis();
        let listed =
            Frame { frame: frame.frame.clone(), session: String::new(), messages: frame.ids.clone() };
        let key = team.inbox_key(&self.mailbox);
        Ok(self.office.books.with(|ledger| ledger.push(&key, &listed, &evidence, now))?)
    }

    fn note_stage(
        &self,
        team: &Team<'_>,
        messages: &[&Message],
        stage: (Stage, Evidence),
    ) -> Result<(), OfficeError> {
        let (key, file) = (team.inbox_key(&self.mailbox), team.mailbox(&self.mailbox).file());
        let found = in_inbox(&file);
        let now = self.office.now().as_millis();
        let handover = Handover { found: &found, stages: &[stage], at: now };
        let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
        let new = |place: usize| effects::noticed(messages[place], now);
        Ok(self.office.books.with(|ledger| ledger.hand_over(&key, &ids, &handover, new))?)
    }

    /// The client did not get a frame: its letters are free, for the hooks.
    fn take_back(
        &mut self,
        team: &Team<'_>,
        note: &SessionNote,
        listed: &Frame,
        error: &SocketError,
    ) -> Result<Passed, OfficeError> {
        let _turn = team.mailbox(&self.mailbox).turn()?;
        let mut record = Record::read(note)?.unwrap_or_default();
        record.pushed.retain(|frame| frame.frame != listed.frame);
        record.write(note)?;
        let evidence = Evidence::certain(format!("not given to the client: {error}")).by("atm mcp");
        let (now, key) = (self.office.now().as_millis(), team.inbox_key(&self.mailbox));
        self.office.books.with(|ledger| ledger.push(&key, listed, &evidence, now))?;
        self.pace.back_off(now);
        Ok(Passed::Until(Some(self.pace.next())))
    }

    /// Nothing is on its way to a conversation any more.
    fn forget(&self, session: &str) -> Result<(), OfficeError> {
        let inbox = self.office.mailbox(&sessions::team_name(), &self.mailbox);
        let _turn = inbox.turn()?;
        let note = SessionNote::of(&inbox, session, &self.office.state);
        if let Some(mut record) = Record::read(&note)?.filter(|record| !record.pushed.is_empty()) {
            record.pushed.clear();
            record.write(&note)?;
        }
        Ok(())
    }
}

/// A conversation that nothing was added to for so long is at rest, where its client does not say what it does.
const QUIET_MS: i64 = 3_000;

fn unread(inbox: &Mailbox) -> Result<Vec<Message>, OfficeError> {
    let mut messages = inbox.list()?.messages;
    messages.retain(|message| !message.read);
    Ok(messages)
}

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
