//! Mail that was pushed into the conversation: offered to one channel at a time, so hooks leave it alone while it is on its way.

use atm_clients::claude::socket::{REFUSED, Status};
use atm_store::{Mailbox, SessionNote};
use atm_wire::{MemberName, Message};
use serde::{Deserialize, Serialize};

use super::{FORGOTTEN_AFTER, Record, Remembers};
use crate::error::OfficeError;
use crate::mail::push::{Doing, Moment};
use crate::office::Office;
use crate::team::Team;
use crate::trail::transcript::Transcript;

/// A process: its number, and when it started in the system's words.
pub(crate) type Process = (u64, String);

/// A frame that was given to a client, and is not in its conversation yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PushedFrame {
    /// Its id, by which the ledger knows what is in it.
    pub(crate) frame: String,
    /// When it was given, in milliseconds since the epoch.
    pub(crate) at: i64,
    /// How long its text is.
    pub(crate) bytes: usize,
    /// The messages in it.
    pub(crate) ids: Vec<String>,
    /// Their receipts.
    pub(crate) receipts: Vec<String>,
    /// The client's process, which it was given to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<Process>,
    /// What the client said of it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<Status>,
    /// What it said that the ledger does not have yet, in its order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unnoted: Vec<Heard>,
}

/// A client's word for a frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) status: Status,
    /// The client's own reason.
    pub(crate) why: Option<String>,
}

impl Heard {
    /// Whether the session takes no frames at all, by its settings.
    pub(crate) fn is_refused(&self) -> bool {
        self.why.as_deref().is_some_and(|why| why.starts_with(REFUSED))
    }
}

/// The unread messages of an inbox.
pub(crate) fn unread(inbox: &Mailbox) -> Result<Vec<Message>, OfficeError> {
    let mut messages = inbox.list()?.messages;
    messages.retain(|message| !message.read);
    Ok(messages)
}

impl Office {
    /// Whether a process runs.
    pub(crate) fn is_alive(&self, (pid, start): &Process) -> bool {
        self.probe.started(*pid).is_some_and(|now| now == *start)
    }

    /// Whether the client that a frame was given to runs.
    pub(crate) fn has_client(&self, frame: &PushedFrame) -> bool {
        frame.client.as_ref().is_none_or(|client| self.is_alive(client))
    }
}

impl Team<'_> {
    /// A conversation begins, or is taken up again, that mail can be pushed into: nothing is told at its start.
    pub(crate) fn leave_to_push(
        &self,
        who: &MemberName,
        session: &str,
        remembers: Remembers,
    ) -> Result<(), OfficeError> {
        let mailbox = self.known_mailbox(who)?;
        let note = SessionNote::of(&mailbox, session, &self.office().state);
        note.forget_older(FORGOTTEN_AFTER);
        let _turn = mailbox.turn()?;
        let Some(mut record) = Record::read(&note)? else { return Ok(()) };
        self.take_up((who, session), &mailbox, &mut record, remembers)?;
        record.write(&note)
    }

    /// Frames that no process looks after: what of them is in the conversation is marked as read, and what is lost is new again.
    /// The client may still have the rest, whichever process gave it.
    pub(crate) fn take_over_frames(
        &self,
        who: &MemberName,
        session: &str,
        mailbox: &Mailbox,
        record: &mut Record,
    ) -> Result<(), OfficeError> {
        let office = self.office();
        if record.pushed.is_empty() || record.pusher.as_ref().is_some_and(|pusher| office.is_alive(pusher)) {
            return Ok(());
        }
        // Without the ledger it is offered once more than it need be.
        let _ = self.catch_up();
        let registered = office.registered_session(session);
        let transcript = registered.and_then(|known| office.transcript_of_session(&known));
        let moment = Moment {
            now: office.now().as_millis(),
            doing: if record.rests { Doing::Nothing } else { Doing::Turn },
            // A turn that has ended was added to until then.
            since: transcript.as_ref().map_or(i64::MIN, |transcript| transcript.changed_at),
            asked_at: transcript.as_ref().and_then(Transcript::last_asked),
        };
        let messages = unread(mailbox)?;
        self.note_heard(who, record, &messages)?;
        let shown = record.settle(|frame| self.is_shown(frame), |frame| office.has_client(frame), &moment);
        record.pusher = None;
        self.mark_shown_in_frames(who, mailbox, &messages, &shown)
    }

    /// A conversation is over, or another one is in its place: what it shows of its frames is marked as read, and the rest is free.
    pub(crate) fn close_conversation(&self, who: &MemberName, session: &str) -> Result<(), OfficeError> {
        let office = self.office();
        let mailbox = self.mailbox(who);
        let note = SessionNote::of(&mailbox, session, &office.state);
        let has_frames = |record: &Record| !record.pushed.is_empty();
        if !Record::read(&note)?.is_some_and(|record| has_frames(&record)) {
            return Ok(());
        }
        // What it showed at its end, nobody has looked for yet.
        self.catch_up()?;
        let _turn = mailbox.turn()?;
        let Some(mut record) = Record::read(&note)?.filter(has_frames) else { return Ok(()) };
        let messages = unread(&mailbox)?;
        self.note_heard(who, &mut record, &messages)?;
        let moment =
            Moment { now: office.now().as_millis(), doing: Doing::Nothing, since: i64::MIN, asked_at: None };
        let shown = record.settle(|frame| self.is_shown(frame), |_| false, &moment);
        self.mark_shown_in_frames(who, &mailbox, &messages, &shown)?;
        record.write(&note)
    }

    /// Whether a frame is in the conversation: its entry proves all that is in it.
    pub(crate) fn is_shown(&self, frame: &PushedFrame) -> bool {
        let seen = |id: &String| {
            let recorded = self.office().recorded(Some(self.name()), id);
            recorded.is_ok_and(|recorded| recorded.stage >= atm_ledger::Stage::Seen)
        };
        frame.ids.iter().all(seen)
    }
}
