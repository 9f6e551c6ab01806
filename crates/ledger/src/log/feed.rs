//! The events since a cursor.

use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension, Row, params};
use uuid::Uuid;

use crate::error::LedgerError;
use crate::log::append::id_of_part;
use crate::log::event::{Body, Kind, PastStage};
use crate::log::schema::FIRST;
use crate::open::Ledger;
use crate::row::{InboxKey, NewMessage};
use crate::seam::Connection;
use crate::stage::Evidence;
use crate::tasks::TaskChange;
use crate::transitions::StateChange;

/// A place in one log: everything up to it was given out. Opaque to its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    epoch: [u8; 16],
    seq: i64,
    id: [u8; 16],
}

impl Cursor {
    /// The number of the last event before it.
    pub(crate) fn seq(&self) -> i64 {
        self.seq
    }
}

/// An event as others see it.
#[derive(Debug, Clone)]
pub struct Event {
    /// The place behind it: what comes next begins there.
    pub cursor: Cursor,
    /// Its id, a UUID in version 7: the same on every machine.
    pub id: String,
    /// When it happened, in milliseconds since the epoch.
    pub at: i64,
    /// What happened.
    pub kind: Kind,
    /// To whom; what concerns all of a team has an empty name.
    pub inbox: Option<InboxKey>,
    /// To which message.
    pub message: Option<String>,
    /// The log that saw it happen.
    pub origin: String,
    /// How we know.
    pub evidence: Option<Evidence>,
    /// The message, where the event brings one.
    pub new: Option<NewMessage>,
    /// What changed, where it is not about a message.
    pub change: Option<Change>,
}

/// A change that is not about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Of a member's state, in the office's own words.
    Presence {
        /// The state.
        state: String,
        /// The one before, if one is on record.
        was: Option<String>,
    },
    /// Of a task.
    Task(TaskChange),
    /// Another team has the name from here on.
    Team {
        /// When it was created, in milliseconds since the epoch.
        created: i64,
    },
}

/// What came since a cursor.
#[derive(Debug, Clone)]
pub enum Feed {
    /// These, oldest first, and where the next ones begin.
    Events {
        /// The events.
        events: Vec<Event>,
        /// The place behind the last of them.
        cursor: Cursor,
    },
    /// The cursor is of another log, or of a part that a power cut took: all that was made from this feed has to be made
    /// anew, from the state as it is now.
    Reset {
        /// The end of the log before that state is read.
        cursor: Cursor,
    },
}

impl Ledger {
    /// The end of the log.
    pub fn cursor(&self) -> Result<Cursor, LedgerError> {
        end(&self.log.db).map_err(|source| self.failed(source))
    }

    /// The place before all events of this log, without what was taken over from an older ledger.
    pub fn start(&self) -> Result<Cursor, LedgerError> {
        let found = self
            .log
            .db
            .prepare_cached("SELECT (SELECT epoch FROM log), seq, id FROM events WHERE seq = ?1")
            .and_then(|mut ask| ask.query_row([FIRST], Cursor::from_row));
        found.map_err(|source| self.failed(source))
    }

    /// The place before the last so many events of this log; its start, if there are not as many.
    pub fn before_the_last(&self, count: usize) -> Result<Cursor, LedgerError> {
        let found = self
            .log
            .db
            .prepare_cached(
                "SELECT (SELECT epoch FROM log), seq, id FROM events WHERE seq >= ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2",
            )
            .and_then(|mut ask| {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                ask.query_row(params![FIRST, count], Cursor::from_row).optional()
            });
        found.map_err(|source| self.failed(source))?.map_or_else(|| self.start(), Ok)
    }

    /// The events after one cursor, up to another one.
    pub fn events_until(&self, from: &Cursor, to: &Cursor) -> Result<Feed, LedgerError> {
        let count = usize::try_from(to.seq.saturating_sub(from.seq)).unwrap_or(0);
        self.events_since(from, count)
    }

    /// At most so many events after a cursor. What was taken over from an older ledger is no event of this feed.
    pub fn events_since(&self, cursor: &Cursor, limit: usize) -> Result<Feed, LedgerError> {
        since(&self.log.db, cursor, limit).map_err(|source| self.failed(source))
    }
}

fn end(log: &Connection) -> rusqlite::Result<Cursor> {
    log.prepare_cached("SELECT (SELECT epoch FROM log), seq, id FROM events ORDER BY seq DESC LIMIT 1")?
        .query_row([], Cursor::from_row)
}

