//! Mail between machines: what is accepted for another one, and what another one tells of it.
//!
//! A message for another machine waits like every other one, and ends to wait when that machine has told that it is
//! written there. What it tells are events of its log: they keep their id and origin, and are appended once.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};
use uuid::Uuid;

use crate::arrivals::{draft_in, stop_waiting};
use crate::error::LedgerError;
use crate::log::append::{append, root_id};
use crate::log::event::{Body, Incarnation, Key, Kind, NewEvent, RootId};
use crate::lookup::Recorded;
use crate::open::Ledger;
use crate::record::{draft_of, find_inbox, find_team};
use crate::row::{InboxKey, NewMessage};
use crate::seam::Connection;
use crate::stage::{Evidence, Stage, WITHDRAWN};

/// Senders of a team with a dot in their names. Each is looked up behind the one before it: that is a step in an index for each
/// sender, where `DISTINCT` reads an entry for each message.
const DOTTED_SENDERS: &str = "\
WITH RECURSIVE senders (name) AS (
  SELECT min(sender) FROM messages WHERE team = ?1
  UNION ALL
  SELECT (SELECT min(sender) FROM messages WHERE team = ?1 AND sender > name) FROM senders WHERE name IS NOT NULL
)
SELECT name FROM senders WHERE instr(name, '.') > 0";

/// Bytes of drafts that are read together: a page ends behind the draft that reaches them.
const MOST_BYTES: usize = 4 << 20;

/// A message that is accepted and not written.
#[derive(Debug, Clone)]
pub struct Undelivered {
    /// The number of the event by which it was accepted: it grows, and is never given twice within one log.
    pub number: i64,
    /// For whom.
    pub inbox: InboxKey,
    /// Its id.
    pub id: String,
    /// When it was accepted, in milliseconds since the epoch.
    pub at: i64,
    /// All that it takes to write it, in the office's own words.
    pub draft: String,
}

/// What another machine tells of a message.
#[derive(Debug, Clone)]
pub struct Received {
    /// Which.
    pub message: Recorded,
    /// How far it came there.
    pub stage: Stage,
    /// It failed without ever being written there. If it is written after all, it has not failed.
    pub is_unwritten: bool,
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// How that is known there.
    pub evidence: Evidence,
    /// The log that saw it, and the id of the event there.
    pub origin: (Uuid, Uuid),
}

impl Received {
    fn kind(&self) -> Kind {
        if self.is_withdrawal() { Kind::Withdrawn } else { Kind::from(self.stage) }
    }

    fn rank(&self) -> i64 {
        if self.is_withdrawal() { WITHDRAWN } else { self.stage.rank() }
    }

    fn is_withdrawal(&self) -> bool {
        self.stage == Stage::Failed && self.is_unwritten
    }
}

impl Ledger {
    /// The epoch of this log, which is another one if the log was lost, and the origin of its events.
    pub fn identity(&self) -> Result<(Uuid, Uuid), LedgerError> {
        let ask = || -> rusqlite::Result<(Uuid, Uuid)> {
            self.log
                .db
                .prepare_cached("SELECT epoch, origin FROM log")?
                .query_row([], |row| Ok((Uuid::from_bytes(row.get(0)?), Uuid::from_bytes(row.get(1)?))))
        };
        ask().map_err(|source| self.failed(source))
    }

