//! Appending events.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{CachedStatement, OptionalExtension, TransactionBehavior, params};
use uuid::{Builder, Uuid};

use crate::error::LedgerError;
use crate::log::event::{Incarnation, Key, NewEvent, RootId};
use crate::open::Ledger;
use crate::row::InboxKey;
use crate::seam::{Connection, Transaction};
use crate::stage::Evidence;

impl Ledger {
    /// Appends what `work` finds, all or nothing of it.
    pub(crate) fn append<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        let append = || -> rusqlite::Result<T> {
            let transaction = Transaction::new_unchecked(&self.log.db, TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        append().map_err(|source| self.failed(source))
    }

    /// Finds out whether something could be appended now: takes the lock for writing, and gives it back.
    pub fn check_writable(&self) -> Result<(), LedgerError> {
        let begun = Transaction::new_unchecked(&self.log.db, TransactionBehavior::Immediate);
        // What is not committed is rolled back.
        begun.map(drop).map_err(|source| self.failed(source))
    }
}

/// Appends many events with one statement. Each needs an id, and its evidence as text; those of a look are mostly the
/// same, and so is whom they are about, which is given to the statement once.
pub(crate) struct Appender<'l> {
    log: &'l Connection,
    insert: CachedStatement<'l>,
    ids: Ids,
    texts: Vec<(Evidence, String)>,
    /// Whom the statement's last event was about.
    about: Option<About>,
}

/// A [`Key`] that is kept.
struct About {
    root: RootId,
    team: String,
    incarnation: Incarnation,
    member: String,
}

impl About {
    fn is(&self, key: &Key<'_>) -> bool {
        self.root == key.root
            && self.team == key.team
            && self.incarnation == key.incarnation
            && self.member == key.member
    }
}

/// So many texts are looked through.
const FEW_TEXTS: usize = 4;

impl<'l> Appender<'l> {
    pub(crate) fn new(log: &'l Connection) -> rusqlite::Result<Self> {
        let insert = log.prepare_cached(
            "INSERT INTO events (seq, id, at, kind, root, team, member, message, evidence, body, incarnation, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?;
        Ok(Self { log, insert, ids: Ids::new(), texts: Vec::new(), about: None })
    }

    /// Appends an event, and gives its number; it may be given one that is free.
    pub(crate) fn append(&mut self, seq: Option<i64>, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
        self.bind_key(event.key)?;
        self.insert.raw_bind_parameter(9, event.evidence)?;
        self.insert(seq, event)
    }

    /// The same with evidence that is not put into words yet.
    pub(crate) fn append_with(&mut self, event: &NewEvent<'_>, evidence: &Evidence) -> rusqlite::Result<i64> {
        let known = self.texts.iter().position(|(known, _)| known == evidence);
        let at = known.unwrap_or_else(|| {
            if self.texts.len() == FEW_TEXTS {
                self.texts.clear();
            }
            self.texts.push((evidence.clone(), evidence.to_json()));
            self.texts.len() - 1
        });
        self.bind_key(event.key)?;
        self.insert.raw_bind_parameter(9, self.texts[at].1.as_str())?;
        self.insert(None, event)
    }

    /// Runs the statement, which has the evidence, and whom the event is about.
    fn insert(&mut self, seq: Option<i64>, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
        let insert = &mut self.insert;
        insert.raw_bind_parameter(1, seq)?;
        let id = event.origin.map_or_else(|| self.ids.next(), |(_, id)| id);
        insert.raw_bind_parameter(2, id.as_bytes())?;
        insert.raw_bind_parameter(12, event.origin.map(|(log, _)| log))?;
        insert.raw_bind_parameter(3, event.at)?;
        insert.raw_bind_parameter(4, event.kind.code())?;
        insert.raw_bind_parameter(8, event.message)?;
        insert.raw_bind_parameter(10, event.body)?;
        insert.raw_execute()?;
        Ok(self.log.last_insert_rowid())
    }

    /// Keeps the next ids free: they belong to parts of the last event.
    pub(crate) fn skip_ids(&mut self, count: usize) {
        self.ids.0 = self.ids.0.wrapping_add(count as u128);
    }

    /// Gives the statement whom the next event is about, if it was not the same before: what is bound stays so.
    fn bind_key(&mut self, key: Option<Key<'_>>) -> rusqlite::Result<()> {
        if key.is_some_and(|key| self.about.as_ref().is_some_and(|about| about.is(&key))) {
            return Ok(());
        }
        let insert = &mut self.insert;
        insert.raw_bind_parameter(5, key.map(|key| key.root))?;
        insert.raw_bind_parameter(6, key.map(|key| key.team))?;
        insert.raw_bind_parameter(7, key.map(|key| key.member))?;
        insert.raw_bind_parameter(11, key.and_then(|key| key.incarnation.text()))?;
        self.about = key.map(|Key { root, team, incarnation, member }| About {
            root,
            team: team.to_owned(),
            incarnation,
            member: member.to_owned(),
        });
        Ok(())
    }
}

/// Makes ids (`UUIDv7`). The system is asked for random bytes once; from there on they are counted up, which is as unique.
struct Ids(u128);

impl Ids {
    fn new() -> Self {
        Self(Uuid::new_v4().as_u128())
    }

