//! What was seen in the files.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use crate::error::LedgerError;
use crate::index::apply::number_of;
use crate::log::append::Appender;
use crate::log::equals::{Span, remember};
use crate::log::event::{Body, Key, Kind, NewEvent};
use crate::lookup::text_of;
use crate::open::Ledger;
use crate::record::{append_stage, find_inbox};
use crate::row::{InboxKey, NewMessage};
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

/// What a look at an inbox told about one message.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Which.
    pub id: String,
    /// All of it, for the case that the ledger does not know it yet, and how we know that it is there.
    pub new: Option<Box<(NewMessage, Evidence)>>,
    /// The stages that it reached.
    pub stages: Vec<(Stage, Evidence)>,
    /// When that happened, where it is not the time of the look.
    pub at: Option<i64>,
}

/// A message that, as far as the ledger knows, still waits for its recipient in the file.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its id.
    pub id: String,
    /// From whom.
    pub sender: String,
    /// Its text.
    pub text: String,
    /// When it was sent.
    pub sent_at: i64,
    /// Whether we sent it.
    pub ours: bool,
    /// What stood before it in the file, in the office's own words, if that is known.
    pub witnesses: Option<String>,
    /// Since when we are about to take it out of the file ourselves.
    pub removing_since: Option<i64>,
    /// It is its sender who takes it out.
    pub is_recalled: bool,
}

impl Ledger {
    /// What the inbox looked like from outside at the last look.
    pub fn signature(&self, inbox: &InboxKey) -> Result<Option<String>, LedgerError> {
        let query = || match inbox.key(&self.log.db)? {
            Some(key) => find_signature(&self.log.db, key),
            None => Ok(None),
        };
        query().map_err(|source| self.failed(source))
    }

    /// The messages of an inbox that nobody has seen, between `from` and `to` (not included) in their stages, oldest first.
    pub fn known(&self, inbox: &InboxKey, from: Stage, to: Stage) -> Result<Vec<Known>, LedgerError> {
        self.select_known(inbox, (from, to), true)
    }

    /// The same without their texts, which may be any amount.
    pub fn outlines(&self, inbox: &InboxKey, from: Stage, to: Stage) -> Result<Vec<Known>, LedgerError> {
        self.select_known(inbox, (from, to), false)
    }

    fn select_known(
        &self,
        inbox: &InboxKey,
        (from, to): (Stage, Stage),
        has_text: bool,
    ) -> Result<Vec<Known>, LedgerError> {
        self.read(|view| {
            let Some(number) = find_inbox(view, inbox)? else { return Ok(Vec::new()) };
            view.index
                .prepare_cached(
                    "SELECT id, sender, sent_at, ours, witnesses, removing_since, seq, recalling FROM messages
                     WHERE inbox = ?1 AND rank >= ?2 AND rank < ?3 AND open = 1 ORDER BY seq",
                )?
                .query_map(params![number, from.rank(), to.rank()], |row| {
                    let text = if has_text { text_of(view.log, row.get(6)?)?.text } else { String::new() };
                    Ok(Known {
                        id: row.get(0)?,
                        sender: row.get(1)?,
                        text,
                        sent_at: row.get(2)?,
                        ours: row.get(3)?,
                        witnesses: row.get(4)?,
                        removing_since: row.get(5)?,
                        is_recalled: row.get(7)?,
                    })
                })?
                .collect()
        })
    }

    /// What was taken from an inbox and offered again since: it should lie there as it did before it was first taken.
    pub fn on_offer(&self, inbox: &InboxKey) -> Result<Vec<Known>, LedgerError> {
        self.read(|view| {
            let Some(number) = find_inbox(view, inbox)? else { return Ok(Vec::new()) };
            view.index
                .prepare_cached(
                    "SELECT id, sender, sent_at, ours, removing_since FROM messages m
                     WHERE inbox = ?1 AND rank = ?2 AND open = 1 AND queued = 1 AND recalling = 0
                       AND (SELECT max(at) FROM stages s WHERE s.message = m.seq AND s.rank = ?3)
                         > (SELECT max(at) FROM stages s WHERE s.message = m.seq AND s.rank = ?2) ORDER BY seq",
                )?
                .query_map(params![number, Stage::Taken.rank(), Stage::Queued.rank()], |row| {
                    Ok(Known {
                        id: row.get(0)?,
                        sender: row.get(1)?,
                        text: String::new(),
                        sent_at: row.get(2)?,
                        ours: row.get(3)?,
                        witnesses: None,
                        removing_since: row.get(4)?,
                        is_recalled: false,
                    })
                })?
                .collect()
        })
    }

