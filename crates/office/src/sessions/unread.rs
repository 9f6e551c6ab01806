//! How much unread mail of a folder each of its sessions may take.

use std::collections::HashSet;

use atm_wire::{MemberName, Message};

use super::list::{Live, Takes};
use super::take::is_for_another;
use crate::error::OfficeError;
use crate::mail::digest::Digest;
use crate::office::Office;

/// What is unread in a folder's mailbox, by the session that each message names, if that one runs.
#[derive(Debug, Default)]
pub(super) struct UnreadOf {
    named: Vec<Option<String>>,
}

impl UnreadOf {
    pub(super) fn folder(
        office: &Office,
        mailbox: Option<&MemberName>,
        running: &[Live],
    ) -> Result<Self, OfficeError> {
        let Some(name) = mailbox else { return Ok(Self::default()) };
        let mailbox = office.mailbox(&super::team_name(), name);
        // Most inboxes have nothing unread, which is remembered of them.
        if Digest::of(&mailbox)?.unread == 0 {
            return Ok(Self::default());
        }
        let able = running.iter().filter(|live| live.takes != Takes::Nothing);
        let running: HashSet<String> = able.map(|live| live.id.clone()).collect();
        let whose =
            |message: &Message| is_for_another(message, &running).then(|| message.ours().session).flatten();
        let messages = mailbox.list()?.messages;
        Ok(Self { named: messages.iter().filter(|message| !message.read).map(whose).collect() })
    }

    /// What the next session of the folder may take.
    pub(super) fn for_next(&self) -> usize {
        self.named.iter().filter(|named| named.is_none()).count()
    }

    /// What a session may take that works there.
    pub(super) fn for_session(&self, live: &Live) -> usize {
        let own = self.named.iter().flatten().filter(|named| **named == live.id).count();
        if live.takes == Takes::All { own + self.for_next() } else { own }
    }
}
