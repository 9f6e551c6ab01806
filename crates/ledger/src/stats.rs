//! Rates and waiting times.

use std::collections::HashMap;

use rusqlite::params;
use serde::Serialize;

use crate::error::LedgerError;
use crate::log::append::{incarnation, root_id};
use crate::log::event::RootId;
use crate::open::Ledger;
use crate::record::find_team;
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::Stage;

/// So many of each kind are named.
const MOST: usize = 20;
/// Where one of so many events is about a message that is asked for, all of them are walked through.
const DENSE: i64 = 32;

/// How many, of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Of what.
    pub key: String,
    /// How many.
    pub messages: u64,
}

/// The bounds between the parts of a distribution of waiting times, in milliseconds: about three to each power of ten, at times
/// that people have words for.
const BOUNDS: [i64; 16] = [
    10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 60_000, 180_000, 600_000, 1_800_000, 3_600_000,
    10_800_000, 36_000_000, 86_400_000,
];

/// How many messages took about as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Part {
    /// They took less than this, in milliseconds, and no less than the part before says. The last part has no end.
    pub below_ms: Option<i64>,
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
    /// How many took how long, in parts that grow.
    pub distribution: Vec<Part>,
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
    /// Counts what was sent in a window, in `parts` equal parts: in these teams, or in all if none is named.
    pub fn stats(
        &self,
        root: &str,
        teams: &[&str],
        (since, until): (i64, i64),
        parts: usize,
    ) -> Result<Stats, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(Stats::empty(since, until, parts)) };
            let find = |team: &&str| find_team(view, root, team).transpose();
            let found: Vec<i64> = teams.iter().filter_map(find).collect::<rusqlite::Result<_>>()?;
            if found.is_empty() && !teams.is_empty() {
                return Ok(Stats::empty(since, until, parts));
            }
            count_up(view.index, id, &found, (since, until), parts)
        })
    }
}

/// Of so many answers the average is made, the newest.
const ANSWERS: i64 = 1000;

