//! Used proofs, and how far each source of proofs was read.
//!
//! A proof is one occurrence in a source (for the office: one message in one entry of a conversation's file). It proves
//! one message and never a second, whichever process reads the source, however often, and from whichever copy of it. What the
//! ledger keeps is the occurrence's position and, where the entry has one, its own id: a client that resumes a
//! conversation copies entries into a new file.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use rusqlite::{OptionalExtension, TransactionBehavior, params};

use crate::error::LedgerError;
use crate::log::append::{append, find_or_make_root, incarnation, root_id};
use crate::log::equals::{Span, remember};
use crate::log::event::{Key, Kind, NewEvent};
use crate::lookup::text_of;
use crate::observe::{Observed, append_look, find_signature, set_signature};
use crate::open::Ledger;
use crate::record::{find_message, find_team};
use crate::row::{InboxKey, NewMessage};
use crate::seam::{Connection, Transaction};
use crate::stage::Evidence;

/// The signature of inboxes whose team is gone. No file looks like this.
pub(crate) const CLOSED: &str = "closed";

/// A file that proofs are read from: another file at the same path is another source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(String);

impl Source {
    /// The file of this inode at this path.
    pub fn file(path: &Path, inode: u64) -> Self {
        Self(format!("{}:{}", inode.cast_signed(), path.display()))
    }
}

/// One occurrence that proves one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Whose mail it is.
    pub inbox: InboxKey,
    /// Which message it proves.
    pub id: String,
    /// Where it stands in its source.
    pub position: u64,
    /// The id that the source itself gives to the entry, a slash, and the occurrence's place in it; the same in a copy of
    /// the source.
    pub entry: Option<String>,
    /// When it happened, in milliseconds since the epoch.
    pub at: i64,
    /// How we know.
    pub evidence: Evidence,
}

/// What was read of a source, and what it proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Which.
    pub source: Source,
    /// For whose mail it was read. A conversation can be that of several members, each of whom reads it on its own.
    pub reader: InboxKey,
    /// From where. Nothing is recorded if the source was read further since.
    pub from: u64,
    /// Up to where: the next reading begins there.
    pub to: u64,
    /// What was found in between, in the source's order.
    pub proofs: Vec<Proof>,
}

/// What became of an attempt to record an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// It is recorded.
    Done,
    /// Another process recorded a later state since ours was read: nothing is recorded, judge again.
    Moved,
}

/// A look at an inbox, as it is recorded.
#[derive(Debug)]
pub struct Look<'a> {
    /// The inbox's signature in the ledger when the known state was read. Nothing is recorded if there is another one
    /// since.
    pub known: Option<&'a str>,
    /// What the look showed.
    pub observed: &'a [Observed],
    /// The signature to remember, if all that it stands for is recorded.
    pub signature: Option<&'a str>,
    /// The numbers that equal messages have in the inbox.
    pub equals: &'a HashMap<String, Span>,
    /// When the look was.
    pub now: i64,
}