    /// What is accepted below a root and not written, after a number, oldest first, at most so many, and fewer where they are
    /// large. None: there is no more.
    pub fn undelivered(&self, root: &str, after: i64, most: usize) -> Result<Vec<Undelivered>, LedgerError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let ask = || -> rusqlite::Result<Vec<Undelivered>> {
            let Some(id) = root_id(&self.log.db, root)? else { return Ok(Vec::new()) };
            let mut statement = self.log.db.prepare_cached(
                "SELECT w.seq, w.team, w.member, w.message, e.at, e.body FROM waiting w
                 JOIN events e ON e.seq = w.seq WHERE w.seq > ?2 AND w.root = ?1 ORDER BY w.seq LIMIT ?3",
            )?;
            let mut rows = statement.query(params![id, after, most])?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while bytes < MOST_BYTES
                && let Some(row) = rows.next()?
            {
                let draft = draft_in(row.get(5)?).unwrap_or_default();
                bytes += draft.len();
                found.push(Undelivered {
                    number: row.get(0)?,
                    inbox: InboxKey { root: root.to_owned(), team: row.get(1)?, name: row.get(2)? },
                    id: row.get(3)?,
                    at: row.get(4)?,
                    draft,
                });
            }
            Ok(found)
        };
        ask().map_err(|source| self.failed(source))
    }

    /// Which of these numbers are of messages that still wait.
    pub fn still_undelivered(&self, numbers: &[i64]) -> Result<HashSet<i64>, LedgerError> {
        let ask = || -> rusqlite::Result<HashSet<i64>> {
            let mut waits = self.log.db.prepare_cached("SELECT 1 FROM waiting WHERE seq = ?1")?;
            let mut found = HashSet::new();
            for number in numbers {
                if waits.exists([number])? {
                    found.insert(*number);
                }
            }
            Ok(found)
        };
        ask().map_err(|source| self.failed(source))
    }

    /// Those of other teams who have written to a team's members whose homes are other machines, and whose names begin so: name and
    /// team of each.
    pub fn writers_elsewhere(
        &self,
        root: &str,
        team: &str,
        beginning: &str,
    ) -> Result<Vec<(String, String)>, LedgerError> {
        self.read(|view| {
            let Some(number) = find_team(view, root, team)? else { return Ok(Vec::new()) };
            let behind = format!("{beginning}{}", char::MAX);
            view.index
                .prepare_cached(
                    "SELECT DISTINCT sender, origin FROM messages WHERE team = ?1 AND sender >= ?2 AND sender < ?3
                     AND origin IS NOT NULL AND elsewhere",
                )?
                .query_map(params![number, beginning, behind], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }

    /// The teams in which somebody has not seen mail that came from members of another team.
    pub fn teams_with_unseen_mail_of(&self, root: &str, origin: &str) -> Result<Vec<String>, LedgerError> {
        self.read(|view| {
            let Some(root) = root_id(view.log, root)? else { return Ok(Vec::new()) };
            view.index
                .prepare_cached(
                    "SELECT DISTINCT t.team FROM messages m JOIN teams t ON t.id = m.team
                     WHERE m.open = 1 AND m.origin = ?2 AND t.root = ?1",
                )?
                .query_map(params![root, origin], |row| row.get(0))?
                .collect()
        })
    }

    /// Everybody who wrote in a team under a name with a dot in it, as those have whom no machine announces.
    pub fn dotted_senders(&self, root: &str, team: &str) -> Result<Vec<String>, LedgerError> {
        self.read(|view| {
            let Some(number) = find_team(view, root, team)? else { return Ok(Vec::new()) };
            let mut senders = view.index.prepare_cached(DOTTED_SENDERS)?;
            senders.query_map(params![number], |row| row.get(0))?.collect()
        })
    }

    /// The message with this id in an inbox, if the ledger knows it.
    pub fn message_in(&self, inbox: &InboxKey, id: &str) -> Result<Option<Recorded>, LedgerError> {
        let Some(number) = self.read(|view| find_inbox(view, inbox))? else { return Ok(None) };
        Ok(self.select(&inbox.root, "m.id = ?2 AND m.inbox = ?3", &[&id, &number])?.pop())
    }

    /// All that it takes to write a message again that was found, also one of a team that had the name before.
    pub fn draft_of(&self, message: &Recorded) -> Result<Option<String>, LedgerError> {
        self.read(|view| draft_of(view, message.seq))
    }

    /// Records a message from another machine that is written into no inbox, and what came of it: it is known from here on,
    /// and waits nowhere.
    pub fn settle(
        &mut self,
        inbox: &InboxKey,
        message: &NewMessage,
        stage: Stage,
        now: i64,
        evidence: &Evidence,
    ) -> Result<(), LedgerError> {
        let (evidence, id) = (evidence.to_json(), message.id.as_str());
        let body = Body::new(message, None).to_json();
        self.append(|log| {
            let key = inbox.make_key(log)?;
            let event = |kind| NewEvent::of(kind, now, key, id).evidence(&evidence);
            append(log, &event(Kind::Accepted).body(Some(&body)))?;
            append(log, &event(Kind::from(stage))).map(drop)
        })
    }

    /// Records what another machine tells of messages, all of it or nothing. A stage that a message has reached is not
    /// recorded again, so that being told twice, or in another order, changes nothing. What is written there, or failed,
    /// waits no more. Says of each whether it was news, and whether the message waited until then.
    pub fn receive(&mut self, received: &[Received]) -> Result<Vec<News>, LedgerError> {
        let known: Vec<(bool, Option<i64>)> = self.read(|view| {
            let mut known = Vec::new();
            for told in received {
                let accepted = accepted_by(view.index, told.message.seq)?;
                let reached = has_reached_since(view.index, told.message.seq, told.rank(), accepted)?;
                known.push((reached, accepted));
            }
            Ok(known)
        })?;
        let mut given = HashSet::new();
        self.append(|log| {
            let mut news = Vec::new();
            for (told, (reached, accepted)) in received.iter().zip(&known) {
                let has_waited = match accepted {
                    Some(seq) if told.stage > Stage::Accepted => stop_waiting(log, *seq)?,
                    _ => false,
                };
                let is_known = *reached || !given.insert((told.message.seq, told.rank()));
                let is_news = !is_known && append_received(log, told)?;
                news.push(News { is_news, has_waited });
            }
            Ok(news)
        })
    }
}

/// What was new in what another machine told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// The message had not reached that stage.
    pub is_news: bool,
    /// It waited until then.
    pub has_waited: bool,
}

fn append_received(log: &Connection, told: &Received) -> rusqlite::Result<bool> {
    let Some((root, incarnation)) = team_of(log, told.message.seq)? else { return Ok(false) };
    let InboxKey { team, name: member, .. } = &told.message.inbox;
    let key = Key { root, team, incarnation, member };
    let evidence = told.evidence.to_json();
    let event = NewEvent::of(told.kind(), told.at, key, &told.message.id);
    let origin = Some((told.origin.0.into_bytes(), told.origin.1));
    append(log, &NewEvent { origin, ..event.evidence(&evidence) })?;
    Ok(true)
}

/// Whether a message reached a rank since it was accepted last: one that was sent on begins anew at its new home.
fn has_reached_since(
    index: &Connection,
    message: i64,
    rank: i64,
    accepted: Option<i64>,
) -> rusqlite::Result<bool> {
    index
        .prepare_cached("SELECT 1 FROM stages WHERE message = ?1 AND rank = ?2 AND event > ?3")?
        .exists(params![message, rank, accepted.unwrap_or(0)])
}

/// The event that has the draft of a message.
fn accepted_by(index: &Connection, message: i64) -> rusqlite::Result<Option<i64>> {
    let found = index
        .prepare_cached("SELECT draft FROM messages WHERE seq = ?1")?
        .query_row([message], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// The tree, and which of the teams that had its name, of the event that brought a message.
fn team_of(log: &Connection, event: i64) -> rusqlite::Result<Option<(RootId, Incarnation)>> {
    log.prepare_cached("SELECT root, incarnation FROM events WHERE seq = ?1 AND root IS NOT NULL")?
        .query_row([event], |row| {
            let incarnation: Option<String> = row.get(1)?;
            Ok((row.get(0)?, Incarnation::from_text(incarnation.as_deref())))
        })
        .optional()
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;
    use crate::Acceptance;

    #[test]
    fn senders_are_found_without_reading_all_their_messages() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
        let inbox = InboxKey { root: "/shared".into(), team: "demo".into(), name: "bob".into() };
        let messages = (0..2_000).map(|number| {
            let sender = ["alice", "eve.ops.hub", "user.hub", "zoe"].into_iter().cycle().nth(number).unwrap();
            let message =
                NewMessage { id: number.to_string(), sender: sender.into(), ..NewMessage::default() };
            Acceptance { inbox: inbox.clone(), message, is_new: true, draft: String::new() }
        });
        ledger.accept(&messages.collect::<Vec<_>>(), 1, "alice").unwrap();
        assert_eq!(ledger.dotted_senders("/shared", "demo").unwrap(), ["eve.ops.hub", "user.hub"]);
        let steps = ledger.read(|view| {
            let team = find_team(view, "/shared", "demo")?;
            let mut senders = view.index.prepare_cached(DOTTED_SENDERS)?;
            senders.query_map(params![team], |_| Ok(()))?.for_each(drop);
            Ok(senders.get_status(StatementStatus::VmStep))
        });
        let steps = steps.unwrap();
        assert!(steps < 1_000, "{steps}");
    }
}
