//! What was seen in the files.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use crate::equals::{Span, remember};
use crate::error::LedgerError;
use crate::open::Ledger;
use crate::record::{number_of, put_down, reach};
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
}

impl Ledger {
    /// What the inbox looked like from outside when it was last reconciled.
    pub fn signature(&self, inbox: &InboxKey) -> Result<Option<String>, LedgerError> {
        let query = || -> rusqlite::Result<Option<String>> {
            let found = self
                .db
                .prepare_cached("SELECT signature FROM inboxes WHERE root = ?1 AND team = ?2 AND name = ?3")?
                .query_row(params![inbox.root, inbox.team, inbox.name], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        };
        query().map_err(|source| self.failed(source))
    }

    /// The messages of an inbox that nobody has seen, between `from` and `to` (not included) in their stages, oldest first.
    pub fn known(&self, inbox: &InboxKey, from: Stage, to: Stage) -> Result<Vec<Known>, LedgerError> {
        self.select_known("text", inbox, from, to)
    }

    /// The same without their texts, which may be any amount.
    pub fn outlines(&self, inbox: &InboxKey, from: Stage, to: Stage) -> Result<Vec<Known>, LedgerError> {
        self.select_known("''", inbox, from, to)
    }

    fn select_known(
        &self,
        text: &str,
        inbox: &InboxKey,
        from: Stage,
        to: Stage,
    ) -> Result<Vec<Known>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<Known>> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(Vec::new()) };
            db.prepare_cached(&format!(
                "SELECT id, sender, {text}, sent_at, ours, witnesses, removing_since FROM messages
                     WHERE inbox = ?1 AND rank >= ?2 AND rank < ?3 AND rank < 40 ORDER BY seq",
            ))?
            .query_map(params![inbox, from.rank(), to.rank()], |row| {
                Ok(Known {
                    id: row.get(0)?,
                    sender: row.get(1)?,
                    text: row.get(2)?,
                    sent_at: row.get(3)?,
                    ours: row.get(4)?,
                    witnesses: row.get(5)?,
                    removing_since: row.get(6)?,
                })
            })?
            .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Which of these ids the inbox has never had.
    pub fn unknown<'a>(&self, inbox: &InboxKey, ids: &[&'a str]) -> Result<HashSet<&'a str>, LedgerError> {
        let query = || -> rusqlite::Result<HashSet<&'a str>> {
            let db = self.filed()?;
            let Some(inbox) = inbox.find(db)? else { return Ok(ids.iter().copied().collect()) };
            let mut find = db.prepare_cached("SELECT 1 FROM messages WHERE inbox = ?1 AND id = ?2")?;
            let mut unknown = HashSet::new();
            for id in ids {
                if !find.exists(params![inbox, id])? {
                    unknown.insert(*id);
                }
            }
            Ok(unknown)
        };
        query().map_err(|source| self.failed(source))
    }

    /// Puts down what a look at an inbox told, and what the inbox looked like.
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
        let write = || -> rusqlite::Result<()> {
            let transaction = self.change()?;
            let number = inbox.find_or_make(&transaction)?;
            apply_look(&transaction, number, observed, equals, now)?;
            if let Some(signature) = signature {
                transaction
                    .prepare_cached("UPDATE inboxes SET signature = ?2 WHERE id = ?1")?
                    .execute(params![number, signature])?;
            }
            transaction.commit()
        };
        write().map_err(|source| self.failed(source))
    }
}

/// Records what a look at an inbox showed, inside the caller's transaction.
pub(crate) fn apply_look(
    db: &Connection,
    inbox: i64,
    observed: &[Observed],
    equals: &HashMap<String, Span>,
    now: i64,
) -> rusqlite::Result<()> {
    for seen in observed {
        if put_in(db, inbox, seen, now)? {
            continue;
        }
        let Some(message) = number_of(db, inbox, &seen.id)? else { continue };
        for (stage, evidence) in &seen.stages {
            reach(db, message, *stage, seen.at.unwrap_or(now), evidence)?;
        }
    }
    remember(db, inbox, equals)
}

/// Puts a message in that the ledger does not know, with all of its stages; says whether it did.
fn put_in(db: &Connection, inbox: i64, seen: &Observed, now: i64) -> rusqlite::Result<bool> {
    let Some(new) = &seen.new else { return Ok(false) };
    let (new, evidence) = new.as_ref();
    let furthest = seen.stages.iter().map(|(stage, _)| *stage).fold(Stage::Written, Stage::max);
    let Some(message) = new.insert(db, inbox, now, furthest.rank(), None)? else { return Ok(false) };
    let at = seen.at.unwrap_or(now);
    // What was there before anybody looked was written when it was sent.
    let written_at = seen.at.map_or(now, |at| at.min(new.sent_at));
    put_down(db, message, Stage::Written, written_at, evidence)?;
    for (stage, evidence) in &seen.stages {
        put_down(db, message, *stage, at, evidence)?;
    }
    Ok(true)
}