    /// The next one, also where the clock shows a time before 1970: there `Uuid::now_v7` panics.
    fn next(&mut self) -> Uuid {
        self.0 = self.0.wrapping_add(1);
        let mut random = [0; 10];
        random.copy_from_slice(&self.0.to_be_bytes()[6..]);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}

/// The id of a part of an event, if parts have ids.
pub(crate) fn id_of_part(event: Uuid, part: usize) -> Uuid {
    Uuid::from_u128(event.as_u128().wrapping_add(part as u128))
}

/// Appends an event, and gives its number.
pub(crate) fn append(log: &Connection, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
    insert(log, None, event)
}

/// The same under a number that is free.
pub(crate) fn insert(log: &Connection, seq: Option<i64>, event: &NewEvent<'_>) -> rusqlite::Result<i64> {
    Appender::new(log)?.append(seq, event)
}

/// The id of the tree at a path, if the log knows one.
pub(crate) fn root_id(log: &Connection, path: &str) -> rusqlite::Result<Option<RootId>> {
    log.prepare_cached("SELECT id FROM roots WHERE path = ?1")?.query_row([path], |row| row.get(0)).optional()
}

/// The id of the tree at a path; a new one gets one.
pub(crate) fn find_or_make_root(log: &Connection, path: &str) -> rusqlite::Result<RootId> {
    if let Some(id) = root_id(log, path)? {
        return Ok(id);
    }
    let id = Uuid::new_v4().into_bytes();
    log.prepare_cached("INSERT INTO roots (path, id) VALUES (?1, ?2)")?.execute(params![path, id])?;
    Ok(id)
}

/// The team that has a name now, or had it last.
pub(crate) fn incarnation(log: &Connection, root: RootId, team: &str) -> rusqlite::Result<Incarnation> {
    let found = log
        .prepare_cached("SELECT incarnation FROM teams WHERE root = ?1 AND team = ?2")?
        .query_row(params![root, team], |row| row.get(0))
        .optional()?;
    Ok(Incarnation(found.unwrap_or_default()))
}

impl InboxKey {
    /// The member in the log's words, if the log knows its tree.
    pub(crate) fn key(&self, log: &Connection) -> rusqlite::Result<Option<Key<'_>>> {
        log.prepare_cached(
            "SELECT r.id, coalesce(t.incarnation, 0) FROM roots r
             LEFT JOIN teams t ON t.root = r.id AND t.team = ?2 WHERE r.path = ?1",
        )?
        .query_row([&self.root, &self.team], |row| {
            let (root, incarnation) = (row.get(0)?, Incarnation(row.get(1)?));
            Ok(Key { root, team: &self.team, incarnation, member: &self.name })
        })
        .optional()
    }

    /// The same; a new tree gets its id.
    pub(crate) fn make_key(&self, log: &Connection) -> rusqlite::Result<Key<'_>> {
        if let Some(key) = self.key(log)? {
            return Ok(key);
        }
        let root = find_or_make_root(log, &self.root)?;
        Ok(Key { root, team: &self.team, incarnation: Incarnation::default(), member: &self.name })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_of_their_version_and_never_the_same() {
        for start in [0, u128::from(u64::MAX), u128::MAX] {
            let mut ids = Ids(start);
            let made: HashSet<Uuid> = (0..1_000).map(|_| ids.next()).collect();
            assert_eq!(made.len(), 1_000);
            assert!(made.iter().all(|id| id.get_version_num() == 7));
        }
        assert_ne!(Ids::new().next(), Ids::new().next());
    }
}