impl Ledger {
    /// How long the owner of an inbox takes to answer what is asked of it, on average, in milliseconds: in the team that
    /// has the name now. What was found
    /// answered at the first look says nothing of when.
    pub fn response_time(&self, inbox: &InboxKey) -> Result<Option<f64>, LedgerError> {
        self.read(|view| {
            let Some(root) = root_id(view.log, &inbox.root)? else { return Ok(None) };
            let now = incarnation(view.log, root, &inbox.team)?;
            view.index
                .prepare_cached(
                    "SELECT avg(took) FROM (
                         SELECT min(s.at) - m.sent_at AS took
                         FROM messages m JOIN inboxes i ON i.id = m.inbox JOIN teams t ON t.id = i.team
                              JOIN stages s ON s.message = m.seq AND s.rank = ?4 AND s.bound = 0
                         WHERE t.root = ?1 AND t.team = ?2 AND t.incarnation = ?6 AND i.name = ?3 AND m.sender <> ?3
                         GROUP BY m.seq ORDER BY m.seq DESC LIMIT ?5)
                     WHERE took >= 0",
                )?
                .query_row(
                    params![root, inbox.team, inbox.name, Stage::Done.rank(), ANSWERS, now.0],
                    |row| row.get(0),
                )
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

/// What is counted of the messages of a window, in one pass.
struct Tally {
    messages: Vec<Counted>,
    by_sender: HashMap<String, u64>,
    by_type: HashMap<String, u64>,
    by_team: HashMap<i64, u64>,
    over_time: Vec<u64>,
}

struct Counted {
    seq: i64,
    sent_at: i64,
    is_unproved: bool,
}

fn count_up(
    db: &Connection,
    root: RootId,
    named: &[i64],
    window: (i64, i64),
    parts: usize,
) -> rusqlite::Result<Stats> {
    let mut teams: HashMap<i64, String> = db
        .prepare_cached("SELECT id, team FROM teams WHERE root = ?1")?
        .query_map(params![root], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    teams.retain(|id, _| named.is_empty() || named.contains(id));
    let mut tally = Tally::of(db, &teams, window, parts)?;
    let waits = tally.waits(db)?;
    let (since, until) = window;
    let by_team = tally.by_team.into_iter().filter_map(|(id, count)| Some((teams.get(&id)?.clone(), count)));
    Ok(Stats {
        since,
        until,
        messages: tally.messages.len() as u64,
        per_minute: per_minute(tally.messages.len(), length_of(window)),
        by_sender: most(tally.by_sender),
        by_type: most(tally.by_type),
        by_team: most(by_team),
        over_time: tally.over_time,
        waits,
    })
}

fn length_of((since, until): (i64, i64)) -> i64 {
    until.saturating_sub(since).max(1)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn per_minute(messages: usize, length: i64) -> f64 {
    messages as f64 * 60_000.0 / length as f64
}

/// Most first, of which there are at most so many.
fn most(counts: impl IntoIterator<Item = (String, u64)>) -> Vec<Count> {
    let mut counts: Vec<Count> = counts.into_iter().map(|(key, messages)| Count { key, messages }).collect();
    counts.sort_by(|a, b| b.messages.cmp(&a.messages).then_with(|| a.key.cmp(&b.key)));
    counts.truncate(MOST);
    counts
}

/// One more of a key.
fn add(counts: &mut HashMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => _ = counts.insert(key.to_owned(), 1),
    }
}

impl Tally {
    /// By the index of times, so that what was sent before costs nothing.
    fn of(
        db: &Connection,
        teams: &HashMap<i64, String>,
        (since, until): (i64, i64),
        parts: usize,
    ) -> rusqlite::Result<Self> {
        let mut tally = Self {
            messages: Vec::new(),
            by_sender: HashMap::new(),
            by_type: HashMap::new(),
            by_team: HashMap::new(),
            over_time: vec![0; parts.max(1)],
        };
        let length = length_of((since, until));
        let last = tally.over_time.len() - 1;
        let mut sent = db.prepare_cached(
            "SELECT seq, sent_at, team, unproved, sender, kind FROM messages INDEXED BY messages_time
             WHERE sent_at >= ?1 AND sent_at <= ?2",
        )?;
        let mut rows = sent.query([since, until])?;
        while let Some(row) = rows.next()? {
            let team: i64 = row.get(2)?;
            if !teams.contains_key(&team) {
                continue;
            }
            let sent_at: i64 = row.get(1)?;
            *tally.by_team.entry(team).or_default() += 1;
            add(&mut tally.by_sender, row.get_ref(4)?.as_str()?);
            add(&mut tally.by_type, row.get_ref(5)?.as_str()?);
            let share = (i128::from(sent_at) - i128::from(since)) * (tally.over_time.len() as i128)
                / i128::from(length);
            tally.over_time[usize::try_from(share).unwrap_or(0).min(last)] += 1;
            tally.messages.push(Counted { seq: row.get(0)?, sent_at, is_unproved: row.get(3)? });
        }
        Ok(tally)
    }

    /// How long it took to be taken, seen and acknowledged. When a message was taken of which only its absence is known,
    /// nobody can say; nor when something happened that was found at the first look.
    fn waits(&mut self, db: &Connection) -> rusqlite::Result<Vec<Waits>> {
        self.messages.sort_unstable_by_key(|message| message.seq);
        let stages = [Stage::Taken, Stage::Seen, Stage::Acked];
        let mut took = stages.map(|_| Vec::new());
        let mut note = |message: &Counted, (rank, at, is_bound): (i64, i64, bool)| {
            let number = stages.iter().position(|stage| stage.rank() == rank);
            let is_unknown = is_bound || (message.is_unproved && rank == Stage::Taken.rank());
            if let Some(number) = number.filter(|_| !is_unknown) {
                took[number].push(at - message.sent_at);
            }
        };
        let (Some(first), Some(last)) = (self.messages.first(), self.messages.last()) else {
            return Ok(Vec::new());
        };
        let span = last.seq.saturating_sub(first.seq) / DENSE;
        if i64::try_from(self.messages.len()).is_ok_and(|count| count > span) {
            // Most of what lies between is asked for: one walk through it.
            let mut reached = db.prepare_cached(
                "SELECT message, rank, min(at), max(bound) FROM stages
                 WHERE message >= ?1 AND message <= ?2 AND rank IN (30, 40, 50) GROUP BY message, rank",
            )?;
            let mut rows = reached.query([first.seq, last.seq])?;
            let mut messages = self.messages.iter().peekable();
            while let Some(row) = rows.next()? {
                let seq: i64 = row.get(0)?;
                while messages.next_if(|message| message.seq < seq).is_some() {}
                if let Some(message) = messages.peek().filter(|message| message.seq == seq) {
                    note(message, (row.get(1)?, row.get(2)?, row.get(3)?));
                }
            }
        } else {
            let mut reached = db.prepare_cached(
                "SELECT rank, min(at), max(bound) FROM stages WHERE message = ?1 AND rank IN (30, 40, 50) GROUP BY rank",
            )?;
            for message in &self.messages {
                let mut rows = reached.query([message.seq])?;
                while let Some(row) = rows.next()? {
                    note(message, (row.get(0)?, row.get(1)?, row.get(2)?));
                }
            }
        }
        let all = stages.into_iter().zip(took);
        Ok(all.filter_map(|(stage, took)| Waits::of(stage, took)).collect())
    }
}

impl Waits {
    fn of(stage: Stage, mut took: Vec<i64>) -> Option<Self> {
        took.sort_unstable();
        let at = |percent: usize| {
            took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).copied()
        };
        let (p50, p90, p99) = (at(50)?, at(90)?, at(99)?);
        Some(Self { stage, messages: took.len(), p50, p90, p99, distribution: distribution(&took) })
    }
}

/// The parts of waiting times that are sorted.
fn distribution(took: &[i64]) -> Vec<Part> {
    let mut counted = 0;
    let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
    let part = |bound: Option<i64>| {
        let end = bound.map_or(took.len(), |bound| took.partition_point(|time| *time < bound));
        let messages = (end - counted) as u64;
        counted = end;
        Part { below_ms: bound, messages }
    };
    bounds.map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_one_part() {
        let mut took = vec![-5, 0, 9, 10, 29, 30, 999, 1_000, 86_399_999, 86_400_000, i64::MAX];
        took.sort_unstable();
        let parts = distribution(&took);
        assert_eq!(parts.iter().map(|part| part.messages).sum::<u64>(), took.len() as u64);
        let in_part = |bound: Option<i64>| parts.iter().find(|part| part.below_ms == bound).unwrap().messages;
        assert_eq!([Some(10), Some(30), Some(100), Some(300)].map(in_part), [3, 2, 1, 0]);
        assert_eq!([Some(1_000), Some(3_000), Some(86_400_000), None].map(in_part), [1, 1, 1, 2]);
        assert_eq!(distribution(&[]).len(), BOUNDS.len() + 1);
    }
}
