//! Rates and waiting times.

use rusqlite::params;
use serde::Serialize;

use crate::error::LedgerError;
use crate::log::append::root_id;
use crate::log::event::RootId;
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::Stage;

/// How many, of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Of what.
    pub key: String,
    /// How many.
    pub messages: u64,
}

/// How long it took from sent to a stage, in milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Waits {
    /// To which stage.
    pub stage: Stage,
    /// How many messages reached it.
    pub messages: usize,
    /// Half of them took no longer.
    pub p50: i64,
    /// Nine of ten took no longer.
    pub p90: i64,
    /// Ninety-nine of a hundred took no longer.
    pub p99: i64,
}

/// What happened in a window of time.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// From when, in milliseconds since the epoch.
    pub since: i64,
    /// Until when.
    pub until: i64,
    /// How many messages were sent.
    pub messages: u64,
    /// Per minute.
    pub per_minute: f64,
    /// By sender, most first.
    pub by_sender: Vec<Count>,
    /// By kind, most first.
    pub by_type: Vec<Count>,
    /// By team, most first.
    pub by_team: Vec<Count>,
    /// Messages in each of equal parts of the window.
    pub over_time: Vec<u64>,
    /// How long it took to be taken, seen and acknowledged.
    pub waits: Vec<Waits>,
}

impl Ledger {
    /// Counts what was sent in a window, in `parts` equal parts.
    pub fn stats(
        &self,
        root: &str,
        team: Option<&str>,
        (since, until): (i64, i64),
        parts: usize,
    ) -> Result<Stats, LedgerError> {
        self.read(|view| {
            let Some(root) = root_id(view.log, root)? else { return Ok(Stats::empty(since, until, parts)) };
            count_up(view.index, root, team, (since, until), parts)
        })
    }
}

/// Of so many answers the average is made, the newest.
const ANSWERS: i64 = 1000;

impl Ledger {
    /// How long the owner of an inbox takes to answer what is asked of it, on average, in milliseconds. What was found
    /// answered at the first look says nothing of when.
    pub fn response_time(&self, inbox: &InboxKey) -> Result<Option<f64>, LedgerError> {
        self.read(|view| {
            let Some(root) = root_id(view.log, &inbox.root)? else { return Ok(None) };
            view.index
                .prepare_cached(
                    "SELECT avg(took) FROM (
                         SELECT min(s.at) - m.sent_at AS took
                         FROM messages m JOIN inboxes i ON i.id = m.inbox JOIN teams t ON t.id = i.team
                              JOIN stages s ON s.message = m.seq AND s.rank = ?4 AND s.bound = 0
                         WHERE t.root = ?1 AND t.team = ?2 AND i.name = ?3 AND m.sender <> ?3
                         GROUP BY m.seq ORDER BY m.seq DESC LIMIT ?5)
                     WHERE took >= 0",
                )?
                .query_row(params![root, inbox.team, inbox.name, Stage::Done.rank(), ANSWERS], |row| {
                    row.get(0)
                })
        })
    }
}

impl Stats {
    fn empty(since: i64, until: i64, parts: usize) -> Self {
        Self {
            since,
            until,
            messages: 0,
            per_minute: 0.0,
            by_sender: Vec::new(),
            by_type: Vec::new(),
            by_team: Vec::new(),
            over_time: vec![0; parts.max(1)],
            waits: Vec::new(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn count_up(
    db: &Connection,
    root: RootId,
    team: Option<&str>,
    (since, until): (i64, i64),
    parts: usize,
) -> rusqlite::Result<Stats> {
    const WINDOW: &str = "FROM messages m JOIN teams t ON t.id = m.team
        WHERE t.root = ?1 AND (?2 IS NULL OR t.team = ?2) AND m.sent_at >= ?3 AND m.sent_at <= ?4";
    let window = params![root, team, since, until];
    let by = |column: &str| -> rusqlite::Result<Vec<Count>> {
        db.prepare_cached(&format!(
            "SELECT {column}, count(*) {WINDOW} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20"
        ))?
        .query_map(window, |row| {
            Ok(Count { key: row.get(0)?, messages: row.get::<_, i64>(1)?.unsigned_abs() })
        })?
        .collect()
    };
    let messages: i64 =
        db.prepare_cached(&format!("SELECT count(*) {WINDOW}"))?.query_row(window, |r| r.get(0))?;
    let mut over_time = vec![0; parts.max(1)];
    let length = (until - since).max(1);
    let mut times = db.prepare_cached(&format!("SELECT m.sent_at {WINDOW}"))?;
    for sent in times.query_map(window, |row| row.get::<_, i64>(0))? {
        let share = (i128::from(sent? - since)) * (over_time.len() as i128) / i128::from(length);
        let last = over_time.len() - 1;
        over_time[usize::try_from(share).unwrap_or(0).min(last)] += 1;
    }
    let mut waits = Vec::new();
    // When a message was taken of which only its absence is known, nobody can say; nor when something happened that was
    // found at the first look.
    for stage in [Stage::Taken, Stage::Seen, Stage::Acked] {
        let mut took: Vec<i64> = db.prepare_cached(&format!(
                "SELECT (SELECT min(at) FROM stages s WHERE s.message = m.seq AND s.rank = ?5) - m.sent_at {WINDOW}
                 AND (m.unproved = 0 OR ?5 <> 30) AND EXISTS (SELECT 1 FROM stages s WHERE s.message = m.seq AND s.rank = ?5)
                 AND NOT EXISTS (SELECT 1 FROM stages s WHERE s.message = m.seq AND s.rank = ?5 AND s.bound)"
            ))?
            .query_map(params![root, team, since, until, stage.rank()], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        took.sort_unstable();
        let at = |percent: usize| {
            took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).copied()
        };
        if let (Some(p50), Some(p90), Some(p99)) = (at(50), at(90), at(99)) {
            waits.push(Waits { stage, messages: took.len(), p50, p90, p99 });
        }
    }
    Ok(Stats {
        since,
        until,
        messages: messages.unsigned_abs(),
        per_minute: messages as f64 * 60_000.0 / length as f64,
        by_sender: by("m.sender")?,
        by_type: by("m.kind")?,
        by_team: by("t.team")?,
        over_time,
        waits,
    })
}
