//! Shutdown requests from before a member was started must not end the newcomer.

use std::collections::HashSet;
use std::path::PathBuf;

use atm_ledger::{Evidence, Stage};
use atm_store::Receipt;
use atm_wire::{MemberName, Message, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::office::Office;
use crate::protocol::shutdown::REQUEST;

/// A message that was taken out of the unread mail, and where it is kept.
#[derive(Debug, Clone, Serialize)]
pub struct SetAside {
    /// The message.
    pub id: String,
    /// The request that it made.
    pub request: Option<String>,
    /// When it was sent.
    pub timestamp: String,
    /// The file with the entry as it stood.
    pub kept: PathBuf,
}

impl Office {
    /// Takes unread shutdown requests that are older than `spawned_at` out of a member's mail. The entries are kept in
    /// quarantine, the ledger has them as expired, and nobody can decide them any more.
    ///
    /// To be called before a member is started again. Doing it twice changes nothing.
    pub fn set_aside_stale_shutdowns(
        &self,
        team: &TeamName,
        name: &MemberName,
        spawned_at: Stamp,
    ) -> Result<Vec<SetAside>, OfficeError> {
        self.look(team)?;
        let mailbox = self.mailbox(team, name);
        let is_stale = |message: &Message| {
            !message.read && message.sent_at.is_none_or(|at| at < spawned_at) && message.kind() == REQUEST
        };
        let stale: Vec<Message> = mailbox.list()?.messages.into_iter().filter(is_stale).collect();
        if stale.is_empty() {
            return Ok(Vec::new());
        }
        // First the ledger: what is recorded as expired is not put back when it is gone from the file. After a crash in
        // between, the entry is found again.
        let inbox = self.inbox_key(team, name);
        let now = self.now().as_millis();
        let why = format!("set aside: a shutdown request from before {name} was started at {spawned_at}");
        let evidence = Evidence::certain(why).in_file(mailbox.file());
        self.books.with(|ledger| {
            stale.iter().try_for_each(|m| ledger.advance(&inbox, &m.id, Stage::Expired, now, &evidence))
        })?;
        let receipts: HashSet<Receipt> = stale.iter().map(Receipt::of).collect();
        let kept = mailbox.set_aside(&receipts, "stale-shutdown")?;
        Ok(stale
            .into_iter()
            .map(|message| SetAside {
                request: message.request_id_of(&message.content()),
                timestamp: message.timestamp.clone(),
                kept: kept.clone(),
                id: message.id,
            })
            .collect())
    }
}
