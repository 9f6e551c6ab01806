//! Which of the teams that had a name, one after the other, has it now.
//!
//! What the log keeps about the present of a team (what its inboxes looked like, facts, steps of chores) belongs to the
//! one that has the name, and is forgotten when another one gets it. Events stay, and so do the messages of the former.

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::log::append::{append, find_or_make_root, root_id};
use crate::log::event::{Incarnation, Key, Kind, NewEvent, RootId};
use crate::open::Ledger;
use crate::proofs::CLOSED;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::Evidence;

/// What the ledger knows of the team that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    /// It is the one that was created at that time.
    Same,
    /// None is on record, or one whose time of creation is not, and that is not known to be gone.
    Unknown,
    /// It is another one, or one that is gone.
    Other,
}

impl Ledger {
    /// Whether the team that is on record under a name is the one that was created at a time.
    pub fn bearer(&self, root: &str, team: &str, created: i64) -> Result<Bearer, LedgerError> {
        let query = || {
            let Some(root) = root_id(&self.log.db, root)? else { return Ok(Bearer::Unknown) };
            Ok(match recorded(&self.log.db, root, team)? {
                Some(recorded) if recorded == created => Bearer::Same,
                Some(_) => Bearer::Other,
                None if is_closed(&self.log.db, root, team)? => Bearer::Other,
                None => Bearer::Unknown,
            })
        };
        query().map_err(|source| self.failed(source))
    }

    /// The team of that name is the one that was created at a time. If another one had the name, all that is kept about
    /// that one's present is forgotten; `is_first` says that what is on record without a time of creation is this one's.
    pub fn begin_team(
        &mut self,
        root: &str,
        team: &str,
        created: i64,
        is_first: bool,
    ) -> Result<(), LedgerError> {
        self.append(|log| {
            let root = find_or_make_root(log, root)?;
            let before = recorded(log, root, team)?;
            if before == Some(created) {
                return Ok(());
            }
            if before.is_none() && is_first {
                return log
                    .prepare_cached(
                        "INSERT INTO teams (root, team, incarnation, created) VALUES (?1, ?2, 0, ?3)
                         ON CONFLICT (root, team) DO UPDATE SET created = ?3",
                    )?
                    .execute(params![root, team, created])
                    .map(drop);
            }
            for table in ["members", "facts", "equals", "steps"] {
                log.prepare_cached(&format!("DELETE FROM {table} WHERE root = ?1 AND team = ?2"))?
                    .execute(params![root, team])?;
            }
            log.prepare_cached(
                "INSERT OR REPLACE INTO teams (root, team, incarnation, created) VALUES (?1, ?2, ?3, ?3)",
            )?
            .execute(params![root, team, created])?;
            let key = Key { root, team, incarnation: Incarnation(created), member: "" };
            let event = NewEvent { key: Some(key), ..NewEvent::new(Kind::TeamBegan, created) };
            append(log, &event.body(Some(&created.to_string()))).map(drop)
        })
    }

    /// The team of an inbox is gone: what was not taken from it will not be read, and what waits for it is not written any
    /// more. All of it at once.
    pub fn fail_all(
        &mut self,
        inbox: &InboxKey,
        ids: &[&str],
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        self.end_all(inbox, ids.iter().copied(), Kind::Failed, now, evidence)
    }
}

/// Whether the team that has a name is known to be gone.
fn is_closed(log: &Connection, root: RootId, team: &str) -> rusqlite::Result<bool> {
    log.prepare_cached(
        "SELECT count(*) > 0 AND count(*) = count(*) FILTER (WHERE signature = ?3) FROM members
         WHERE root = ?1 AND team = ?2",
    )?
    .query_row(params![root, team, CLOSED], |row| row.get(0))
}

/// When the team that has a name was created, if that is on record.
fn recorded(log: &Connection, root: RootId, team: &str) -> rusqlite::Result<Option<i64>> {
    let found = log
        .prepare_cached("SELECT created FROM teams WHERE root = ?1 AND team = ?2")?
        .query_row(params![root, team], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}