    /// Which of these ids the inbox has never had.
    pub fn unknown<'a>(&self, inbox: &InboxKey, ids: &[&'a str]) -> Result<HashSet<&'a str>, LedgerError> {
        self.read(|view| {
            let Some(number) = find_inbox(view, inbox)? else { return Ok(ids.iter().copied().collect()) };
            let mut unknown = HashSet::new();
            for id in ids {
                if number_of(view.index, number, id)?.is_none() {
                    unknown.insert(*id);
                }
            }
            Ok(unknown)
        })
    }

    /// Records what a look at an inbox found, and what the inbox looked like.
    pub fn observe(
        &mut self,
        inbox: &InboxKey,
        observed: &[Observed],
        signature: Option<&str>,
        now: i64,
    ) -> Result<(), LedgerError> {
        self.look(inbox, observed, signature, &HashMap::new(), now)
    }

    /// The same, with the numbers that equal messages have in the inbox.
    pub fn look(
        &mut self,
        inbox: &InboxKey,
        observed: &[Observed],
        signature: Option<&str>,
        equals: &HashMap<String, Span>,
        now: i64,
    ) -> Result<(), LedgerError> {
        let unknown = self.unknown_of(inbox, observed)?;
        self.append(|log| {
            let key = inbox.make_key(log)?;
            append_look(log, key, observed, &unknown, now)?;
            remember(log, key, equals)?;
            signature.map_or(Ok(()), |signature| set_signature(log, key, signature))
        })
    }

    /// Which of the messages that a look found the inbox has never had.
    pub(crate) fn unknown_of<'a>(
        &self,
        inbox: &InboxKey,
        observed: &'a [Observed],
    ) -> Result<HashSet<&'a str>, LedgerError> {
        let ids: Vec<&str> = observed.iter().map(|seen| seen.id.as_str()).collect();
        if ids.is_empty() { Ok(HashSet::new()) } else { self.unknown(inbox, &ids) }
    }
}

/// Appends what a look at an inbox found.
pub(crate) fn append_look(
    log: &Connection,
    key: Key<'_>,
    observed: &[Observed],
    unknown: &HashSet<&str>,
    now: i64,
) -> rusqlite::Result<()> {
    if observed.is_empty() {
        return Ok(());
    }
    let mut appender = Appender::new(log)?;
    for seen in observed {
        let is_unknown = unknown.contains(seen.id.as_str());
        match &seen.new {
            Some(new) if is_unknown => append_new(&mut appender, key, seen, new, now)?,
            _ if is_unknown => continue,
            _ => {}
        }
        for (stage, evidence) in &seen.stages {
            append_stage(&mut appender, key, &seen.id, (*stage, evidence), seen.at.unwrap_or(now))?;
        }
    }
    Ok(())
}

/// What an inbox looked like at the last look.
pub(crate) fn find_signature(log: &Connection, key: Key<'_>) -> rusqlite::Result<Option<String>> {
    let found = log
        .prepare_cached("SELECT signature FROM members WHERE root = ?1 AND team = ?2 AND member = ?3")?
        .query_row(params![key.root, key.team, key.member], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

pub(crate) fn set_signature(log: &Connection, key: Key<'_>, signature: &str) -> rusqlite::Result<()> {
    log.prepare_cached(
        "INSERT INTO members (root, team, member, signature) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (root, team, member) DO UPDATE SET signature = ?4",
    )?
    .execute(params![key.root, key.team, key.member, signature])
    .map(drop)
}

/// Appends a message that was found in an inbox. What was there before anybody looked was written when it was sent.
fn append_new(
    log: &mut Appender<'_>,
    key: Key<'_>,
    seen: &Observed,
    (new, evidence): &(NewMessage, Evidence),
    now: i64,
) -> rusqlite::Result<()> {
    let at = seen.at.map_or(now, |at| at.min(new.sent_at));
    let mut body = Body::new(new, None);
    body.noticed_at = (at != now).then_some(now);
    let body = body.to_json();
    log.append_with(&NewEvent::of(Kind::Noticed, at, key, &seen.id).body(Some(&body)), evidence).map(drop)
}
