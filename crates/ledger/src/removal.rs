//! What we take out of an inbox ourselves.
//!
//! It is recorded before it is done, so that the next look at the inbox knows why a message is not there: nobody took it,
//! and nobody undid it. A record of something that did not happen does no harm: as long as the message is there, the
//! record means nothing, and after a while it is forgotten.

use std::time::SystemTime;

use crate::arrivals::{stop_waiting, waiting_numbers};
use crate::error::LedgerError;
use crate::log::append::append;
use crate::log::event::{Kind, NewEvent};
use crate::open::Ledger;
use crate::record::find_message;
use crate::row::InboxKey;
use crate::stage::Evidence;

/// Milliseconds since the epoch, by the machine's clock.
fn millis_now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Ledger {
    /// We are about to take these out of an inbox. Ids that the ledger does not know are passed over.
    pub fn removing(&mut self, inbox: &InboxKey, ids: &[&str], now: i64) -> Result<(), LedgerError> {
        self.note_all(inbox, ids, Kind::Removing, now)
    }

    /// The sender is about to take this out of an inbox.
    pub fn recalling(&mut self, inbox: &InboxKey, id: &str, now: i64) -> Result<(), LedgerError> {
        self.note_all(inbox, &[id], Kind::Recalling, now)
    }

    /// Their sender took these back: they are not in the inbox, and what waited for being written waits no more. It has
    /// to be the caller's turn in the inbox's queue, unless the file was looked at after it was somebody else's.
    pub fn recalled(
        &mut self,
        inbox: &InboxKey,
        ids: &[String],
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        self.end_all(inbox, ids.iter().map(String::as_str), Kind::Recalled, now, evidence)
    }

    /// Records what was the end of messages: what waited for being written waits no more. All of it at once.
    pub(crate) fn end_all<'i>(
        &mut self,
        inbox: &InboxKey,
        ids: impl Iterator<Item = &'i str>,
        kind: Kind,
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let evidence = evidence.to_json();
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            let waiting = waiting_numbers(log, key)?;
            for id in ids {
                append(log, &NewEvent::of(kind, now, key, id).evidence(&evidence))?;
                if let Some(number) = waiting.get(id) {
                    stop_waiting(log, *number)?;
                }
            }
            Ok(())
        })
    }

    /// Whether a message is accepted for an inbox and not written yet.
    pub fn is_waiting(&self, inbox: &InboxKey, id: &str) -> Result<bool, LedgerError> {
        let query = || match inbox.key(&self.log.db)? {
            Some(key) => Ok(waiting_numbers(&self.log.db, key)?.contains_key(id)),
            None => Ok(false),
        };
        query().map_err(|source| self.failed(source))
    }

    /// These are in the inbox after all.
    pub fn not_removed(&mut self, inbox: &InboxKey, ids: &[&str]) -> Result<(), LedgerError> {
        self.note_all(inbox, ids, Kind::Kept, millis_now())
    }

    fn note_all(&mut self, inbox: &InboxKey, ids: &[&str], kind: Kind, now: i64) -> Result<(), LedgerError> {
        let known = self.read(|view| {
            let mut known = Vec::new();
            for id in ids {
                if find_message(view, inbox, id)?.is_some() {
                    known.push(*id);
                }
            }
            Ok(known)
        })?;
        if known.is_empty() {
            return Ok(());
        }
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            known.iter().try_for_each(|id| append(log, &NewEvent::of(kind, now, key, id)).map(drop))
        })
    }
}
