//! Mail that was pushed into the conversation: offered to one channel at a time, so hooks leave it alone while it is on its way.

use std::collections::HashSet;

use atm_store::{Mailbox, SessionNote};
use atm_wire::MemberName;
use serde::{Deserialize, Serialize};

use super::{Record, receipt};
use crate::error::OfficeError;
use crate::team::Team;

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
}

impl Record {
    /// The receipts of what hooks must not offer: it is on its way, or the client's user did not let it in.
    pub(crate) fn in_another_channel(&self) -> HashSet<&str> {
        let pushed = self.pushed.iter().flat_map(|frame| &frame.receipts);
        pushed.chain(&self.denied).map(String::as_str).collect()
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
        self.take_over_frames(who, &mailbox, &mut record)?;
        record.presented.clear();
        record.signature = None;
        record.write(&note)
    }

    /// Frames of a process that has ended are nobody's: what of them is in the conversation is marked as read, the rest is new
    /// again.
    pub(super) fn take_over_frames(
        &self,
        who: &MemberName,
        mailbox: &Mailbox,
        record: &mut Record,
    ) -> Result<(), OfficeError> {
        let is_gone =
            |(pid, start): &(u64, String)| self.office().probe.started(*pid).is_none_or(|now| now != *start);
        if record.pushed.is_empty() || !record.pusher.as_ref().is_none_or(is_gone) {
            return Ok(());
        }
        // Without the ledger it is offered once more than it need be.
        let _ = self.catch_up();
        let frames = std::mem::take(&mut record.pushed);
        let shown = frames.into_iter().filter(|frame| self.is_shown(frame)).flat_map(|frame| frame.receipts);
        let shown: HashSet<String> = shown.collect();
        record.pusher = None;
        if shown.is_empty() {
            return Ok(());
        }
        let mut messages = mailbox.list()?.messages;
        messages.retain(|message| shown.contains(&receipt(message)));
        // Warnings are about entries that are not ours to mend here.
        self.office().mark_presented(self.name(), who, mailbox, &messages).map(drop)
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
