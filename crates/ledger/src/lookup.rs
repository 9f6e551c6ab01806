//! What became of a message.

use rusqlite::{OptionalExtension, Row, ToSql, params, params_from_iter};

use crate::error::LedgerError;
use crate::index::View;
use crate::log::append::root_id;
use crate::log::event::{Body, Kind, PastStage};
use crate::open::Ledger;
use crate::record::{body_of, find_inbox, find_message, find_team, has_reached};
use crate::row::{InboxKey, NewMessage};
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

/// A message as the ledger has it.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    pub(crate) seq: i64,
    /// For whom.
    pub inbox: InboxKey,
    /// Its id.
    pub id: String,
    /// From whom.
    pub sender: String,
    /// Its text.
    pub text: String,
    /// The short version.
    pub summary: Option<String>,
    /// What kind of message it is.
    pub kind: String,
    /// When it was sent, in milliseconds since the epoch.
    pub sent_at: i64,
    /// When we first knew of it.
    pub noticed_at: i64,
    /// Whether we sent it.
    pub ours: bool,
    /// How far it came.
    pub stage: Stage,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// The first message of its conversation.
    pub thread: Option<String>,
    /// The request that it makes or answers.
    pub request_id: Option<String>,
    /// By which name an acknowledgment would call it.
    pub ack_id: Option<String>,
    /// Until when it wants to be acknowledged.
    pub ack_by: Option<i64>,
    /// The sender's team, where it is not the recipient's.
    pub origin: Option<String>,
    /// It counts as taken because it is gone, and nothing proves it.
    pub is_unproved: bool,
    /// The machine that it came from, where that is another one.
    pub machine: Option<String>,
}

/// One stage that a message reached.
#[derive(Debug, Clone)]
pub struct StageRecord {
    /// Which.
    pub stage: Stage,
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// How we know.
    pub evidence: Evidence,
    /// It was written again because its reader had lost it: not queued because its reader was off.
    pub is_offer: bool,
}

/// An index of more pages is large.
const LARGE_INDEX: i64 = 16_384;

/// The columns of [`Recorded`], for every query that gives some. Its text is in the log.
pub(crate) const COLUMNS: &str =
    "m.seq, t.team, i.name, m.id, m.sender, m.kind, m.sent_at, m.noticed_at, m.ours, m.rank, m.reply_to, m.thread,
    m.request_id, m.ack_id, m.ack_by, m.origin, m.unproved AND m.rank = 30";
/// The tables that they are in, in this order: every condition is about messages, and has an index there.
pub(crate) const TABLES: &str =
    "messages m CROSS JOIN inboxes i ON i.id = m.inbox CROSS JOIN teams t ON t.id = m.team";

impl Recorded {
    pub(crate) fn from_row(row: &Row, root: &str, log: &Connection) -> rusqlite::Result<Self> {
        let seq = row.get(0)?;
        let NewMessage { text, summary, machine, .. } = text_of(log, seq)?;
        Ok(Self {
            seq,
            inbox: InboxKey { root: root.to_owned(), team: row.get(1)?, name: row.get(2)? },
            id: row.get(3)?,
            sender: row.get(4)?,
            text,
            summary,
            kind: row.get(5)?,
            sent_at: row.get(6)?,
            noticed_at: row.get(7)?,
            ours: row.get(8)?,
            stage: Stage::from_rank(row.get(9)?),
            reply_to: row.get(10)?,
            thread: row.get(11)?,
            request_id: row.get(12)?,
            ack_id: row.get(13)?,
            ack_by: row.get(14)?,
            origin: row.get(15)?,
            is_unproved: row.get(16)?,
            machine,
        })
    }
}

/// The message that an event brought. One that cannot be read is shown as it is.
pub(crate) fn text_of(log: &Connection, event: i64) -> rusqlite::Result<NewMessage> {
    let body = body_of(log, event)?.unwrap_or_default();
    Ok(match Body::from_json(&body) {
        Some(body) => body.message,
        None => NewMessage { text: body, ..NewMessage::default() },
    })
}

