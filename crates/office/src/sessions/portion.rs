//! Which mail of a folder a session may read when it asks for its mail: what a hook could offer it, and what a hook has.
//!
//! A person who looks after a folder's mail without a session may read all of it.

use std::collections::HashSet;

use atm_clients::claude::socket::Status;
use atm_store::{Mailbox, SessionNote};
use atm_wire::{MemberName, Message};

use crate::error::OfficeError;
use crate::mail::hook::{Record, Withheld, receipt};
use crate::mail::push::{Channels, is_pushable};
use crate::office::Office;
use crate::team::Team;

/// What a session has of the mail of a folder.
#[derive(Debug)]
pub(crate) struct Portion {
    withheld: Withheld,
    /// The note on its own conversation, with the frames that its client has.
    own: Record,
}

/// What of it a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// The session may read it.
    Own,
    /// It comes into the session's conversation by itself.
    OnItsWay,
    /// It is another session's now, or the session's user has it held or denied.
    No,
}

/// A portion, as it is asked of many messages.
#[derive(Debug)]
pub(crate) struct Shares<'a> {
    portion: &'a Portion,
    channels: Channels<'a>,
    pushed: HashSet<&'a str>,
    /// Nothing comes before the session's user has decided.
    waits_for_its_user: bool,
}

impl Portion {
    pub(crate) fn shares(&self) -> Shares<'_> {
        let frames = &self.own.pushed;
        Shares {
            portion: self,
            channels: Channels::of(&self.own),
            pushed: frames.iter().flat_map(|frame| &frame.receipts).map(String::as_str).collect(),
            waits_for_its_user: frames.iter().any(|frame| frame.said == Some(Status::Held)),
        }
    }
}

impl Shares<'_> {
    /// What of it a message is.
    pub(crate) fn of(&self, message: &Message) -> Share {
        let (receipt, is_pushable) = (receipt(message), is_pushable(message));
        if self.portion.withheld.has(message, &receipt) {
            return Share::No;
        }
        if self.channels.may_read(&receipt, is_pushable) {
            return Share::Own;
        }
        let comes = self.pushed.contains(receipt.as_str())
            || self.channels.comes_after_a_frame(&receipt, is_pushable);
        if comes && !self.waits_for_its_user { Share::OnItsWay } else { Share::No }
    }
}

impl Office {
    /// What a session has of the mail of a folder.
    fn portion(&self, mailbox: &MemberName, session: &str) -> Result<Portion, OfficeError> {
        let inbox = self.mailbox(&super::team_name(), mailbox);
        let note = SessionNote::of(&inbox, session, &self.state);
        let mut own = Record::read(&note)?.unwrap_or_default();
        // Those of a client that has ended are free.
        own.pushed.retain(|frame| self.has_client(frame));
        Ok(Portion { withheld: self.withheld(mailbox, session)?, own })
    }
}

impl Team<'_> {
    /// What the session that asks has of somebody's mail; nothing where all of it is the reader's.
    pub(crate) fn portion(&self, who: &MemberName) -> Result<Option<Portion>, OfficeError> {
        let session = self.session().filter(|_| super::is_team(self.name()));
        session.map(|session| self.office().portion(who, session)).transpose()
    }

    /// The same for a session that is about to take its mail, and has the turn: what no process looks after is settled before.
    pub(crate) fn portion_to_take(
        &self,
        who: &MemberName,
        mailbox: &Mailbox,
    ) -> Result<Option<Portion>, OfficeError> {
        if let Some(session) = self.session().filter(|_| super::is_team(self.name())) {
            let note = SessionNote::of(mailbox, session, &self.office().state);
            if let Some(before) = Record::read(&note)?.filter(|record| !record.pushed.is_empty()) {
                let mut record = before.clone();
                self.take_over_frames(who, session, mailbox, &mut record)?;
                if record != before {
                    record.write(&note)?;
                }
            }
        }
        self.portion(who)
    }
}

#[cfg(test)]
mod tests;
