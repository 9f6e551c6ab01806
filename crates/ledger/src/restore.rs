//! Messages that were undone by another program, on their way back.

use rusqlite::params;

use crate::error::LedgerError;
use crate::log::append::append;
use crate::log::event::{Kind, NewEvent};
use crate::open::Ledger;
use crate::record::{draft_of, find_message};
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

impl Ledger {
    /// How often a message was put back.
    pub fn times_restored(&self, inbox: &InboxKey, id: &str) -> Result<usize, LedgerError> {
        self.read(|view| match find_message(view, inbox, id)? {
            Some(message) => times_restored(view.index, message),
            None => Ok(0),
        })
    }

    /// All that it takes to put a message back, if it was put back so many times and nobody took it since: another
    /// process may have seen, and done, the same.
    pub fn draft_to_restore(
        &self,
        inbox: &InboxKey,
        id: &str,
        times: usize,
    ) -> Result<Option<String>, LedgerError> {
        self.read(|view| {
            let Some(message) = find_message(view, inbox, id)? else { return Ok(None) };
            let is_open = view
                .index
                .prepare_cached("SELECT 1 FROM messages WHERE seq = ?1 AND open = 1 AND rank < ?2")?
                .exists(params![message, Stage::Taken.rank()])?;
            if !is_open || times_restored(view.index, message)? != times {
                return Ok(None);
            }
            draft_of(view, message)
        })
    }

    /// These are in the inbox again, behind those that `witnesses` names, if that is known.
    pub fn restored(
        &mut self,
        inbox: &InboxKey,
        ids: &[String],
        now: i64,
        evidence: &Evidence,
        witnesses: Option<&str>,
    ) -> Result<(), LedgerError> {
        let evidence = evidence.to_json();
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            for id in ids {
                let restored = NewEvent::of(Kind::Restored, now, key, id).evidence(&evidence);
                append(log, &restored.body(witnesses))?;
            }
            Ok(())
        })
    }
}

fn times_restored(index: &Connection, message: i64) -> rusqlite::Result<usize> {
    index
        .prepare_cached("SELECT count(*) FROM stages WHERE message = ?1 AND rank = ?2")?
        .query_row(params![message, Stage::Restored.rank()], |row| row.get::<_, i64>(0))
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}
