//! Reading one's own mail: it is handed out first and marked as read after that, never the other way round.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use atm_store::mailbox::Turn;
use atm_store::watch::FolderWatch;
use atm_store::{Mailbox, Receipt};
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::view::MessageView;

/// Mail that is handed out. Until [`Reading::confirm`] it stays unread: whoever dies in between finds it again.
///
/// While it lives, other readers of the same inbox wait; writers do not.
#[derive(Debug)]
pub struct Reading {
    messages: Vec<MessageView>,
    warnings: Vec<String>,
    receipts: HashSet<Receipt>,
    mailbox: Mailbox,
    _turn: Option<Turn>,
}

impl Reading {
    /// The unread messages, in reading order.
    pub fn messages(&self) -> &[MessageView] {
        &self.messages
    }

    /// What was passed over.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Marks as read what was handed out, and nothing else.
    pub fn confirm(self) -> Result<usize, OfficeError> {
        Ok(self.mailbox.mark_read(&self.receipts)?)
    }
}

impl Office {
    /// Hands out the first `limit` unread messages of `who`.
    pub fn begin_read(
        &self,
        team: &TeamName,
        who: &MemberName,
        limit: usize,
    ) -> Result<Reading, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        let turn = mailbox.turn()?;
        hand_out(team, who, limit, mailbox, Some(turn))
    }

    /// The same without marking anything, and without waiting for other readers.
    pub fn peek(&self, team: &TeamName, who: &MemberName, limit: usize) -> Result<Reading, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        hand_out(team, who, limit, mailbox, None)
    }

    /// Waits until `who` has unread mail, or `timeout` is over; says which. File events wake it, not polling.
    pub fn wait_for_mail(
        &self,
        team: &TeamName,
        who: &MemberName,
        timeout: Duration,
    ) -> Result<bool, OfficeError> {
        let mailbox = self.known_mailbox(team, who)?;
        let deadline = Instant::now() + timeout;
        let folder = mailbox.file().parent().map(ToOwned::to_owned);
        // The watch begins before the first look, so that nothing falls between them.
        let mut watch = FolderWatch::new(folder);
        let mut seen = None;
        loop {
            let state = mailbox.signature();
            if seen.as_ref() != Some(&state) {
                if mailbox.list()?.messages.iter().any(|message| !message.read) {
                    return Ok(true);
                }
                seen = Some(state);
            }
            if !watch.wait(Some(deadline)) {
                return Ok(false);
            }
        }
    }
}

fn hand_out(
    team: &TeamName,
    who: &MemberName,
    limit: usize,
    mailbox: Mailbox,
    turn: Option<Turn>,
) -> Result<Reading, OfficeError> {
    let listing = mailbox.list()?;
    let unread = listing.messages.iter().filter(|message| !message.read).take(limit);
    let (messages, receipts) =
        unread.map(|message| (MessageView::new(message, who, team), Receipt::of(message))).unzip();
    let warnings = listing.warnings.iter().map(ToString::to_string).collect();
    Ok(Reading { messages, warnings, receipts, mailbox, _turn: turn })
}