impl Ledger {
    /// Messages with this id, or whose id starts or ends with it; one message to many has one id each.
    pub fn find(&self, root: &str, id: &str, by_part: bool) -> Result<Vec<Recorded>, LedgerError> {
        let exact = self.select(root, "m.id = ?2 ORDER BY m.seq", &[&id])?;
        if !exact.is_empty() || !by_part {
            return Ok(exact);
        }
        let (head, next) = (id, format!("{id}\u{10ffff}"));
        let by_head =
            self.select(root, "m.id >= ?2 AND m.id < ?3 ORDER BY m.seq LIMIT 50", &[&head, &next])?;
        if !by_head.is_empty() {
            return Ok(by_head);
        }
        // The end of an id has no index: only the newest are looked at.
        let tail = format!("%{}", id.replace(['%', '_'], ""));
        let newest = "m.seq IN (
                          SELECT seq FROM (SELECT seq, id FROM messages ORDER BY seq DESC LIMIT 20000) WHERE id LIKE ?2)
                      ORDER BY m.seq LIMIT 50";
        self.select(root, newest, &[&tail])
    }

    /// The stages of a message, in the order of their times.
    pub fn stages(&self, message: &Recorded) -> Result<Vec<StageRecord>, LedgerError> {
        self.read(|view| stages_since(view, message.seq, 0))
    }

    /// The conversation that a message belongs to, oldest first.
    pub fn thread(&self, message: &Recorded) -> Result<Vec<Recorded>, LedgerError> {
        let first = message.thread.as_ref().unwrap_or(&message.id);
        self.select(
            &message.inbox.root,
            "(m.id = ?2 OR m.thread = ?2 OR m.reply_to = ?2) ORDER BY m.sent_at, m.seq",
            &[first],
        )
    }

    /// The messages about one request.
    pub fn request(&self, root: &str, request: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select(root, "m.request_id = ?2 ORDER BY m.seq", &[&request])
    }

    /// The requests of a type that were put to somebody and are not decided, oldest first.
    pub fn open_requests(&self, inbox: &InboxKey, kind: &str) -> Result<Vec<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_inbox(view, inbox))? else { return Ok(Vec::new()) };
        self.select(
            &inbox.root,
            "m.inbox = ?2 AND m.asked = 1 AND m.kind = ?3 ORDER BY m.seq",
            &[&number, &kind],
        )
    }

    /// All requests of a type in a team, oldest first.
    pub fn requests(&self, root: &str, team: &str, kind: &str) -> Result<Vec<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_team(view, root, team))? else { return Ok(Vec::new()) };
        self.select(
            root,
            "m.team = ?2 AND m.request_id IS NOT NULL AND m.kind = ?3 ORDER BY m.seq",
            &[&number, &kind],
        )
    }

    /// What somebody sent within a team since a time, of one type, oldest first.
    pub fn sent_by(
        &self,
        root: &str,
        team: &str,
        sender: &str,
        kind: &str,
        since: i64,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_team(view, root, team))? else { return Ok(Vec::new()) };
        self.select(
            root,
            "m.team = ?2 AND m.sender = ?3 AND m.kind = ?4 AND m.sent_at >= ?5 ORDER BY m.sent_at",
            &[&number, &sender, &kind, &since],
        )
    }

    /// The last that somebody said to anybody in a team.
    pub fn last_word(&self, root: &str, team: &str, sender: &str) -> Result<Option<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_team(view, root, team))? else { return Ok(None) };
        let mut said = self.select(
            root,
            "m.seq = (SELECT s.last FROM speakers s WHERE s.team = ?2 AND s.name = ?3)",
            &[&number, &sender],
        )?;
        Ok(said.pop())
    }

    /// Whether somebody took mail of its inbox after a time, as far as that is known for certain.
    pub fn took_since(&self, inbox: &InboxKey, at: i64) -> Result<bool, LedgerError> {
        self.read(|view| {
            let Some(number) = find_inbox(view, inbox)? else { return Ok(false) };
            view.index
                .prepare_cached("SELECT 1 FROM inboxes WHERE id = ?1 AND took_surely > ?2")?
                .exists(params![number, at])
        })
    }

    /// The assignments of a task to somebody.
    pub fn assignments(&self, inbox: &InboxKey, task: &str) -> Result<Vec<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_inbox(view, inbox))? else { return Ok(Vec::new()) };
        self.select(
            &inbox.root,
            "m.task = ?3 AND m.inbox = ?2 AND m.kind = 'task_assignment' ORDER BY m.seq",
            &[&number, &task],
        )
    }

    /// The inboxes of which something still waits for its recipient.
    pub fn inboxes_with_open(&self, root: &str) -> Result<Vec<InboxKey>, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(Vec::new()) };
            view.index
                .prepare_cached(
                    "SELECT t.team, i.name FROM inboxes i JOIN teams t ON t.id = i.team WHERE t.root = ?1
                     AND EXISTS (SELECT 1 FROM messages m WHERE m.inbox = i.id AND m.rank < 30 AND m.open = 1)",
                )?
                .query_map([id], |row| {
                    Ok(InboxKey { root: root.to_owned(), team: row.get(0)?, name: row.get(1)? })
                })?
                .collect()
        })
    }

    /// The messages that an acknowledgment of this name means.
    pub fn acknowledged_by(&self, root: &str, ack: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select(root, "(m.ack_id = ?2 OR m.id = ?2) ORDER BY m.seq", &[&ack])
    }

    /// What waits: accepted and not written, queued and without a sign of work since, wanting an acknowledgment and without one, held, gone without
    /// a proof that it was taken, or taken since `lately` and not seen. Of what waits at most so many, the oldest, and of what
    /// was taken at most so many, the newest: much of that must not hide mail that waits. Oldest first. Which indexes are used is
    /// given: by itself SQLite walks through all messages of the team, in the order that is asked for.
    pub fn pending(
        &self,
        root: &str,
        team: &str,
        lately: i64,
        limit: usize,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let Some(number) = self.read(|view| find_team(view, root, team))? else { return Ok(Vec::new()) };
        self.select(
            root,
            "m.seq IN (
                 SELECT seq FROM (SELECT seq FROM messages INDEXED BY messages_waits WHERE team = ?2 AND waits = 1
                                  ORDER BY seq LIMIT ?4)
                 UNION SELECT seq FROM (SELECT seq FROM messages INDEXED BY messages_taken
                                        WHERE team = ?2 AND rank = 30 AND noticed_at >= ?3
                                        ORDER BY seq DESC LIMIT ?4))
             ORDER BY m.seq",
            &[&number, &lately, &limit],
        )
    }

    /// Whether [`pending`](Self::pending) leaves mail out that may wait.
    pub fn has_more_pending(
        &self,
        root: &str,
        team: &str,
        lately: i64,
        limit: usize,
    ) -> Result<bool, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|view| {
            let Some(team) = find_team(view, root, team)? else { return Ok(false) };
            view.index
                .prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM messages WHERE team = ?1 AND rank = 30 AND noticed_at < ?2)
                         OR EXISTS (SELECT 1 FROM messages WHERE team = ?1 AND rank = 30 AND noticed_at >= ?2
                                    LIMIT 1 OFFSET ?3)
                         OR EXISTS (SELECT 1 FROM messages WHERE team = ?1 AND waits = 1 LIMIT 1 OFFSET ?3)",
                )?
                .query_row(params![team, lately, limit], |row| row.get(0))
        })
    }

    /// Whether a message ever reached a stage.
    pub fn has_reached(&self, inbox: &InboxKey, id: &str, stage: Stage) -> Result<bool, LedgerError> {
        self.read(|view| match find_message(view, inbox, id)? {
            Some(message) => has_reached(view.index, message, stage),
            None => Ok(false),
        })
    }

    /// Whether it is on record that a message was moved into the archive.
    pub fn is_archived(&self, inbox: &InboxKey, id: &str) -> Result<bool, LedgerError> {
        self.read(|view| {
            let Some(message) = find_message(view, inbox, id)? else { return Ok(false) };
            view.index
                .prepare_cached("SELECT 1 FROM messages WHERE seq = ?1 AND archived = 1")?
                .exists([message])
        })
    }

    /// The last so many messages, oldest first.
    pub fn latest(&self, root: &str, team: Option<&str>, limit: usize) -> Result<Vec<Recorded>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = match team {
            None => self.select(root, "true ORDER BY m.seq DESC LIMIT ?2", &[&limit])?,
            Some(team) => match self.read(|view| find_team(view, root, team))? {
                Some(team) => {
                    self.select(root, "m.team = ?2 ORDER BY m.seq DESC LIMIT ?3", &[&team, &limit])?
                }
                None => Vec::new(),
            },
        };
        found.reverse();
        Ok(found)
    }

    /// Messages below a root, whose id is the first value of the condition.
    pub(crate) fn select(
        &self,
        root: &str,
        condition: &str,
        values: &[&dyn ToSql],
    ) -> Result<Vec<Recorded>, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(Vec::new()) };
            let all = std::iter::once(&id as &dyn ToSql).chain(values.iter().copied());
            view.index
                .prepare_cached(&format!("SELECT {COLUMNS} FROM {TABLES} WHERE t.root = ?1 AND {condition}"))?
                .query_map(params_from_iter(all), |row| Recorded::from_row(row, root, view.log))?
                .collect()
        })
    }

    /// What is wrong with the log, if anything is. The index is made anew, if it is that.
    pub fn check(&self) -> Result<Option<String>, LedgerError> {
        let found = check(&self.log.db).map_err(|source| self.failed(source))?;
        if found != "ok" {
            return Ok(Some(found));
        }
        match self.read(|view| check_index(view.index)) {
            Ok(index) if index == "ok" => {}
            Err(error) if !error.is_damage() => return Err(error),
            // It is no reason to give up a log that is whole.
            _ => self.discard_index(),
        }
        Ok(None)
    }

    /// Whether the ledger of an older version was so damaged that not all of its history is here.
    pub fn has_lost_history(&self) -> Result<bool, LedgerError> {
        let asked = self.log.db.query_row("SELECT history = 2 FROM log", params![], |row| row.get(0));
        asked.map_err(|source| self.failed(source))
    }

    /// How many messages there are.
    pub fn count(&self) -> Result<u64, LedgerError> {
        let count = |view: &View<'_>| {
            view.index.query_row("SELECT count(*) FROM messages", params![], |row| row.get::<_, i64>(0))
        };
        self.read(count).map(i64::unsigned_abs)
    }
}

