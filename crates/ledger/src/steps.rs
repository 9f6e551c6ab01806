//! Steps of chores: each is taken by one runner, before it acts.
//!
//! The row is the lock: of any number of processes that want a step, one inserts it. It names its owner, so that others
//! can tell whether the owner still runs; that question is theirs to answer, the ledger only compares. A change of a step
//! names the owner that it was read with, so a step that changed hands meanwhile is left alone.

use rusqlite::{OptionalExtension, Row, ToSql, params, params_from_iter};

use crate::error::LedgerError;
use crate::log::append::find_or_make_root;
use crate::open::Ledger;

const FINISHED: &str = "finished";
const UNKNOWN: &str = "unknown";

/// Which step: the `number`th of a chore with a subject, in one team below one root.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepKey {
    /// The shared tree, as in the keys of inboxes.
    pub root: String,
    /// The team.
    pub team: String,
    /// The chore.
    pub chore: String,
    /// What the step is about: a message, a member.
    pub subject: String,
    /// Which of the chore's steps with this subject. Each chore says what it counts.
    pub number: i64,
}

/// The process that took a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOwner {
    /// Which start of which machine.
    pub boot: String,
    /// The process' number.
    pub pid: u32,
    /// When the process was started, as the system spells it.
    pub start: String,
}

/// What came of taking a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is ours.
    Yes,
    /// It was carried out.
    AlreadyFinished,
    /// Its owner died over it, and nobody knows how far it came.
    Unknown,
    /// Somebody has it: a process that is at it, or one that died.
    HeldBy(StepOwner),
}

/// How far a step came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// Its owner is at it, or died over it.
    Taken,
    /// It was carried out.
    Finished,
    /// Its owner died over it, and it must not be repeated.
    Unknown,
}

/// A step that somebody took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// Which.
    pub key: StepKey,
    /// How far it came.
    pub state: StepState,
    /// Who has it, or had it last.
    pub owner: StepOwner,
    /// When it was taken, in milliseconds since the epoch.
    pub taken_at: i64,
    /// When it ended, in milliseconds since the epoch.
    pub ended_at: Option<i64>,
    /// What is done in it, in the office's words.
    pub what: String,
}

impl StepRow {
    fn read(row: &Row, root: &str) -> rusqlite::Result<Self> {
        let state = match row.get::<_, String>(4)?.as_str() {
            FINISHED => StepState::Finished,
            UNKNOWN => StepState::Unknown,
            _ => StepState::Taken,
        };
        Ok(Self {
            key: StepKey {
                root: root.to_owned(),
                team: row.get(0)?,
                chore: row.get(1)?,
                subject: row.get(2)?,
                number: row.get(3)?,
            },
            state,
            owner: StepOwner { boot: row.get(5)?, pid: row.get(6)?, start: row.get(7)? },
            taken_at: row.get(8)?,
            ended_at: row.get(9)?,
            what: row.get(10)?,
        })
    }
}

const COLUMNS: &str =
    "SELECT team, chore, subject, number, state, boot, pid, start, taken_at, ended_at, what FROM steps";
/// The steps of a team.
const OF_TEAM: &str = "root = (SELECT id FROM roots WHERE path = ?1) AND team = ?2";
/// One step.
const OF_KEY: &str = "chore = ?3 AND subject = ?4 AND number = ?5";

impl Ledger {
    /// Takes a step for `owner`, unless it was taken before. `what` says what is done in it.
    pub fn take_step(
        &mut self,
        key: &StepKey,
        owner: &StepOwner,
        what: &str,
        now: i64,
    ) -> Result<Taken, LedgerError> {
        loop {
            if self.insert_step(key, owner, what, now)? {
                return Ok(Taken::Yes);
            }
            // It may have been given back since.
            if let Some(row) = self.step(key)? {
                return Ok(match row.state {
                    StepState::Finished => Taken::AlreadyFinished,
                    StepState::Unknown => Taken::Unknown,
                    StepState::Taken => Taken::HeldBy(row.owner),
                });
            }
        }
    }

    /// Takes a step over from an owner that died; says whether it is ours now.
    pub fn take_over_step(
        &mut self,
        key: &StepKey,
        from: &StepOwner,
        to: &StepOwner,
        now: i64,
    ) -> Result<bool, LedgerError> {
        let change = "UPDATE steps SET boot = ?9, pid = ?10, start = ?11, taken_at = ?12";
        self.change_taken_step(change, key, from, &[&to.boot, &to.pid, &to.start, &now])
    }

