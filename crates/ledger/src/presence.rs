//! Traces of members, and how far a health sweep is with each.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::log::append::{append, root_id};
use crate::log::event::{Key, Kind, NewEvent};
use crate::lookup::text_of;
use crate::open::Ledger;
use crate::record::{find_inbox, find_team};
use crate::row::InboxKey;
use crate::seam::Connection;

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
    /// When it last gave a heartbeat.
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
///
/// Its names are part of the format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        let health = self.health(inbox)?;
        let stalled = health.as_ref().and_then(stalled_since);
        self.read(|view| {
            let mut traces = Traces { stalled, ..Traces::default() };
            if let Some(team) = find_team(view, &inbox.root, &inbox.team)? {
                let spoke: Option<(Option<i64>, Option<i64>)> = view
                    .index
                    .prepare_cached("SELECT said, heartbeat FROM speakers WHERE team = ?1 AND name = ?2")?
                    .query_row(params![team, inbox.name], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let (said, heartbeat) = spoke.unwrap_or_default();
                traces.heartbeat = heartbeat;
                traces.said = said.map(|event| said_in(view.log, event)).transpose()?;
            }
            let Some(number) = find_inbox(view, inbox)? else { return Ok(traces) };
            traces.took = view
                .index
                .prepare_cached("SELECT took FROM inboxes WHERE id = ?1")?
                .query_row([number], |row| row.get(0))?;
            traces.unanswered = view
                .index
                .prepare_cached(
                    "SELECT max(sent_at) FROM messages WHERE inbox = ?1 AND kind = 'health_check' AND asked = 1",
                )?
                .query_row([number], |row| row.get(0))?;
            Ok(traces)
        })
    }

    /// What is known of everybody of a team, by name: a few questions, however many there are.
    pub fn team_traces(&self, root: &str, team: &str) -> Result<HashMap<String, Traces>, LedgerError> {
        self.read(|view| {
            let mut all: HashMap<String, Traces> = HashMap::new();
            if let Some(root) = root_id(view.log, root)? {
                let mut health = view.log.prepare_cached(
                    "SELECT member, health FROM members WHERE root = ?1 AND team = ?2 AND health IS NOT NULL",
                )?;
                let mut rows = health.query(params![root, team])?;
                while let Some(row) = rows.next()? {
                    let (name, health): (String, String) = (row.get(0)?, row.get(1)?);
                    let stalled = serde_json::from_str(&health).ok().as_ref().and_then(stalled_since);
                    all.entry(name).or_default().stalled = stalled;
                }
            }
            let Some(team) = find_team(view, root, team)? else { return Ok(all) };
            let mut speakers =
                view.index.prepare_cached("SELECT name, said, heartbeat FROM speakers WHERE team = ?1")?;
            let mut rows = speakers.query([team])?;
            while let Some(row) = rows.next()? {
                let (said, heartbeat): (Option<i64>, Option<i64>) = (row.get(1)?, row.get(2)?);
                let traces = all.entry(row.get(0)?).or_default();
                traces.said = said.map(|event| said_in(view.log, event)).transpose()?;
                traces.heartbeat = heartbeat;
            }
            let mut inboxes = view.index.prepare_cached(
                "SELECT name, took, (SELECT max(m.sent_at) FROM messages m
                                     WHERE m.inbox = i.id AND m.kind = 'health_check' AND m.asked = 1)
                 FROM inboxes i WHERE i.team = ?1",
            )?;
            let mut rows = inboxes.query([team])?;
            while let Some(row) = rows.next()? {
                let traces = all.entry(row.get(0)?).or_default();
                (traces.took, traces.unanswered) = (row.get(1)?, row.get(2)?);
            }
            Ok(all)
        })
    }

    /// Remembers a fact about somebody, and when it was last seen to be so. That it began is an event; that it goes on is
    /// none.
    pub fn note_fact(&mut self, inbox: &InboxKey, fact: &str, at: i64) -> Result<(), LedgerError> {
        self.append(|log| {
            let key = inbox.make_key(log)?;
            if find_fact(log, key, fact)?.is_none() {
                append(log, &about(Kind::FactNoted, at, key).body(Some(fact)))?;
            }
            log.prepare_cached(
                "INSERT INTO facts (root, team, member, fact, at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (root, team, member, fact) DO UPDATE SET at = max(at, ?5)",
            )?
            .execute(params![key.root, key.team, key.member, fact, at])
            .map(drop)
        })
    }

    /// The fact is none any more.
    pub fn forget_fact(&mut self, inbox: &InboxKey, fact: &str) -> Result<(), LedgerError> {
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            let Some(at) = find_fact(log, key, fact)? else { return Ok(()) };
            append(log, &about(Kind::FactForgotten, at, key).body(Some(fact)))?;
            log.prepare_cached(
                "DELETE FROM facts WHERE root = ?1 AND team = ?2 AND member = ?3 AND fact = ?4",
            )?
            .execute(params![key.root, key.team, key.member, fact])
            .map(drop)
        })
    }

    /// When a fact about somebody was last seen to be so.
    pub fn fact(&self, inbox: &InboxKey, fact: &str) -> Result<Option<i64>, LedgerError> {
        let query = || match inbox.key(&self.log.db)? {
            Some(key) => find_fact(&self.log.db, key, fact),
            None => Ok(None),
        };
        query().map_err(|source| self.failed(source))
    }

    /// How far a sweep is with somebody.
    pub fn health(&self, inbox: &InboxKey) -> Result<Option<HealthRow>, LedgerError> {
        let query = || -> rusqlite::Result<Option<HealthRow>> {
            let log = &self.log.db;
            let Some(key) = inbox.key(log)? else { return Ok(None) };
            let found: Option<Option<String>> = log
                .prepare_cached("SELECT health FROM members WHERE root = ?1 AND team = ?2 AND member = ?3")?
                .query_row(params![key.root, key.team, key.member], |row| row.get(0))
                .optional()?;
            Ok(found.flatten().and_then(|row| serde_json::from_str(&row).ok()))
        };
        query().map_err(|source| self.failed(source))
    }

    /// Records how far a sweep is with somebody.
    pub fn set_health(&mut self, inbox: &InboxKey, row: &HealthRow) -> Result<(), LedgerError> {
        let text = serde_json::to_string(row).unwrap_or_default();
        self.append(|log| {
            let key = inbox.make_key(log)?;
            append(log, &about(Kind::Health, row.at, key).body(Some(&text)))?;
            put_health(log, key, &text)
        })
    }
}