fn check(db: &Connection) -> rusqlite::Result<String> {
    db.query_row("PRAGMA quick_check(1)", params![], |row| row.get(0))
}

/// Of a large index only the pages of its tables are looked at: what is wrong in them is noticed when they are used, and it can
/// be made anew.
fn check_index(db: &Connection) -> rusqlite::Result<String> {
    let pages: i64 = db.query_row("PRAGMA page_count", params![], |row| row.get(0))?;
    if pages <= LARGE_INDEX {
        return check(db);
    }
    for table in ["teams", "inboxes", "speakers", "messages", "stages"] {
        let walk = format!("SELECT count(*) FROM {table} NOT INDEXED");
        db.query_row(&walk, params![], |row| row.get::<_, i64>(0))?;
    }
    Ok("ok".to_owned())
}

/// How we know of a stage: the evidence of an event, or in history a part of it; and the kind of the event.
fn evidence_of(log: &Connection, event: i64, part: Option<i64>) -> rusqlite::Result<(Evidence, Kind)> {
    let found: Option<(Option<String>, i64)> = log
        .prepare_cached("SELECT evidence, kind FROM events WHERE seq = ?1")?
        .query_row([event], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (text, kind) = found.unwrap_or_default();
    let (text, kind) = (text.unwrap_or_default(), Kind::from_code(kind));
    let Some(part) = part.and_then(|part| usize::try_from(part).ok()) else {
        return Ok((Evidence::from_json(&text), kind));
    };
    let stages: Vec<PastStage> = serde_json::from_str(&text).unwrap_or_default();
    let found = stages.into_iter().nth(part).map(|(_, _, evidence)| evidence);
    Ok((found.unwrap_or_else(|| Evidence::from_json(&text)), kind))
}

/// The stages that a message reached by an event from a number on.
pub(crate) fn stages_since(view: &View<'_>, message: i64, first: i64) -> rusqlite::Result<Vec<StageRecord>> {
    view.index
        .prepare_cached(
            "SELECT rank, at, event, part FROM stages WHERE message = ?1 AND event >= ?2 ORDER BY at, rank, frame",
        )?
        .query_map([message, first], |row| {
            let (evidence, kind) = evidence_of(view.log, row.get(2)?, row.get(3)?)?;
            let (stage, at) = (Stage::from_rank(row.get(0)?), row.get(1)?);
            Ok(StageRecord { stage, at, evidence, is_offer: kind == Kind::Offered })
        })?
        .collect()
}
