//! What became of a message.

use rusqlite::{Row, ToSql, params, params_from_iter};

use crate::error::LedgerError;
use crate::open::Ledger;
use crate::record::{has_reached, number_of};
use crate::row::InboxKey;
use crate::stage::{Evidence, Stage};

/// A message as the ledger has it.
#[derive(Debug, Clone)]
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
}

/// The columns of [`Recorded`], for every query that gives some.
pub(crate) const COLUMNS: &str =
    "m.seq, i.root, i.team, i.name, m.id, m.sender, m.text, m.summary, m.kind, m.sent_at,
    m.noticed_at, m.ours, m.rank, m.reply_to, m.thread, m.request_id, m.ack_id, m.ack_by, m.origin, m.unproved AND m.rank = 30";

impl Recorded {
    pub(crate) fn from_row(row: &Row) -> rusqlite::Result<Self> {
        Ok(Self {
            seq: row.get(0)?,
            inbox: InboxKey::from_row(row, 1)?,
            id: row.get(4)?,
            sender: row.get(5)?,
            text: row.get(6)?,
            summary: row.get(7)?,
            kind: row.get(8)?,
            sent_at: row.get(9)?,
            noticed_at: row.get(10)?,
            ours: row.get(11)?,
            stage: Stage::from_rank(row.get(12)?),
            reply_to: row.get(13)?,
            thread: row.get(14)?,
            request_id: row.get(15)?,
            ack_id: row.get(16)?,
            ack_by: row.get(17)?,
            origin: row.get(18)?,
            is_unproved: row.get(19)?,
        })
    }
}

impl Ledger {
    /// Messages with this id, or whose id starts or ends with it; one message to many has one id each.
    pub fn find(&self, root: &str, id: &str, by_part: bool) -> Result<Vec<Recorded>, LedgerError> {
        let exact = self.select("WHERE i.root = ?1 AND m.id = ?2 ORDER BY m.seq", &[&root, &id])?;
        if !exact.is_empty() || !by_part {
            return Ok(exact);
        }
        let (head, next) = (id, format!("{id}\u{10ffff}"));
        let by_head = self.select(
            "WHERE i.root = ?1 AND m.id >= ?2 AND m.id < ?3 ORDER BY m.seq LIMIT 50",
            &[&root, &head, &next],
        )?;
        if !by_head.is_empty() {
            return Ok(by_head);
        }
        // The end of an id has no index: only the newest are looked at.
        let tail = format!("%{}", id.replace(['%', '_'], ""));
        let newest = "WHERE i.root = ?1 AND m.seq > (SELECT max(seq) - 20000 FROM messages) AND m.id LIKE ?2
                      ORDER BY m.seq LIMIT 50";
        self.select(newest, &[&root, &tail])
    }

    /// The stages of a message, in the order of their times.
    pub fn stages(&self, message: &Recorded) -> Result<Vec<StageRecord>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<StageRecord>> {
            self.filed()?
                .prepare_cached("SELECT rank, at, evidence FROM stages WHERE message = ?1 ORDER BY at, rank")?
                .query_map([message.seq], |row| {
                    let evidence = Evidence::from_json(&row.get::<_, String>(2)?);
                    Ok(StageRecord { stage: Stage::from_rank(row.get(0)?), at: row.get(1)?, evidence })
                })?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The conversation that a message belongs to, oldest first.
    pub fn thread(&self, message: &Recorded) -> Result<Vec<Recorded>, LedgerError> {
        let first = message.thread.as_ref().unwrap_or(&message.id);
        let root = &message.inbox.root;
        self.select(
            "WHERE i.root = ?1 AND (m.id = ?2 OR m.thread = ?2 OR m.reply_to = ?2) ORDER BY m.sent_at, m.seq",
            &[root, first],
        )
    }

    /// The messages about one request.
    pub fn request(&self, root: &str, request: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select("WHERE i.root = ?1 AND m.request_id = ?2 ORDER BY m.seq", &[&root, &request])
    }

    /// The requests of a type that were put to somebody and are not decided, oldest first.
    pub fn open_requests(&self, inbox: &InboxKey, kind: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND i.name = ?3 AND m.request_id IS NOT NULL AND m.kind = ?4
             AND m.rank < 60 ORDER BY m.seq",
            &[&inbox.root, &inbox.team, &inbox.name, &kind],
        )
    }