impl Ledger {
    /// Up to where each of these sources was read for somebody's mail, in their order.
    pub fn positions(&self, reader: &InboxKey, sources: &[Source]) -> Result<Vec<u64>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<u64>> {
            let reader = render(&self.log.db, reader)?;
            sources.iter().map(|source| position(&self.log.db, source, &reader)).collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Which occurrences of these entries have proved something, by whichever source, and which message each of them did.
    pub fn used_entries(&self, entries: &[&str]) -> Result<HashMap<String, NewMessage>, LedgerError> {
        let query = || -> rusqlite::Result<HashMap<String, NewMessage>> {
            let log = &self.log.db;
            let mut find =
                log.prepare_cached("SELECT entry, message FROM proofs WHERE entry >= ?1 AND entry < ?2")?;
            let mut used = HashMap::new();
            for entry in entries {
                // All that begins with the entry and a slash, which `0` follows.
                let mut rows = find.query([format!("{entry}/"), format!("{entry}0")])?;
                while let Some(row) = rows.next()? {
                    used.insert(row.get(0)?, text_of(log, row.get(1)?)?);
                }
            }
            Ok(used)
        };
        query().map_err(|source| self.failed(source))
    }

    /// Records what readings prove, all of them or none. A proof that was used before proves nothing again.
    pub fn record_readings(&mut self, readings: &[Reading]) -> Result<Recording, LedgerError> {
        let proofs: Vec<&Proof> = readings.iter().flat_map(|reading| &reading.proofs).collect();
        let mut messages = Vec::new();
        if !proofs.is_empty() {
            messages = self.read(|view| {
                proofs.iter().map(|proof| find_message(view, &proof.inbox, &proof.id)).collect()
            })?;
        }
        let mut messages = messages.into_iter();
        self.record(|log| {
            for reading in readings {
                find_or_make_root(log, &reading.reader.root)?;
                let reader = render(log, &reading.reader)?;
                if position(log, &reading.source, &reader)? != reading.from {
                    return Ok(Recording::Moved);
                }
                for (proof, message) in reading.proofs.iter().zip(messages.by_ref()) {
                    if let Some(message) = message {
                        use_proof(log, &reading.source, proof, message)?;
                    }
                }
                log.prepare_cached(
                    "INSERT INTO sources (source, reader, position) VALUES (?1, ?2, ?3)
                     ON CONFLICT (source, reader) DO UPDATE SET position = ?3",
                )?
                .execute(params![reading.source.0, reader, reading.to.cast_signed()])?;
            }
            Ok(Recording::Done)
        })
    }

    /// Records a look at an inbox, unless another look was recorded since its known state was read.
    pub fn record_look(&mut self, inbox: &InboxKey, look: &Look) -> Result<Recording, LedgerError> {
        let unknown = self.unknown_of(inbox, look.observed)?;
        self.record(|log| {
            let key = inbox.make_key(log)?;
            if find_signature(log, key)?.as_deref() != look.known {
                return Ok(Recording::Moved);
            }
            append_look(log, key, look.observed, &unknown, look.now)?;
            remember(log, key, look.equals)?;
            if let Some(signature) = look.signature {
                set_signature(log, key, signature)?;
            }
            Ok(Recording::Done)
        })
    }

    /// Appends what `work` finds, unless that was found to be out of date.
    fn record(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<Recording>,
    ) -> Result<Recording, LedgerError> {
        let append = || -> rusqlite::Result<Recording> {
            let transaction = Transaction::new_unchecked(&self.log.db, TransactionBehavior::Immediate)?;
            let recording = work(&transaction)?;
            if recording == Recording::Done {
                transaction.commit()?;
            }
            Ok(recording)
        };
        append().map_err(|source| self.failed(source))
    }

    /// All inboxes of a team that the ledger knows: their signatures, and whether mail in them is not seen yet.
    pub fn team_inboxes(&self, root: &str, team: &str) -> Result<HashMap<String, TeamInbox>, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(HashMap::new()) };
            let mut inboxes: HashMap<String, TeamInbox> = view
                .log
                .prepare_cached("SELECT member, signature FROM members WHERE root = ?1 AND team = ?2")?
                .query_map(params![id, team], |row| {
                    Ok((row.get(0)?, TeamInbox { signature: row.get(1)?, has_open: false }))
                })?
                .collect::<rusqlite::Result<_>>()?;
            let Some(number) = find_team(view, root, team)? else { return Ok(inboxes) };
            let mut open = view.index.prepare_cached(
                "SELECT name, EXISTS (SELECT 1 FROM messages m WHERE m.inbox = inboxes.id AND m.open = 1)
                 FROM inboxes WHERE team = ?1",
            )?;
            let mut rows = open.query([number])?;
            while let Some(row) = rows.next()? {
                inboxes.entry(row.get(0)?).or_default().has_open = row.get(1)?;
            }
            Ok(inboxes)
        })
    }

    /// The same of all teams below a root, by their names: a few questions, however many there are.
    pub fn inboxes_of_teams(
        &self,
        root: &str,
    ) -> Result<HashMap<String, HashMap<String, TeamInbox>>, LedgerError> {
        self.read(|view| {
            let mut teams: HashMap<String, HashMap<String, TeamInbox>> = HashMap::new();
            let Some(id) = root_id(view.log, root)? else { return Ok(teams) };
            let mut looked_at =
                view.log.prepare_cached("SELECT team, member, signature FROM members WHERE root = ?1")?;
            let mut rows = looked_at.query([id])?;
            while let Some(row) = rows.next()? {
                let inbox = TeamInbox { signature: row.get(2)?, has_open: false };
                teams.entry(row.get(0)?).or_default().insert(row.get(1)?, inbox);
            }
            let mut open = view.index.prepare_cached(
                "SELECT t.team, i.name, EXISTS (SELECT 1 FROM messages m WHERE m.inbox = i.id AND m.open = 1),
                        t.incarnation
                 FROM teams t JOIN inboxes i ON i.team = t.id WHERE t.root = ?1",
            )?;
            let bearers: HashMap<String, i64> = view
                .log
                .prepare_cached("SELECT team, incarnation FROM teams WHERE root = ?1")?
                .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let mut rows = open.query([id])?;
            while let Some(row) = rows.next()? {
                // What a former team of that name had is closed.
                let (team, incarnation): (String, i64) = (row.get(0)?, row.get(3)?);
                if bearers.get(&team).copied().unwrap_or(0) != incarnation {
                    continue;
                }
                teams.entry(row.get(0)?).or_default().entry(row.get(1)?).or_default().has_open =
                    row.get(2)?;
            }
            Ok(teams)
        })
    }

    /// The teams that are not known to be gone.
    pub fn teams_not_closed(&self, root: &str) -> Result<Vec<String>, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(Vec::new()) };
            let mut closed = HashSet::new();
            let mut teams = BTreeSet::new();
            {
                let mut ask = view.log.prepare_cached(
                    "SELECT team, signature IS NOT ?2 FROM members WHERE root = ?1 GROUP BY 1, 2",
                )?;
                let mut rows = ask.query(params![id, CLOSED])?;
                while let Some(row) = rows.next()? {
                    let team: String = row.get(0)?;
                    let _ = if row.get(1)? { teams.insert(team) } else { closed.insert(team) };
                }
            }
            let known: Vec<String> = view
                .index
                .prepare_cached("SELECT DISTINCT team FROM teams WHERE root = ?1")?
                .query_map([id], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            teams.extend(known.into_iter().filter(|team| !closed.contains(team)));
            Ok(teams.into_iter().collect())
        })
    }

    /// The team is gone, and all that its mail became is recorded.
    pub fn close_team(&mut self, root: &str, team: &str) -> Result<(), LedgerError> {
        let names: Vec<String> = self.team_inboxes(root, team)?.into_keys().collect();
        self.append(|log| {
            let root = find_or_make_root(log, root)?;
            let incarnation = incarnation(log, root, team)?;
            names.iter().try_for_each(|name| {
                set_signature(log, Key { root, team, incarnation, member: name }, CLOSED)
            })
        })
    }

    /// Whether anything of a team is on record.
    pub fn knows_team(&self, root: &str, team: &str) -> Result<bool, LedgerError> {
        self.read(|view| {
            let Some(id) = root_id(view.log, root)? else { return Ok(false) };
            let is_looked_at = view
                .log
                .prepare_cached("SELECT 1 FROM members WHERE root = ?1 AND team = ?2")?
                .exists(params![id, team])?;
            Ok(is_looked_at || find_team(view, root, team)?.is_some())
        })
    }
}

