//! Traces of members, and how far a health sweep is with each.

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::Evidence;

/// What somebody last said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// What kind of message it was.
    pub kind: String,
    /// Its text.
    pub text: String,
}

/// What the ledger knows of somebody. Times are milliseconds since the epoch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traces {
    /// The last thing it said within its team.
    pub said: Option<Said>,
    /// When it last gave a heartbeat, if that is not too many messages ago.
    pub heartbeat: Option<i64>,
    /// When it last took mail, or was told some in its conversation. Archiving is done by others, and what was found taken
    /// at the first look was taken at a time that nobody knows.
    pub took: Option<i64>,
    /// When the newest health check was sent that it has not answered.
    pub unanswered: Option<i64>,
    /// Since when a sweep holds it to be stalled.
    pub stalled: Option<i64>,
}

/// How far a health sweep is with somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthRow {
    /// The step, in the office's words.
    pub step: String,
    /// When it was taken, in milliseconds since the epoch.
    pub at: i64,
    /// The health check that was sent.
    pub request: Option<String>,
    /// The tasks that were released, in the office's words.
    pub tasks: String,
    /// Whether all that belongs to the step is done.
    pub finished: bool,
    /// How often it stalled.
    pub stalls: u32,
}

impl Ledger {
    /// What is known of somebody.
    pub fn traces(&self, inbox: &InboxKey) -> Result<Traces, LedgerError> {
        let query = || -> rusqlite::Result<Traces> {
            let db = self.filed()?;
            let mut traces =
                Traces { said: said(db, inbox)?, heartbeat: heartbeat(db, inbox)?, ..Traces::default() };
            let Some(number) = inbox.find(db)? else { return Ok(traces) };
            traces.took = db
                .prepare_cached(
                    "SELECT max(s.at) FROM stages s WHERE s.rank IN (30, 40)
                     AND s.message IN (SELECT seq FROM messages WHERE inbox = ?1 ORDER BY seq DESC LIMIT 50)
                     AND s.evidence NOT LIKE '{\"what\":\"' || ?2 || '%'
                     AND s.evidence NOT LIKE '{\"what\":\"' || ?3 || '%'
                     AND s.evidence ->> 'no_later_than' IS NULL",
                )?
                .query_row(params![number, Evidence::ARCHIVED, Evidence::FOUND], |row| row.get(0))?;
            traces.unanswered = db
                .prepare_cached(
                    "SELECT max(sent_at) FROM messages WHERE inbox = ?1 AND kind = 'health_check'
                     AND request_id IS NOT NULL AND rank < 60",
                )?
                .query_row([number], |row| row.get(0))?;
            traces.stalled = db
                .prepare_cached(
                    "SELECT at FROM health WHERE inbox = ?1 AND step IN ('stalled', 'unresponsive')",
                )?
                .query_row([number], |row| row.get(0))
                .optional()?;
            Ok(traces)
        };
        query().map_err(|source| self.failed(source))
    }

    /// Remembers a fact about somebody, and when it was last seen to be so.
    pub fn note_fact(&mut self, inbox: &InboxKey, fact: &str, at: i64) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<usize> {
            let inbox = inbox.find_or_make(&self.db)?;
            self.db
                .prepare_cached(
                    "INSERT INTO presence (inbox, fact, at) VALUES (?1, ?2, ?3)
                     ON CONFLICT (inbox, fact) DO UPDATE SET at = max(at, ?3)",
                )?
                .execute(params![inbox, fact, at])
        };
        write().map(drop).map_err(|source| self.failed(source))
    }

    /// The fact is none any more.
    pub fn forget_fact(&mut self, inbox: &InboxKey, fact: &str) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<()> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(()) };
            self.db
                .prepare_cached("DELETE FROM presence WHERE inbox = ?1 AND fact = ?2")?
                .execute(params![inbox, fact])
                .map(drop)
        };
        write().map_err(|source| self.failed(source))
    }

    /// When a fact about somebody was last seen to be so.
    pub fn fact(&self, inbox: &InboxKey, fact: &str) -> Result<Option<i64>, LedgerError> {
        let query = || -> rusqlite::Result<Option<i64>> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(None) };
            self.db
                .prepare_cached("SELECT at FROM presence WHERE inbox = ?1 AND fact = ?2")?
                .query_row(params![inbox, fact], |row| row.get(0))
                .optional()
        };
        query().map_err(|source| self.failed(source))
    }

    /// How far a sweep is with somebody.
    pub fn health(&self, inbox: &InboxKey) -> Result<Option<HealthRow>, LedgerError> {
        let query = || -> rusqlite::Result<Option<HealthRow>> {
            let Some(inbox) = inbox.find(&self.db)? else { return Ok(None) };
            self.db
                .prepare_cached(
                    "SELECT step, at, request, tasks, finished, stalls FROM health WHERE inbox = ?1",
                )?
                .query_row([inbox], |row| {
                    Ok(HealthRow {
                        step: row.get(0)?,
                        at: row.get(1)?,
                        request: row.get(2)?,
                        tasks: row.get(3)?,
                        finished: row.get(4)?,
                        stalls: row.get(5)?,
                    })
                })
                .optional()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Puts down how far a sweep is with somebody.
    pub fn set_health(&mut self, inbox: &InboxKey, row: &HealthRow) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<usize> {
            let inbox = inbox.find_or_make(&self.db)?;
            self.db
                .prepare_cached(
                    "INSERT INTO health (inbox, step, at, request, tasks, finished, stalls)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (inbox) DO UPDATE SET step = ?2, at = ?3, request = ?4, tasks = ?5,
                                                       finished = ?6, stalls = ?7",
                )?
                .execute(params![inbox, row.step, row.at, row.request, row.tasks, row.finished, row.stalls])
        };
        write().map(drop).map_err(|source| self.failed(source))
    }
}

/// Health checks and stall alerts are left out: a sweep sends them in the lead's name, whoever runs it.
fn said(db: &Connection, inbox: &InboxKey) -> rusqlite::Result<Option<Said>> {
    db.prepare_cached(
        "SELECT m.sent_at, m.kind, m.text FROM messages m JOIN inboxes i ON i.id = m.inbox
         WHERE m.sender = ?1 AND i.root = ?2 AND i.team = ?3 AND m.kind NOT IN ('health_check', 'stall_alert')
         ORDER BY m.sent_at DESC LIMIT 1",
    )?
    .query_row(params![inbox.name, inbox.root, inbox.team], |row| {
        Ok(Said { at: row.get(0)?, kind: row.get(1)?, text: row.get(2)? })
    })
    .optional()
}

/// Among the newest two hundred messages: whoever works gives one a minute.
fn heartbeat(db: &Connection, inbox: &InboxKey) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached(
        "SELECT max(sent_at) FROM (
             SELECT m.sent_at, m.kind FROM messages m JOIN inboxes i ON i.id = m.inbox
             WHERE m.sender = ?1 AND i.root = ?2 AND i.team = ?3 ORDER BY m.sent_at DESC LIMIT 200)
         WHERE kind = 'heartbeat'",
    )?
    .query_row(params![inbox.name, inbox.root, inbox.team], |row| row.get(0))
}