    /// All requests of a type in a team, oldest first.
    pub fn requests(&self, root: &str, team: &str, kind: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND m.request_id IS NOT NULL AND m.kind = ?3 ORDER BY m.seq",
            &[&root, &team, &kind],
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
        self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND m.sender = ?3 AND m.kind = ?4 AND m.sent_at >= ?5
             ORDER BY m.sent_at",
            &[&root, &team, &sender, &kind, &since],
        )
    }

    /// The last that somebody said to anybody in a team.
    pub fn last_word(&self, root: &str, team: &str, sender: &str) -> Result<Option<Recorded>, LedgerError> {
        let mut said = self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND m.sender = ?3 ORDER BY m.sent_at DESC, m.seq DESC LIMIT 1",
            &[&root, &team, &sender],
        )?;
        Ok(said.pop())
    }

    /// Whether somebody took mail of its inbox after a time, as far as that is known for certain.
    pub fn took_since(&self, inbox: &InboxKey, at: i64) -> Result<bool, LedgerError> {
        let query = || -> rusqlite::Result<bool> {
            let db = self.filed()?;
            let Some(number) = inbox.find(db)? else { return Ok(false) };
            db.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM stages s JOIN messages m ON m.seq = s.message
                     WHERE m.inbox = ?1 AND s.rank = 30 AND s.at > ?2 AND s.evidence ->> 'sure' = 'certain')",
            )?
            .query_row(params![number, at], |row| row.get(0))
        };
        query().map_err(|source| self.failed(source))
    }

    /// The assignments of a task to somebody.
    pub fn assignments(&self, inbox: &InboxKey, task: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND i.name = ?3 AND m.task = ?4 AND m.kind = 'task_assignment'
             ORDER BY m.seq",
            &[&inbox.root, &inbox.team, &inbox.name, &task],
        )
    }

    /// The inboxes of which something still waits for its recipient.
    pub fn inboxes_with_open(&self, root: &str) -> Result<Vec<InboxKey>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<InboxKey>> {
            self.filed()?.prepare_cached(
                    "SELECT i.root, i.team, i.name FROM inboxes i WHERE i.root = ?1
                     AND EXISTS (SELECT 1 FROM messages m WHERE m.inbox = i.id AND m.rank < 30 AND m.rank < 40)",
                )?
                .query_map([root], |row| InboxKey::from_row(row, 0))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The messages that an acknowledgment of this name means.
    pub fn acknowledged_by(&self, root: &str, ack: &str) -> Result<Vec<Recorded>, LedgerError> {
        self.select("WHERE i.root = ?1 AND (m.ack_id = ?2 OR m.id = ?2) ORDER BY m.seq", &[&root, &ack])
    }

    /// What waits: accepted and not written, queued and without a sign of work since, wanting an acknowledgment and without one, held, gone without
    /// a proof that it was taken, or taken since `lately` and not seen. At most so many, the newest; oldest first.
    pub fn pending(
        &self,
        root: &str,
        team: &str,
        lately: i64,
        limit: usize,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = self.select(
            "WHERE i.root = ?1 AND i.team = ?2 AND m.seq IN (
                 SELECT seq FROM messages WHERE rank < 40 AND (rank = 10 OR rank >= 22)
                     AND (rank < 30 OR rank = 35 OR noticed_at >= ?3 OR unproved = 1)
                 UNION SELECT seq FROM messages WHERE ack_by IS NOT NULL AND rank < 50
                 UNION SELECT seq FROM messages WHERE queued = 1 AND rank < 50)
             ORDER BY m.seq DESC LIMIT ?4",
            &[&root, &team, &lately, &limit],
        )?;
        found.reverse();
        Ok(found)
    }

    /// Whether a message ever reached a stage.
    pub fn has_reached(&self, inbox: &InboxKey, id: &str, stage: Stage) -> Result<bool, LedgerError> {
        let query = || -> rusqlite::Result<bool> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(false) };
            number_of(db, inbox, id)?.map_or(Ok(false), |message| has_reached(db, message, stage))
        };
        query().map_err(|source| self.failed(source))
    }

    /// Whether it is on record that a message was moved into the archive.
    pub fn is_archived(&self, inbox: &InboxKey, id: &str) -> Result<bool, LedgerError> {
        let query = || -> rusqlite::Result<bool> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(false) };
            db.prepare_cached(
                "SELECT 1 FROM stages s JOIN messages m ON m.seq = s.message
                     WHERE m.inbox = ?1 AND m.id = ?2 AND s.evidence LIKE '{\"what\":\"' || ?3 || '%'",
            )?
            .exists(params![inbox, id, Evidence::ARCHIVED])
        };
        query().map_err(|source| self.failed(source))
    }

    /// The last so many messages, oldest first.
    pub fn latest(&self, root: &str, team: Option<&str>, limit: usize) -> Result<Vec<Recorded>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = self.select(
            "WHERE i.root = ?1 AND (?2 IS NULL OR i.team = ?2) ORDER BY m.seq DESC LIMIT ?3",
            &[&root, &team, &limit],
        )?;
        found.reverse();
        Ok(found)
    }

    pub(crate) fn select(&self, clause: &str, values: &[&dyn ToSql]) -> Result<Vec<Recorded>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<Recorded>> {
            self.filed()?
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM messages m JOIN inboxes i ON i.id = m.inbox {clause}"
                ))?
                .query_map(params_from_iter(values), Recorded::from_row)?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// What is wrong with the database, if anything is.
    pub fn check(&self) -> Result<Option<String>, LedgerError> {
        let said: String = self
            .db
            .query_row("PRAGMA quick_check(1)", params![], |row| row.get(0))
            .map_err(|source| self.failed(source))?;
        Ok((said != "ok").then_some(said))
    }

    /// How many messages there are.
    pub fn count(&self) -> Result<u64, LedgerError> {
        let query = || {
            self.filed()?.query_row("SELECT count(*) FROM messages", params![], |row| row.get::<_, i64>(0))
        };
        query().map(i64::unsigned_abs).map_err(|source| self.failed(source))
    }
}
