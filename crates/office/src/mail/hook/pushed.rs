//! Mail that was pushed into the conversation: offered to one channel at a time, so hooks leave it alone while it is on its way.

use atm_clients::claude::socket::Status;
use atm_store::{Mailbox, SessionNote};
use atm_wire::MemberName;
use serde::{Deserialize, Serialize};

use super::{Record, receipt};
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
    /// What the client said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<Status>,
    /// Whether the ledger has what it said.
    pub(crate) is_noted: bool,
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
    /// A conversation begins, or is taken up again, that mail can be pushed into: what an earlier process left is settled, and
    /// nothing is before the model.
    pub(crate) fn leave_to_push(&self, who: &MemberName, session: &str) -> Result<(), OfficeError> {
        let mailbox = self.known_mailbox(who)?;
        let note = SessionNote::of(&mailbox, session, &self.office().state);
        let _turn = mailbox.turn()?;
        let Some(mut record) = Record::read(&note)? else { return Ok(()) };
        self.take_over_frames(who, session, &mailbox, &mut record)?;
        record.presented.clear();
        record.signature = None;
        record.write(&note)
    }

    /// Frames that no process looks after: what of them is in the conversation is marked as read, and what is lost is new again.
    /// The client may still have the rest, whichever process gave it.
    pub(super) fn take_over_frames(
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
            asked_at: transcript.as_ref().and_then(Transcript::last_asked),
        };
        let shown = record.settle(|frame| self.is_shown(frame), |frame| office.has_client(frame), &moment);
        record.pusher = None;
        if shown.is_empty() {
            return Ok(());
        }
        let mut messages = mailbox.list()?.messages;
        messages.retain(|message| shown.contains(&receipt(message)));
        // Warnings are about entries that are not ours to mend here.
        office.mark_presented(self.name(), (who, session), mailbox, &messages).map(drop)
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
