//! The queue: what is accepted and not written.
//!
//! A send appends one event and one row of `waiting`, and when the inbox has the message, another event with which the
//! row goes. It asks the index only about messages that it did not accept itself.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, TransactionBehavior, params};

use crate::error::LedgerError;
use crate::index::{Amount, View};
use crate::log::append::{append, root_id};
use crate::log::event::{Body, Key, Kind, NewEvent};
use crate::log::schema::FIRST;
use crate::open::Ledger;
use crate::record::{find_message, has_reached};
use crate::row::{InboxKey, NewMessage};
use crate::seam::{Connection, Transaction};
use crate::stage::{Evidence, Stage};

/// Every 32nd accept also applies what is new to the index, so that readers never find a long backlog.
const MANY: i64 = 32;

/// So many of the last events are searched for what became of a message before the index is asked.
const TAIL: i64 = 256;
const FEW: usize = 16;

/// A message that we promise to write.
#[derive(Debug, Clone)]
pub struct Acceptance {
    /// For whom.
    pub inbox: InboxKey,
    /// What.
    pub message: NewMessage,
    /// Its id was made for it: the inbox cannot have had it before.
    pub is_new: bool,
    /// All that it takes to write it, in the office's own words.
    pub draft: String,
}

/// What became of a message that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is accepted and will be written.
    Waiting,
    /// It was written into its inbox.
    Written,
    /// It was taken back before it was written.
    Withdrawn,
    /// The ledger has no such message.
    Unknown,
}

impl Ledger {
    /// Takes messages on: when this returns, they survive the death of the process. They are safe from a power cut once
    /// they are in the inbox file, and no sender has an answer before that. Gives the ids that the inbox has had before:
    /// those are not written again, unless they failed then.
    pub fn accept(
        &mut self,
        messages: &[Acceptance],
        now: i64,
        by: &str,
    ) -> Result<Vec<String>, LedgerError> {
        let asks = messages.iter().any(|accepted| !accepted.is_new);
        if asks {
            // Most of it before others have to wait for us.
            self.catch_up(Amount::All)?;
        }
        let transaction = Transaction::new_unchecked(&self.log.db, TransactionBehavior::Immediate)
            .map_err(|source| self.failed(source))?;
        let mut known = HashSet::new();
        let mut given = HashSet::new();
        for (number, Acceptance { inbox, message, is_new, .. }) in messages.iter().enumerate() {
            let is_here = message.home.is_none();
            if !is_new
                && (!given.insert((inbox, &message.id)) || self.is_known(inbox, &message.id, is_here)?)
            {
                known.insert(number);
            }
        }
        let evidence = Evidence::certain("accepted by atm").by(by).to_json();
        let write = || -> rusqlite::Result<i64> {
            let mut last = 0;
            let fresh = messages.iter().enumerate().filter(|(number, _)| !known.contains(number));
            for (_, Acceptance { inbox, message, draft, .. }) in fresh {
                let key = inbox.make_key(&transaction)?;
                let body = Body::new(message, Some(draft)).to_json();
                let event = NewEvent::of(Kind::Accepted, now, key, &message.id);
                last = append(&transaction, &event.evidence(&evidence).body(Some(&body)))?;
                wait(&transaction, last, key, &message.id)?;
            }
            transaction.commit()?;
            Ok(last)
        };
        let last = write().map_err(|source| self.failed(source))?;
        let brought = messages.len() - known.len();
        // Each is followed by a second event when it is written.
        let part = |seq: i64| (seq - FIRST - 1) / (2 * MANY);
        if brought > 0 && part(last) != part(last - 2 * i64::try_from(brought).unwrap_or(MANY)) {
            self.much_arrived.set(true);
        }
        let ids = messages.iter().enumerate().filter(|(number, _)| known.contains(number));
        Ok(ids.map(|(_, accepted)| accepted.message.id.clone()).collect())
    }

    /// What is accepted for an inbox and not written yet, oldest first: id and draft.
    pub fn waiting(&self, inbox: &InboxKey) -> Result<Vec<(String, String)>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            let log = &self.log.db;
            let Some(key) = inbox.key(log)? else { return Ok(Vec::new()) };
            let mut ask = log.prepare_cached(
                "SELECT w.message, e.body FROM waiting w JOIN events e ON e.seq = w.seq
                 WHERE w.member = ?1 AND w.team = ?2 AND w.root = ?3 ORDER BY w.seq",
            )?;
            ask.query_map(params![key.member, key.team, key.root], |row| {
                Ok((row.get(0)?, draft_in(row.get(1)?).unwrap_or_default()))
            })?
            .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Whether anything is accepted and not written, for whomever.
    pub fn has_waiting(&self) -> Result<bool, LedgerError> {
        let query = || self.log.db.prepare_cached("SELECT 1 FROM waiting LIMIT 1")?.exists([]);
        query().map_err(|source| self.failed(source))
    }