    /// Records that a step was carried out.
    pub fn finish_step(&mut self, key: &StepKey, owner: &StepOwner, now: i64) -> Result<bool, LedgerError> {
        self.end_step(key, owner, FINISHED, now)
    }

    /// Records that nobody knows how far a step came; says whether `owner` still had it.
    pub fn leave_step_unknown(
        &mut self,
        key: &StepKey,
        owner: &StepOwner,
        now: i64,
    ) -> Result<bool, LedgerError> {
        self.end_step(key, owner, UNKNOWN, now)
    }

    /// Gives a step back of which nothing was done, so that it can be taken again.
    pub fn give_step_back(&mut self, key: &StepKey, owner: &StepOwner) -> Result<(), LedgerError> {
        self.change_taken_step("DELETE FROM steps", key, owner, &[]).map(drop)
    }

    /// A step, if somebody took it.
    pub fn step(&self, key: &StepKey) -> Result<Option<StepRow>, LedgerError> {
        let query = || {
            self.log
                .db
                .prepare_cached(&format!("{COLUMNS} WHERE {OF_TEAM} AND {OF_KEY}"))?
                .query_row(params![key.root, key.team, key.chore, key.subject, key.number], |row| {
                    StepRow::read(row, &key.root)
                })
                .optional()
        };
        query().map_err(|source| self.failed(source))
    }

    /// A team's steps that are taken or of unknown outcome, oldest first.
    pub fn open_steps(&self, root: &str, team: &str) -> Result<Vec<StepRow>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<StepRow>> {
            self.log
                .db
                .prepare_cached(&format!(
                    "{COLUMNS} WHERE {OF_TEAM} AND state <> 'finished' ORDER BY taken_at"
                ))?
                .query_map(params![root, team], |row| StepRow::read(row, root))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// A chore's steps in a team that somebody took, whatever became of them: subject, number, and the step as it was
    /// recorded.
    pub fn steps_taken(
        &self,
        root: &str,
        team: &str,
        chore: &str,
    ) -> Result<Vec<(String, i64, String)>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<(String, i64, String)>> {
            self.log
                .db
                .prepare_cached(&format!(
                    "SELECT subject, number, what FROM steps WHERE {OF_TEAM} AND chore = ?3"
                ))?
                .query_map(params![root, team, chore], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Forgets a team's steps that ended before a time, in milliseconds since the epoch.
    pub fn forget_steps(&mut self, root: &str, team: &str, before: i64) -> Result<usize, LedgerError> {
        let write = || {
            self.log
                .db
                .prepare_cached(&format!("DELETE FROM steps WHERE {OF_TEAM} AND ended_at < ?3"))?
                .execute(params![root, team, before])
        };
        write().map_err(|source| self.failed(source))
    }

    fn insert_step(
        &mut self,
        key: &StepKey,
        owner: &StepOwner,
        what: &str,
        now: i64,
    ) -> Result<bool, LedgerError> {
        self.append(|log| {
            let root = find_or_make_root(log, &key.root)?;
            let added = log
                .prepare_cached(
                    "INSERT INTO steps (root, team, chore, subject, number, state, boot, pid, start, taken_at, what)
                     VALUES (?1, ?2, ?3, ?4, ?5, 'taken', ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    root,
                    key.team,
                    key.chore,
                    key.subject,
                    key.number,
                    owner.boot,
                    owner.pid,
                    owner.start,
                    now,
                    what
                ])?;
            Ok(added > 0)
        })
    }

    fn end_step(
        &mut self,
        key: &StepKey,
        owner: &StepOwner,
        state: &str,
        now: i64,
    ) -> Result<bool, LedgerError> {
        self.change_taken_step("UPDATE steps SET state = ?9, ended_at = ?10", key, owner, &[&state, &now])
    }

    /// Changes a step if `owner` still has it; says whether it did. `more` are the values from `?9` on.
    fn change_taken_step(
        &self,
        change: &str,
        key: &StepKey,
        owner: &StepOwner,
        more: &[&dyn ToSql],
    ) -> Result<bool, LedgerError> {
        let values: [&dyn ToSql; 8] = [
            &key.root,
            &key.team,
            &key.chore,
            &key.subject,
            &key.number,
            &owner.boot,
            &owner.pid,
            &owner.start,
        ];
        let write = || {
            let is_theirs = "state = 'taken' AND boot = ?6 AND pid = ?7 AND start = ?8";
            self.log
                .db
                .prepare_cached(&format!("{change} WHERE {OF_TEAM} AND {OF_KEY} AND {is_theirs}"))?
                .execute(params_from_iter(values.iter().chain(more)))
        };
        write().map(|changed| changed > 0).map_err(|source| self.failed(source))
    }
}
