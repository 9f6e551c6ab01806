//! What a team's tasks were like at the last look, and what changed since.
//!
//! The ledger does not read tasks: their states are texts of the office's own. A change is recorded once, however many
//! processes see it: each says what the task files looked like at the look that it compares with, and a process that finds that
//! another look was recorded since judges again.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::LedgerError;
use crate::log::append::{append, find_or_make_root, incarnation, root_id};
use crate::log::event::{Key, Kind, NewEvent, RootId};
use crate::open::Ledger;
use crate::proofs::Recording;
use crate::record::find_team;
use crate::seam::Connection;
use crate::stage::Evidence;

/// A team's tasks as the ledger has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownTasks {
    /// What their files looked like at the last look.
    pub signature: Option<String>,
    /// Their states, by id.
    pub states: HashMap<String, String>,
}

/// What happened to a task.
///
/// Its names are part of the format: events have it as their body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskChange {
    /// Which.
    pub task: String,
    /// Its state before; none if it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// Its state now; none if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

impl TaskChange {
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// A look at a team's tasks, as it is recorded.
#[derive(Debug)]
pub struct TaskLook<'a> {
    /// The signature in the ledger when the known state was read. Nothing is recorded if there is another one since.
    pub known: Option<&'a str>,
    /// What changed, with the time, and how we know.
    pub changes: &'a [(TaskChange, i64, Evidence)],
    /// The signature to remember; none if the files have to be read again at the next look.
    pub signature: Option<&'a str>,
}

impl Ledger {
    /// A team's tasks as they were last recorded.
    pub fn known_tasks(&self, root: &str, team: &str) -> Result<KnownTasks, LedgerError> {
        // Before the states: if another look is recorded in between, ours is refused.
        let signature = self.tasks_signature(root, team)?;
        let states = self.read(|view| {
            let Some(team) = find_team(view, root, team)? else { return Ok(HashMap::new()) };
            view.index
                .prepare_cached("SELECT task, state FROM tasks WHERE team = ?1")?
                .query_map([team], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })?;
        Ok(KnownTasks { signature, states })
    }

    /// What a team's task files looked like at the last look.
    pub fn tasks_signature(&self, root: &str, team: &str) -> Result<Option<String>, LedgerError> {
        let query = || match root_id(&self.log.db, root)? {
            Some(root) => find_signature(&self.log.db, root, team),
            None => Ok(None),
        };
        query().map_err(|source| self.failed(source))
    }

    /// Records a look at a team's tasks, unless another one was recorded since its known state was read.
    pub fn record_tasks(
        &mut self,
        root: &str,
        team: &str,
        look: &TaskLook,
    ) -> Result<Recording, LedgerError> {
        self.append(|log| {
            let root = find_or_make_root(log, root)?;
            if find_signature(log, root, team)?.as_deref() != look.known {
                return Ok(Recording::Moved);
            }
            let incarnation = incarnation(log, root, team)?;
            let key = Key { root, team, incarnation, member: "" };
            for (change, at, evidence) in look.changes {
                let body = serde_json::to_string(change).unwrap_or_default();
                let event = NewEvent { key: Some(key), ..NewEvent::new(Kind::Task, *at) };
                append(log, &event.evidence(&evidence.to_json()).body(Some(&body)))?;
            }
            // One that no files have: what was recorded is not recorded again by somebody who compared with the state before.
            let signature = look.signature.map_or_else(|| Uuid::new_v4().to_string(), ToOwned::to_owned);
            log.prepare_cached(
                "INSERT INTO teams (root, team, incarnation, tasks) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (root, team) DO UPDATE SET tasks = ?4",
            )?
            .execute(params![root, team, incarnation.0, signature])?;
            Ok(Recording::Done)
        })
    }
}

fn find_signature(log: &Connection, root: RootId, team: &str) -> rusqlite::Result<Option<String>> {
    let found = log
        .prepare_cached("SELECT tasks FROM teams WHERE root = ?1 AND team = ?2")?
        .query_row(params![root, team], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}