    /// All inboxes below a root for which something is accepted and not written: by a process that died, or by one at
    /// work now.
    pub fn inboxes_with_waiting(&self, root: &str) -> Result<Vec<InboxKey>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<InboxKey>> {
            let Some(id) = root_id(&self.log.db, root)? else { return Ok(Vec::new()) };
            self.log
                .db
                .prepare_cached("SELECT DISTINCT team, member FROM waiting WHERE root = ?1")?
                .query_map([id], |row| {
                    Ok(InboxKey { root: root.to_owned(), team: row.get(0)?, name: row.get(1)? })
                })?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The promise is kept: these are in the inbox file, behind those that `witnesses` names, if that is known.
    pub fn written(
        &mut self,
        inbox: &InboxKey,
        ids: &[(String, Stage)],
        now: i64,
        evidence: &Evidence,
        witnesses: Option<&str>,
    ) -> Result<(), LedgerError> {
        let others = self.withdrawn_and_there(inbox, ids)?;
        let evidence = evidence.to_json();
        self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(()) };
            // Asked once: the table has no index, and a batch may have thousands.
            let waiting = waiting_numbers(log, key)?;
            for (id, stage) in ids {
                let number = waiting.get(id);
                if number.is_none() && !others.contains(id.as_str()) {
                    continue;
                }
                let written = NewEvent::of(Kind::Written, now, key, id).evidence(&evidence);
                append(log, &written.body(witnesses))?;
                if *stage != Stage::Written {
                    append(log, &NewEvent::of(Kind::from(*stage), now, key, id).evidence(&evidence))?;
                }
                if let Some(number) = number {
                    stop_waiting(log, *number)?;
                }
            }
            Ok(())
        })
    }

    /// Of what does not wait any more: which counted as failed, and is there all the same.
    fn withdrawn_and_there<'a>(
        &self,
        inbox: &InboxKey,
        ids: &'a [(String, Stage)],
    ) -> Result<HashSet<&'a str>, LedgerError> {
        let mut found = HashSet::new();
        let ask = || match inbox.key(&self.log.db)? {
            Some(key) => waiting_numbers(&self.log.db, key),
            None => Ok(HashMap::new()),
        };
        let waiting = ask().map_err(|source| self.failed(source))?;
        let rest: Vec<&str> =
            ids.iter().map(|(id, _)| id.as_str()).filter(|id| !waiting.contains_key(*id)).collect();
        for id in &rest {
            // The index answers for many at once in less time.
            let recent = if rest.len() > FEW { Ok(None) } else { recent_fate(&self.log.db, inbox, id) };
            let is_there = match recent.map_err(|source| self.failed(source))? {
                Some(Fate::Waiting | Fate::Written) => false,
                Some(_) => true,
                None => self.read(|view| {
                    Ok(match find_message(view, inbox, id)? {
                        Some(message) => !has_reached(view.index, message, Stage::Written)?,
                        None => false,
                    })
                })?,
            };
            if is_there {
                found.insert(*id);
            }
        }
        Ok(found)
    }

    /// Takes a promise back that could not be kept, and says what became of the message: it was withdrawn, or it was not
    /// waiting any more. The caller has to know that nobody is writing the message at this moment.
    pub fn withdraw(
        &mut self,
        inbox: &InboxKey,
        id: &str,
        now: i64,
        evidence: &Evidence,
    ) -> Result<Fate, LedgerError> {
        let fates = self.withdraw_all(inbox, &[id], now, evidence)?;
        Ok(fates.first().copied().unwrap_or(Fate::Unknown))
    }

    /// The same for several of one inbox, all or none of them; the answers stand in their order.
    pub fn withdraw_all(
        &mut self,
        inbox: &InboxKey,
        ids: &[&str],
        now: i64,
        evidence: &Evidence,
    ) -> Result<Vec<Fate>, LedgerError> {
        let evidence = evidence.to_json();
        let withdrawn: HashSet<&str> = self.append(|log| {
            let Some(key) = inbox.key(log)? else { return Ok(HashSet::new()) };
            let waiting = waiting_numbers(log, key)?;
            let mut withdrawn = HashSet::new();
            for id in ids {
                if let Some(number) = waiting.get(*id) {
                    append(log, &NewEvent::of(Kind::Withdrawn, now, key, id).evidence(&evidence))?;
                    stop_waiting(log, *number)?;
                    withdrawn.insert(*id);
                }
            }
            Ok(withdrawn)
        })?;
        let fate = |id: &&str| {
            if withdrawn.contains(id) { Ok(Fate::Withdrawn) } else { self.fate(inbox, id) }
        };
        ids.iter().map(fate).collect()
    }

    /// What became of a message that was accepted for an inbox.
    pub fn fate(&self, inbox: &InboxKey, id: &str) -> Result<Fate, LedgerError> {
        if let Some(fate) = recent_fate(&self.log.db, inbox, id).map_err(|source| self.failed(source))? {
            return Ok(fate);
        }
        self.read(|view| {
            let Some(message) = find_message(view, inbox, id)? else { return Ok(Fate::Unknown) };
            let is_written = has_reached(view.index, message, Stage::Written)?;
            Ok(if is_written { Fate::Written } else { Fate::Withdrawn })
        })
    }

    /// Whether an inbox has had an id before. One that failed may be sent again, and so may one whose recipient had another
    /// home meanwhile and is here now.
    fn is_known(&self, inbox: &InboxKey, id: &str, is_here: bool) -> Result<bool, LedgerError> {
        self.read(|view| is_known(view, inbox, id, is_here))
    }
}

