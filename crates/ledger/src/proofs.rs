//! Used proofs, and how far each source of proofs was read.
//!
//! A proof is one occurrence in a source (for the office: one message in one entry of a conversation's file). It proves
//! one message and never a second, whoever reads the source, however often, and from whichever copy of it. What the
//! ledger keeps is the occurrence's position and, where the entry has one, its own id: a client that resumes a
//! conversation copies entries into a new file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{OptionalExtension, params};

use crate::equals::Span;
use crate::error::LedgerError;
use crate::observe::{Observed, apply_look};
use crate::open::Ledger;
use crate::record::{number_of, reach, revive};
use crate::row::InboxKey;
use crate::seam::Connection;
use crate::stage::{Evidence, Stage};

/// The signature of inboxes whose team is gone. No file looks like this.
const CLOSED: &str = "closed";

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
            let reader = render(reader);
            sources.iter().map(|source| position(&self.db, source, &reader)).collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Which occurrences of these entries have proved something, by whichever source.
    pub fn used_entries(&self, entries: &[&str]) -> Result<HashSet<String>, LedgerError> {
        let query = || -> rusqlite::Result<HashSet<String>> {
            let mut find =
                self.db.prepare_cached("SELECT entry FROM proofs WHERE entry >= ?1 AND entry < ?2")?;
            let mut used = HashSet::new();
            for entry in entries {
                // All that begins with the entry and a slash, which `0` follows.
                let found = find.query_map([format!("{entry}/"), format!("{entry}0")], |row| row.get(0))?;
                for name in found {
                    used.insert(name?);
                }
            }
            Ok(used)
        };
        query().map_err(|source| self.failed(source))
    }

    /// Records what readings prove, all of them or none. A proof that was used before proves nothing again.
    pub fn record_readings(&mut self, readings: &[Reading]) -> Result<Recording, LedgerError> {
        let write = || -> rusqlite::Result<Recording> {
            let transaction = self.change()?;
            for reading in readings {
                let reader = render(&reading.reader);
                if position(&transaction, &reading.source, &reader)? != reading.from {
                    return Ok(Recording::Moved);
                }
                for proof in &reading.proofs {
                    use_proof(&transaction, &reading.source, proof)?;
                }
                transaction
                    .prepare_cached(
                        "INSERT INTO sources (source, reader, position) VALUES (?1, ?2, ?3)
                         ON CONFLICT (source, reader) DO UPDATE SET position = ?3",
                    )?
                    .execute(params![reading.source.0, reader, reading.to.cast_signed()])?;
            }
            transaction.commit()?;
            Ok(Recording::Done)
        };
        write().map_err(|source| self.failed(source))
    }

    /// Records a look at an inbox, unless another look was recorded since its known state was read.
    pub fn record_look(&mut self, inbox: &InboxKey, look: &Look) -> Result<Recording, LedgerError> {
        let write = || -> rusqlite::Result<Recording> {
            let transaction = self.change()?;
            let number = inbox.find_or_make(&transaction)?;
            let current: Option<String> = transaction
                .prepare_cached("SELECT signature FROM inboxes WHERE id = ?1")?
                .query_row([number], |row| row.get(0))?;
            if current.as_deref() != look.known {
                return Ok(Recording::Moved);
            }
            apply_look(&transaction, number, look.observed, look.equals, look.now)?;
            if let Some(signature) = look.signature {
                transaction
                    .prepare_cached("UPDATE inboxes SET signature = ?2 WHERE id = ?1")?
                    .execute(params![number, signature])?;
            }
            transaction.commit()?;
            Ok(Recording::Done)
        };
        write().map_err(|source| self.failed(source))
    }

    /// All inboxes of a team that the ledger knows: their signatures, and whether mail in them is not seen yet.
    pub fn team_inboxes(&self, root: &str, team: &str) -> Result<HashMap<String, TeamInbox>, LedgerError> {
        let query = || -> rusqlite::Result<HashMap<String, TeamInbox>> {
            self.filed()?
                .prepare_cached(
                    "SELECT name, signature,
                            EXISTS (SELECT 1 FROM messages m WHERE m.inbox = inboxes.id AND m.rank < 40)
                     FROM inboxes WHERE root = ?1 AND team = ?2",
                )?
                .query_map(params![root, team], |row| {
                    Ok((row.get(0)?, TeamInbox { signature: row.get(1)?, has_open: row.get(2)? }))
                })?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The teams that are not known to be gone.
    pub fn teams_not_closed(&self, root: &str) -> Result<Vec<String>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<String>> {
            self.filed()?
                .prepare_cached("SELECT DISTINCT team FROM inboxes WHERE root = ?1 AND signature IS NOT ?2")?
                .query_map([root, CLOSED], |row| row.get(0))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The team is gone, and all that its mail became is recorded.
    pub fn close_team(&mut self, root: &str, team: &str) -> Result<(), LedgerError> {
        let write = || -> rusqlite::Result<usize> {
            self.db
                .prepare_cached("UPDATE inboxes SET signature = ?3 WHERE root = ?1 AND team = ?2")?
                .execute(params![root, team, CLOSED])
        };
        write().map(drop).map_err(|source| self.failed(source))
    }

    /// Whether anything of a team is on record.
    pub fn knows_team(&self, root: &str, team: &str) -> Result<bool, LedgerError> {
        let query = || -> rusqlite::Result<bool> {
            self.filed()?
                .prepare_cached("SELECT 1 FROM inboxes WHERE root = ?1 AND team = ?2")?
                .exists(params![root, team])
        };
        query().map_err(|source| self.failed(source))
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

fn render(reader: &InboxKey) -> String {
    format!("{}\n{}\n{}", reader.team, reader.name, reader.root)
}

/// Where nothing is known of this reader, an earlier version may have read the source for all.
fn position(db: &Connection, source: &Source, reader: &str) -> rusqlite::Result<u64> {
    let position: Option<i64> = db
        .prepare_cached(
            "SELECT position FROM sources WHERE source = ?1 AND reader IN (?2, '') ORDER BY reader DESC LIMIT 1",
        )?
        .query_row([&source.0, reader], |row| row.get(0))
        .optional()?;
    Ok(position.and_then(|position| u64::try_from(position).ok()).unwrap_or(0))
}

/// Uses a proof for its message, if neither was used before.
fn use_proof(db: &Connection, source: &Source, proof: &Proof) -> rusqlite::Result<()> {
    let Some(inbox) = proof.inbox.find(db)? else { return Ok(()) };
    let Some(message) = number_of(db, inbox, &proof.id)? else { return Ok(()) };
    let is_new = db
        .prepare_cached(
            "INSERT OR IGNORE INTO proofs (source, position, entry, message) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![source.0, proof.position.cast_signed(), proof.entry, message])?;
    if is_new == 0 {
        return Ok(());
    }
    // What is in the conversation was not lost, whatever we thought. If it counts as accepted only, its sender is about to
    // say that it wrote it, or died before it could: whoever completes accepted mail finds out.
    revive(db, message)?;
    reach(db, message, Stage::Seen, proof.at, &proof.evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::NewMessage;

    const SOURCE: &str = "/root/projects/p/s.jsonl";

    fn key() -> InboxKey {
        InboxKey { root: "/root".into(), team: "demo".into(), name: "bob".into() }
    }

    fn with_messages(folder: &Path, ids: &[&str]) -> Ledger {
        let mut ledger = Ledger::open(&folder.join("ledger.db")).unwrap();
        let observed: Vec<Observed> = ids
            .iter()
            .map(|id| {
                let new = NewMessage { id: (*id).into(), kind: "message".into(), ..NewMessage::default() };
                let new = Some(Box::new((new, Evidence::certain("found"))));
                Observed { id: (*id).into(), new, stages: Vec::new(), at: None }
            })
            .collect();
        ledger.observe(&key(), &observed, None, 1).unwrap();
        ledger
    }

    fn proof(id: &str, position: u64, entry: Option<&str>) -> Proof {
        Proof {
            inbox: key(),
            id: id.into(),
            position,
            entry: entry.map(ToOwned::to_owned),
            at: 5_000,
            evidence: Evidence::certain("in the conversation"),
        }
    }

    fn reading(inode: u64, from: u64, to: u64, proofs: Vec<Proof>) -> Reading {
        Reading { source: Source::file(Path::new(SOURCE), inode), reader: key(), from, to, proofs }
    }

    fn stage(ledger: &Ledger, id: &str) -> Stage {
        ledger.find("/root", id, false).unwrap()[0].stage
    }

    #[test]
    fn an_occurrence_proves_one_message_also_in_a_copy_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = with_messages(folder.path(), &["a", "b", "c"]);
        let first = reading(7, 0, 100, vec![proof("a", 10, Some("e1/0"))]);
        assert_eq!(ledger.record_readings(&[first]).unwrap(), Recording::Done);
        assert_eq!(stage(&ledger, "a"), Stage::Seen);
        assert_eq!(ledger.positions(&key(), &[Source::file(Path::new(SOURCE), 7)]).unwrap(), [100]);
        // The same place again, for another message, and the same entry in another file.
        let again = reading(7, 100, 100, vec![proof("b", 10, None)]);
        let copied = reading(8, 0, 50, vec![proof("b", 3, Some("e1/0"))]);
        assert_eq!(ledger.record_readings(&[again, copied]).unwrap(), Recording::Done);
        assert_eq!(stage(&ledger, "b"), Stage::Written);
        assert_eq!(ledger.used_entries(&["e1", "e2", "e"]).unwrap(), HashSet::from(["e1/0".to_owned()]));
        // Two occurrences in one entry are two proofs.
        let two = vec![proof("b", 60, Some("e2/0")), proof("c", 61, Some("e2/1"))];
        ledger.record_readings(&[reading(8, 50, 90, two)]).unwrap();
        assert_eq!([stage(&ledger, "b"), stage(&ledger, "c")], [Stage::Seen, Stage::Seen]);
        let seen = &ledger.find("/root", "c", false).unwrap()[0];
        assert_eq!(ledger.stages(seen).unwrap().last().map(|record| record.at), Some(5_000));
    }

    #[test]
    fn a_reading_of_what_somebody_else_has_read_since_is_refused_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = with_messages(folder.path(), &["a", "b"]);
        ledger.record_readings(&[reading(7, 0, 100, vec![])]).unwrap();
        let fresh = reading(8, 0, 10, vec![proof("a", 1, None)]);
        let late = reading(7, 0, 100, vec![proof("b", 10, None)]);
        assert_eq!(ledger.record_readings(&[fresh, late]).unwrap(), Recording::Moved);
        assert_eq!([stage(&ledger, "a"), stage(&ledger, "b")], [Stage::Written, Stage::Written]);
        assert_eq!(ledger.positions(&key(), &[Source::file(Path::new(SOURCE), 8)]).unwrap(), [0]);
    }

    #[test]
    fn a_look_at_an_inbox_that_somebody_else_looked_at_since_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = with_messages(folder.path(), &["a"]);
        let equals = HashMap::new();
        let taken = [Observed {
            id: "a".into(),
            new: None,
            stages: vec![(Stage::Taken, Evidence::likely("gone"))],
            at: Some(3),
        }];
        let look = |known, observed, signature| Look { known, observed, signature, equals: &equals, now: 9 };
        assert_eq!(ledger.record_look(&key(), &look(None, &[], Some("one"))).unwrap(), Recording::Done);
        assert_eq!(ledger.record_look(&key(), &look(None, &taken, Some("two"))).unwrap(), Recording::Moved);
        assert_eq!(stage(&ledger, "a"), Stage::Written);
        assert_eq!(
            ledger.record_look(&key(), &look(Some("one"), &taken, Some("two"))).unwrap(),
            Recording::Done
        );
        let found = &ledger.find("/root", "a", false).unwrap()[0];
        assert_eq!(
            ledger.stages(found).unwrap().last().map(|last| (last.stage, last.at)),
            Some((Stage::Taken, 3))
        );
        let inboxes = ledger.team_inboxes("/root", "demo").unwrap();
        assert_eq!(inboxes["bob"], TeamInbox { signature: Some("two".into()), has_open: true });
        assert_eq!(ledger.teams_not_closed("/root").unwrap(), ["demo"]);
        ledger.close_team("/root", "demo").unwrap();
        assert!(
            ledger.teams_not_closed("/root").unwrap().is_empty()
                && ledger.knows_team("/root", "demo").unwrap()
        );
    }
}