fn since(log: &Connection, cursor: &Cursor, limit: usize) -> rusqlite::Result<Feed> {
    let (epoch, origin): ([u8; 16], [u8; 16]) = log
        .prepare_cached("SELECT epoch, origin FROM log")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let id: Option<[u8; 16]> = log
        .prepare_cached("SELECT id FROM events WHERE seq = ?1")?
        .query_row([cursor.seq], |row| row.get(0))
        .optional()?;
    if epoch != cursor.epoch || cursor.seq < FIRST || id != Some(cursor.id) {
        return Ok(Feed::Reset { cursor: end(log)? });
    }
    let mut cursor = cursor.clone();
    let mut events = Vec::new();
    let mut statement = log.prepare_cached(
        "SELECT e.seq, e.id, e.at, e.kind, r.path, e.team, e.member, e.message, e.origin, e.evidence, e.body
         FROM events e LEFT JOIN roots r ON r.id = e.root WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2",
    )?;
    let mut rows = statement.query(params![cursor.seq, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        let before = cursor.clone();
        (cursor.seq, cursor.id) = (row.get(0)?, row.get(1)?);
        let event = Event::from_row(row, origin, cursor.clone())?;
        let parts = if event.kind == Kind::HandedOver { event.parts(row, &before)? } else { Vec::new() };
        if parts.is_empty() {
            events.push(event);
        } else {
            events.extend(parts);
        }
    }
    Ok(Feed::Events { events, cursor })
}

impl Event {
    fn from_row(row: &Row, here: [u8; 16], cursor: Cursor) -> rusqlite::Result<Self> {
        let kind = Kind::from_code(row.get(3)?);
        let inbox = match (row.get(4)?, row.get(5)?, row.get(6)?) {
            (Some(root), Some(team), Some(name)) => Some(InboxKey { root, team, name }),
            _ => None,
        };
        let evidence: Option<String> = row.get(9)?;
        let body: Option<String> = row.get(10)?;
        let brings = matches!(kind, Kind::Accepted | Kind::Noticed);
        let change = match (kind, &body) {
            (Kind::Presence, Some(body)) => serde_json::from_str(body)
                .ok()
                .map(|StateChange { state, was }| Change::Presence { state, was }),
            (Kind::Task, Some(body)) => TaskChange::from_json(body).map(Change::Task),
            (Kind::TeamBegan, Some(body)) => body.parse().ok().map(|created| Change::Team { created }),
            _ => None,
        };
        Ok(Self {
            cursor,
            change,
            id: Uuid::from_bytes(row.get(1)?).to_string(),
            at: row.get(2)?,
            kind,
            inbox,
            message: row.get(7)?,
            origin: hex(&row.get::<_, Option<[u8; 16]>>(8)?.unwrap_or(here)),
            evidence: evidence.map(|evidence| Evidence::from_json(&evidence)),
            new: body.filter(|_| brings).and_then(|body| Body::from_json(&body)).map(|body| body.message),
        })
    }
}

impl Event {
    /// The stages that an event about several messages stands for. Who stops between them begins before them again.
    fn parts(&self, row: &Row, before: &Cursor) -> rusqlite::Result<Vec<Self>> {
        let (evidence, body): (Option<String>, Option<String>) = (row.get(9)?, row.get(10)?);
        let stages: Vec<PastStage> =
            serde_json::from_str(evidence.as_deref().unwrap_or_default()).unwrap_or_default();
        let ids: Vec<String> = serde_json::from_str(body.as_deref().unwrap_or_default()).unwrap_or_default();
        let first = Uuid::from_bytes(row.get(1)?);
        let mut parts = Vec::with_capacity(ids.len() * stages.len());
        for id in ids {
            for (stage, at, evidence) in &stages {
                parts.push(Self {
                    cursor: before.clone(),
                    id: id_of_part(first, parts.len()).to_string(),
                    at: *at,
                    kind: Kind::from(*stage),
                    message: Some(id.clone()),
                    evidence: Some(evidence.clone()),
                    ..self.clone()
                });
            }
        }
        if let Some(last) = parts.last_mut() {
            last.cursor = self.cursor.clone();
        }
        Ok(parts)
    }
}

impl Cursor {
    fn from_row(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self { epoch: row.get(0)?, seq: row.get(1)?, id: row.get(2)? })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}-{:x}-{}", hex(&self.epoch), self.seq, hex(&self.id))
    }
}

/// A text that is no cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a cursor")]
pub struct NotACursor(String);

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let parse = || {
            let mut parts = text.split('-');
            let cursor = Self {
                epoch: unhex(parts.next()?)?,
                seq: i64::from_str_radix(parts.next()?, 16).ok()?,
                id: unhex(parts.next()?)?,
            };
            parts.next().is_none().then_some(cursor)
        };
        parse().ok_or_else(|| NotACursor(text.to_owned()))
    }
}

fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)).flatten()
}
