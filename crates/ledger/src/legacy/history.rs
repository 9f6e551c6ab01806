//! The messages of a sealed ledger, one event each with all that was known.

use std::collections::HashMap;

use rusqlite::{Row, TransactionBehavior};

use crate::legacy::has_column;
use crate::legacy::state::Owner;
use crate::log::append::insert;
use crate::log::event::{Body, Kind, NewEvent, Past, PastStage};
use crate::log::schema::FIRST;
use crate::row::NewMessage;
use crate::seam::{Connection, Transaction};
use crate::stage::{Evidence, Stage};

/// So many messages in one transaction: senders wait for as long as it takes.
const PART: i64 = 2_000;

/// Numbers of messages are below this one.
const MESSAGES_END: i64 = FIRST / 2;

/// What the evidence of an archived message began with.
const ARCHIVED: &str = "archived";

/// A message on its way into the log, under the number that it had.
pub(super) struct Taken {
    seq: i64,
    owner: Owner,
    id: String,
    at: i64,
    body: String,
    stages: String,
}

/// The sealed ledger's messages and stages.
pub(super) struct Source<'a> {
    old: &'a Connection,
    messages: String,
}

/// Ranks as older ledgers had them.
pub(super) fn stage_of(rank: i64) -> Stage {
    match rank {
        20 => Stage::Written,
        22 => Stage::Queued,
        24 => Stage::Restored,
        26 => Stage::Escalated,
        30 => Stage::Taken,
        35 => Stage::Held,
        40 => Stage::Seen,
        50 => Stage::Acked,
        60 => Stage::Done,
        90 => Stage::Failed,
        92 => Stage::Expired,
        _ => Stage::Accepted,
    }
}

impl<'a> Source<'a> {
    pub(super) fn open(old: &'a Connection) -> rusqlite::Result<Self> {
        let column = |name: &str, else_: &str| -> rusqlite::Result<String> {
            let is_there = has_column(old, "sealed_messages", name)?;
            Ok(if is_there { format!("m.{name}") } else { else_.to_owned() })
        };
        let [witnesses, unproved, removing] =
            [column("witnesses", "NULL")?, column("unproved", "0")?, column("removing_since", "NULL")?];
        let messages = format!(
            "SELECT i.root, i.team, i.name, m.seq, m.id, m.sender, m.text, m.summary, m.kind, m.sent_at, m.noticed_at,
                 m.ours, m.rank, m.reply_to, m.thread, m.request_id, m.ack_id, m.ack_by, m.task, m.origin, m.draft,
                 {witnesses}, {unproved}, {removing}
             FROM sealed_messages m JOIN sealed_inboxes i ON i.id = m.inbox
             WHERE m.seq > ?1 ORDER BY m.seq LIMIT ?2"
        );
        Ok(Self { old, messages })
    }

    /// The next messages after a number.
    pub(super) fn read_part(&mut self, from: i64) -> rusqlite::Result<Vec<Taken>> {
        let mut part: Vec<Taken> = self
            .old
            .prepare_cached(&self.messages)?
            .query_map([from, PART], Taken::from_row)?
            .collect::<rusqlite::Result<_>>()?;
        let Some(last) = part.last().map(|taken| taken.seq) else { return Ok(part) };
        let mut stages: HashMap<i64, Vec<PastStage>> = HashMap::new();
        let mut ask = self.old.prepare_cached(
            "SELECT message, rank, at, evidence FROM sealed_stages WHERE message > ?1 AND message <= ?2
             ORDER BY message, at, rank",
        )?;
        let mut rows = ask.query([from, last])?;
        while let Some(row) = rows.next()? {
            let mut evidence = Evidence::from_json(&row.get::<_, String>(3)?);
            evidence.archived |= evidence.what.starts_with(ARCHIVED);
            stages.entry(row.get(0)?).or_default().push((stage_of(row.get(1)?), row.get(2)?, evidence));
        }
        for taken in &mut part {
            let known = stages.remove(&taken.seq).unwrap_or_default();
            taken.stages = serde_json::to_string(&known).unwrap_or_default();
        }
        Ok(part)
    }
}

impl Taken {
    fn from_row(row: &Row) -> rusqlite::Result<Self> {
        let message = NewMessage {
            id: row.get(4)?,
            sender: row.get(5)?,
            text: row.get(6)?,
            summary: row.get(7)?,
            kind: row.get(8)?,
            sent_at: row.get(9)?,
            reply_to: row.get(13)?,
            thread: row.get(14)?,
            request_id: row.get(15)?,
            ack_id: row.get(16)?,
            ack_by: row.get(17)?,
            task: row.get(18)?,
            origin: row.get(19)?,
            machine: None,
            home: None,
        };
        let draft: Option<String> = row.get(20)?;
        let mut body = Body::new(&message, draft.as_deref());
        body.past = Some(Past {
            stage: Some(stage_of(row.get(12)?)),
            ours: row.get(11)?,
            witnesses: row.get(21)?,
            unproved: row.get(22)?,
            removing_since: row.get(23)?,
        });
        Ok(Self {
            seq: row.get(3)?,
            owner: Owner::from_row(row)?,
            id: message.id,
            at: row.get(10)?,
            body: body.to_json(),
            stages: String::new(),
        })
    }
}

/// The last message that is in the log.
pub(super) fn last_taken(log: &Connection) -> rusqlite::Result<i64> {
    log.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE seq < ?1")?
        .query_row([MESSAGES_END], |row| row.get(0))
}

/// Brings a part into the log; an empty one ends it. Says whether it has ended.
pub(super) fn write_part(log: &Connection, part: &[Taken]) -> rusqlite::Result<bool> {
    let transaction = Transaction::new_unchecked(log, TransactionBehavior::Immediate)?;
    // Another process may have brought some of it meanwhile.
    let last = last_taken(&transaction)?;
    for taken in part.iter().filter(|taken| taken.seq > last) {
        let key = taken.owner.key(&transaction)?;
        let event = NewEvent::of(Kind::History, taken.at, key, &taken.id);
        insert(&transaction, Some(taken.seq), &event.evidence(&taken.stages).body(Some(&taken.body)))?;
    }
    if part.is_empty() {
        end(&transaction, End::All)?;
    }
    transaction.commit()?;
    Ok(part.is_empty())
}

/// Why no more is taken over, as the log's `history` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    All = 0,
    Damage = 2,
}

/// Ends the takeover, unless another process did.
pub(super) fn end(log: &Connection, why: End) -> rusqlite::Result<()> {
    log.prepare_cached("UPDATE log SET history = ?1 WHERE history = 1")?.execute([why as i64]).map(drop)
}