/// Something that happened to a member.
fn about(kind: Kind, at: i64, key: Key<'_>) -> NewEvent<'_> {
    NewEvent { key: Some(key), ..NewEvent::new(kind, at) }
}

pub(crate) fn put_health(log: &Connection, key: Key<'_>, row: &str) -> rusqlite::Result<()> {
    log.prepare_cached(
        "INSERT INTO members (root, team, member, health) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (root, team, member) DO UPDATE SET health = ?4",
    )?
    .execute(params![key.root, key.team, key.member, row])
    .map(drop)
}

fn find_fact(log: &Connection, key: Key<'_>, fact: &str) -> rusqlite::Result<Option<i64>> {
    log.prepare_cached("SELECT at FROM facts WHERE root = ?1 AND team = ?2 AND member = ?3 AND fact = ?4")?
        .query_row(params![key.root, key.team, key.member, fact], |row| row.get(0))
        .optional()
}

/// Since when a sweep holds somebody to be stalled.
fn stalled_since(row: &HealthRow) -> Option<i64> {
    matches!(row.step.as_str(), "stalled" | "unresponsive").then_some(row.at)
}

fn said_in(log: &Connection, event: i64) -> rusqlite::Result<Said> {
    let said = text_of(log, event)?;
    Ok(Said { at: said.sent_at, kind: said.kind, text: said.text })
}