fn is_known(view: &View<'_>, inbox: &InboxKey, id: &str, is_here: bool) -> rusqlite::Result<bool> {
    let Some(message) = find_message(view, inbox, id)? else { return Ok(false) };
    view.index
        .prepare_cached(
            "SELECT 1 FROM messages WHERE seq = ?1 AND rank NOT IN (12, 36, 37, 38)
                 AND NOT (?2 AND elsewhere AND rank < ?3)",
        )?
        .exists(params![message, is_here, Stage::Taken.rank()])
}

/// Puts a message in the queue.
pub(crate) fn wait(log: &Connection, seq: i64, key: Key<'_>, message: &str) -> rusqlite::Result<()> {
    log.prepare_cached("INSERT INTO waiting (seq, root, team, member, message) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![seq, key.root, key.team, key.member, message])
        .map(drop)
}

/// Takes a message out of the queue; says whether it was there.
pub(crate) fn stop_waiting(log: &Connection, seq: i64) -> rusqlite::Result<bool> {
    Ok(log.prepare_cached("DELETE FROM waiting WHERE seq = ?1")?.execute([seq])? > 0)
}

/// The draft in the body of an event.
pub(crate) fn draft_in(body: Option<String>) -> Option<String> {
    let body = body?;
    Body::from_json(&body).map_or(Some(body), |body| body.draft())
}

/// The rows of what is accepted for an inbox and not written, by id.
pub(crate) fn waiting_numbers(log: &Connection, key: Key<'_>) -> rusqlite::Result<HashMap<String, i64>> {
    log.prepare_cached("SELECT message, seq FROM waiting WHERE member = ?1 AND team = ?2 AND root = ?3")?
        .query_map(params![key.member, key.team, key.root], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// What became of a message, if it waits or if that is among the last events: another sender may have written it a moment
/// ago, which is no reason to open the index.
fn recent_fate(log: &Connection, inbox: &InboxKey, id: &str) -> rusqlite::Result<Option<Fate>> {
    let Some(key) = inbox.key(log)? else { return Ok(Some(Fate::Unknown)) };
    let waits = log
        .prepare_cached(
            "SELECT 1 FROM waiting WHERE message = ?1 AND member = ?2 AND team = ?3 AND root = ?4",
        )?
        .exists(params![id, key.member, key.team, key.root])?;
    if waits {
        return Ok(Some(Fate::Waiting));
    }
    let kind: Option<i64> = log
        .prepare_cached(
            "SELECT kind FROM (SELECT kind, root, team, member, message FROM events
                 WHERE seq > ?7 ORDER BY seq DESC LIMIT ?8)
             WHERE message = ?1 AND member = ?2 AND team = ?3 AND root = ?4 AND kind IN (?5, ?6) LIMIT 1",
        )?
        .query_row(
            params![
                id,
                key.member,
                key.team,
                key.root,
                Kind::Written.code(),
                Kind::Withdrawn.code(),
                FIRST,
                TAIL
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(kind.map(|kind| if kind == Kind::Written.code() { Fate::Written } else { Fate::Withdrawn }))
}