/// What the ledger knows of an inbox before somebody looks at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamInbox {
    /// What it looked like from outside at the last look.
    pub signature: Option<String>,
    /// Something in it is not seen yet.
    pub has_open: bool,
}

impl TeamInbox {
    /// Its team is gone, and all that its mail became is recorded.
    pub fn is_closed(&self) -> bool {
        self.signature.as_deref() == Some(CLOSED)
    }
}

/// A reader in the log's words.
pub(crate) fn render(log: &Connection, reader: &InboxKey) -> rusqlite::Result<String> {
    let root = root_id(log, &reader.root)?.map(u128::from_be_bytes).unwrap_or_default();
    Ok(format!("{}\n{}\n{root:032x}", reader.team, reader.name))
}

/// Where nothing is known of this reader, an earlier version may have read the source for all.
fn position(log: &Connection, source: &Source, reader: &str) -> rusqlite::Result<u64> {
    let position: Option<i64> = log
        .prepare_cached(
            "SELECT position FROM sources WHERE source = ?1 AND reader IN (?2, '') ORDER BY reader DESC LIMIT 1",
        )?
        .query_row([&source.0, reader], |row| row.get(0))
        .optional()?;
    Ok(position.and_then(|position| u64::try_from(position).ok()).unwrap_or(0))
}

/// Uses a proof for its message, if neither was used before.
///
/// What is in the conversation was not lost, whatever we thought. If it counts as accepted only, its sender is about to
/// record that it wrote it, or died before it could: completing accepted mail finds out.
fn use_proof(log: &Connection, source: &Source, proof: &Proof, message: i64) -> rusqlite::Result<()> {
    let is_new = log
        .prepare_cached(
            "INSERT OR IGNORE INTO proofs (source, position, entry, message) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![source.0, proof.position.cast_signed(), proof.entry, message])?;
    if is_new == 0 {
        return Ok(());
    }
    let (key, evidence) = (proof.inbox.make_key(log)?, proof.evidence.to_json());
    append(log, &NewEvent::of(Kind::Seen, proof.at, key, &proof.id).evidence(&evidence)).map(drop)
}

#[cfg(test)]
mod tests;
