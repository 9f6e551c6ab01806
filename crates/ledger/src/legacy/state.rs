//! What decisions rest on, from a sealed ledger into a new log.

use rusqlite::types::Value;
use rusqlite::{Row, params, params_from_iter};
use serde::Deserialize;

use crate::arrivals::wait;
use crate::database::Database;
use crate::legacy::{has_column, has_table};
use crate::log::append::{append, find_or_make_root, insert};
use crate::log::event::{Body, Incarnation, Key, Kind, NewEvent};
use crate::log::schema::FIRST;
use crate::presence::{HealthRow, put_health};
use crate::proofs::render;
use crate::row::{InboxKey, NewMessage};
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

/// Arrivals that were not among the messages yet get the last numbers of history, so many at most.
const ARRIVALS: i64 = 1 << 32;

/// Copies the queue, the arrivals that were not filed, positions, facts and health.
pub(crate) fn take_over_state(old: &Database, log: &Connection) -> rusqlite::Result<()> {
    let old = &old.db;
    take_arrivals(old, log)?;
    take_queue_of_first_versions(old, log)?;
    take_proofs(old, log)?;
    take_steps(old, log)?;
    let signatures = "SELECT root, team, name, signature FROM sealed_inboxes WHERE signature IS NOT NULL";
    copy(old, log, signatures, "sealed_inboxes", |row, log| {
        let owner = Owner::from_row(row)?;
        let key = owner.key(log)?;
        log.prepare_cached("INSERT INTO members (root, team, member, signature) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![key.root, key.team, key.member, row.get::<_, String>(3)?])
            .map(drop)
    })?;
    let facts =
        "SELECT i.root, i.team, i.name, p.fact, p.at FROM presence p JOIN sealed_inboxes i ON i.id = p.inbox";
    copy(old, log, facts, "presence", |row, log| {
        let owner = Owner::from_row(row)?;
        let key = owner.key(log)?;
        log.prepare_cached("INSERT INTO facts (root, team, member, fact, at) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![key.root, key.team, key.member, row.get::<_, String>(3)?, row.get::<_, i64>(4)?])
            .map(drop)
    })?;
    let health = "SELECT i.root, i.team, i.name, h.step, h.at, h.request, h.tasks, h.finished, h.stalls
                  FROM health h JOIN sealed_inboxes i ON i.id = h.inbox";
    copy(old, log, health, "health", |row, log| {
        let owner = Owner::from_row(row)?;
        let health = HealthRow {
            step: row.get(3)?,
            at: row.get(4)?,
            request: row.get(5)?,
            tasks: row.get(6)?,
            finished: row.get(7)?,
            stalls: row.get(8)?,
        };
        put_health(log, owner.key(log)?, &serde_json::to_string(&health).unwrap_or_default())
    })?;
    let equals = "SELECT i.root, i.team, i.name, e.gone, e.id, e.first, e.next
                  FROM sealed_equals e JOIN sealed_inboxes i ON i.id = e.inbox";
    copy(old, log, equals, "sealed_equals", |row, log| {
        let owner = Owner::from_row(row)?;
        let key = owner.key(log)?;
        log.prepare_cached(
            "INSERT INTO equals (root, team, member, gone, id, first, next) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            key.root,
            key.team,
            key.member,
            row.get::<_, bool>(3)?,
            row.get::<_, String>(4)?,
            row.get::<_, u32>(5)?,
            row.get::<_, u32>(6)?
        ])
        .map(drop)
    })
}

/// What was read of conversations, and what it proved. Messages keep their numbers.
fn take_proofs(old: &Connection, log: &Connection) -> rusqlite::Result<()> {
    let read = "SELECT inode || ':' || path, '', offset FROM sealed_transcripts";
    copy(old, log, read, "sealed_transcripts", put_position)?;
    copy(old, log, "SELECT source, reader, position FROM sealed_sources", "sealed_sources", put_position)?;
    copy(
        old,
        log,
        "SELECT source, position, entry, message FROM sealed_proofs",
        "sealed_proofs",
        |row, log| {
            log.prepare_cached(
                "INSERT INTO proofs (source, position, entry, message) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![
                row.get::<_, String>(0)?,
                row.get::<_, i64>(1)?,
                row.get::<_, Option<String>>(2)?,
                row.get::<_, i64>(3)?
            ])
            .map(drop)
        },
    )
}

/// A reader was named by team, name and path.
fn put_position(row: &Row, log: &Connection) -> rusqlite::Result<()> {
    let mut reader: String = row.get(1)?;
    if let [team, name, root] = reader.splitn(3, '\n').collect::<Vec<_>>()[..] {
        let key = InboxKey { root: root.to_owned(), team: team.to_owned(), name: name.to_owned() };
        find_or_make_root(log, root)?;
        reader = render(log, &key)?;
    }
    log.prepare_cached("INSERT OR REPLACE INTO sources (source, reader, position) VALUES (?1, ?2, ?3)")?
        .execute(params![row.get::<_, String>(0)?, reader, row.get::<_, i64>(2)?])
        .map(drop)
}

fn take_steps(old: &Connection, log: &Connection) -> rusqlite::Result<()> {
    let query = "SELECT root, team, chore, subject, number, state, boot, pid, start, taken_at, ended_at, what FROM sealed_steps";
    copy(old, log, query, "sealed_steps", |row, log| {
        let root = find_or_make_root(log, &row.get::<_, String>(0)?)?;
        let values =
            (1..12).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()?;
        log.prepare_cached(
            "INSERT INTO steps (root, team, chore, subject, number, state, boot, pid, start, taken_at, ended_at, what)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params_from_iter(std::iter::once(Value::Blob(root.to_vec())).chain(values)))
        .map(drop)
    })
}

/// Whose mail, as older ledgers had it.
#[derive(Debug)]
pub(super) struct Owner {
    root: String,
    team: String,
    name: String,
}

impl Owner {
    /// From the first three columns.
    pub(super) fn from_row(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self { root: row.get(0)?, team: row.get(1)?, name: row.get(2)? })
    }

    pub(super) fn key(&self, log: &Connection) -> rusqlite::Result<Key<'_>> {
        let root = find_or_make_root(log, &self.root)?;
        Ok(Key { root, team: &self.team, incarnation: Incarnation::default(), member: &self.name })
    }
}

fn copy(
    old: &Connection,
    log: &Connection,
    query: &str,
    table: &str,
    put: impl Fn(&Row, &Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    if !has_table(old, table)? {
        return Ok(());
    }
    let mut ask = old.prepare_cached(query)?;
    let mut rows = ask.query([])?;
    while let Some(row) = rows.next()? {
        put(row, log)?;
    }
    Ok(())
}

/// What was accepted and not written waits in the log. What was written and not filed is history.
fn take_arrivals(old: &Connection, log: &Connection) -> rusqlite::Result<()> {
    if !has_table(old, "sealed_arrivals")? {
        return Ok(());
    }
    let witnesses = if has_column(old, "sealed_arrivals", "witnesses")? { "witnesses" } else { "NULL" };
    let query = format!(
        "SELECT root, team, name, id, at, by, filed, rank, written_at, evidence, message, draft, {witnesses}
         FROM sealed_arrivals ORDER BY seq"
    );
    let next = std::cell::Cell::new(FIRST - ARRIVALS);
    copy(old, log, &query, "sealed_arrivals", |row, log| {
        let owner = Owner::from_row(row)?;
        let key = owner.key(log)?;
        let (id, at, by): (String, i64, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
        let is_filed: bool = row.get(6)?;
        let rank: Option<i64> = row.get(7)?;
        let (text, draft): (String, String) = (row.get(10)?, row.get(11)?);
        let evidence = Evidence::certain("accepted by atm").by(&by).to_json();
        let accept = |seq: Option<i64>, message: &NewMessage| -> rusqlite::Result<i64> {
            let body = Body::new(message, Some(&draft)).to_json();
            let event = NewEvent::of(Kind::Accepted, at, key, &id);
            insert(log, seq, &event.evidence(&evidence).body(Some(&body)))
        };
        let take_number = || {
            next.set(next.get() + 1);
            Some(next.get() - 1)
        };
        let known = NewMessage {
            id: id.clone(),
            sender: by.clone(),
            text: text_in(&draft).unwrap_or_default(),
            kind: "message".to_owned(),
            sent_at: at,
            ..NewMessage::default()
        };
        let message = serde_json::from_str(&text).unwrap_or(known);
        match rank {
            None => {
                let seq = accept(None, &message)?;
                wait(log, seq, key, &id)
            }
            Some(rank) => {
                if !is_filed {
                    accept(take_number(), &message)?;
                }
                let evidence: Option<String> = row.get(9)?;
                let evidence = evidence.unwrap_or_default();
                let (when, witnesses): (Option<i64>, Option<String>) = (row.get(8)?, row.get(12)?);
                let when = when.unwrap_or(at);
                let stage = super::history::stage_of(rank);
                let add = |kind: Kind, body: Option<&str>| {
                    let event = NewEvent::of(kind, when, key, &id).evidence(&evidence);
                    insert(log, take_number(), &event.body(body)).map(drop)
                };
                if stage == Stage::Failed {
                    return add(Kind::Withdrawn, None);
                }
                add(Kind::Written, witnesses.as_deref())?;
                if stage == Stage::Written { Ok(()) } else { add(Kind::from(stage), None) }
            }
        }
    })
}

/// The queue of the first versions was a column.
fn take_queue_of_first_versions(old: &Connection, log: &Connection) -> rusqlite::Result<()> {
    if !has_column(old, "sealed_messages", "waiting")? {
        return Ok(());
    }
    let query =
        "SELECT i.root, i.team, i.name, m.id, m.noticed_at, m.sender, m.text, m.kind, m.sent_at, m.draft
                 FROM sealed_messages m JOIN sealed_inboxes i ON i.id = m.inbox
                 WHERE m.waiting = 1 AND m.draft IS NOT NULL ORDER BY m.seq";
    copy(old, log, query, "sealed_messages", |row, log| {
        let owner = Owner::from_row(row)?;
        let key = owner.key(log)?;
        let message = NewMessage {
            id: row.get(3)?,
            sender: row.get(5)?,
            text: row.get(6)?,
            kind: row.get(7)?,
            sent_at: row.get(8)?,
            ..NewMessage::default()
        };
        let body = Body::new(&message, Some(&row.get::<_, String>(9)?)).to_json();
        let evidence = Evidence::certain("accepted by atm").by(&message.sender).to_json();
        let event = NewEvent::of(Kind::Accepted, row.get(4)?, key, &message.id);
        let seq = append(log, &event.evidence(&evidence).body(Some(&body)))?;
        wait(log, seq, key, &message.id)
    })
}

/// The text in a draft: what is filed and not written says nothing but that.
fn text_in(draft: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    serde_json::from_str::<Text>(draft).ok().map(|draft| draft.text)
}
