//! Members that come, go, or change what they do. Each change is recorded once, by the first process that sees it.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::log::append::{append, find_or_make_root, incarnation, root_id};
use crate::log::event::{Key, Kind, NewEvent};
use crate::open::Ledger;
use crate::stage::Evidence;

/// The state that a member was last recorded in, in the office's own word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastState {
    /// The state.
    pub state: String,
    /// When it began, in milliseconds since the epoch.
    pub at: i64,
}

/// A change of a member's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// Who.
    pub member: String,
    /// The last state on record when this one was judged. Nothing is recorded if there is another one since.
    pub was: Option<LastState>,
    /// The state.
    pub state: String,
    /// When it began, in milliseconds since the epoch.
    pub at: i64,
    /// How we know.
    pub evidence: Evidence,
}

/// A state of a member, as the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastState {
    /// When it began, in milliseconds since the epoch.
    pub at: i64,
    /// The state.
    pub state: String,
    /// How we know.
    pub evidence: Option<Evidence>,
}

/// The body of the event.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StateChange {
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) was: Option<String>,
}

impl Ledger {
    /// The last recorded state of each member of a team.
    pub fn last_states(&self, root: &str, team: &str) -> Result<HashMap<String, LastState>, LedgerError> {
        let query = || -> rusqlite::Result<HashMap<String, LastState>> {
            let Some(root) = root_id(&self.log.db, root)? else { return Ok(HashMap::new()) };
            self.log
                .db
                .prepare_cached(
                    "SELECT member, presence, presence_at FROM members
                     WHERE root = ?1 AND team = ?2 AND presence IS NOT NULL",
                )?
                .query_map(params![root, team], |row| {
                    Ok((row.get(0)?, LastState { state: row.get(1)?, at: row.get(2)? }))
                })?
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// The last `most` states of a member, the newest first: in the team that has the name now.
    pub fn past_states(
        &self,
        root: &str,
        team: &str,
        member: &str,
        most: usize,
    ) -> Result<Vec<PastState>, LedgerError> {
        let query = || -> rusqlite::Result<Vec<PastState>> {
            let Some(root) = root_id(&self.log.db, root)? else { return Ok(Vec::new()) };
            let now = incarnation(&self.log.db, root, team)?;
            self.log
                .db
                .prepare_cached(
                    "SELECT at, body, evidence FROM events
                     WHERE kind = ?1 AND root = ?2 AND team = ?3 AND coalesce(incarnation, 0) = ?4 AND member = ?5
                     ORDER BY seq DESC LIMIT ?6",
                )?
                .query_map(
                    params![Kind::Presence.code(), root, team, now.0, member, i64::try_from(most).unwrap_or(i64::MAX)],
                    |row| {
                        let (at, body, evidence): (i64, String, Option<String>) =
                            (row.get(0)?, row.get(1)?, row.get(2)?);
                        let change = serde_json::from_str::<StateChange>(&body).ok();
                        let evidence = evidence.as_deref().map(Evidence::from_json);
                        Ok(change.map(|change| PastState { at, state: change.state, evidence }))
                    },
                )?
                .filter_map(Result::transpose)
                .collect()
        };
        query().map_err(|source| self.failed(source))
    }

    /// Records changes of state, each unless another one of that member was recorded since it was judged.
    pub fn record_transitions(
        &mut self,
        root: &str,
        team: &str,
        changes: &[Transition],
    ) -> Result<(), LedgerError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.append(|log| {
            let root = find_or_make_root(log, root)?;
            let incarnation = incarnation(log, root, team)?;
            for Transition { member, was, state, at, evidence } in changes {
                let recorded = log
                    .prepare_cached(
                        "SELECT presence, presence_at FROM members
                         WHERE root = ?1 AND team = ?2 AND member = ?3 AND presence IS NOT NULL",
                    )?
                    .query_row(params![root, team, member], |row| {
                        Ok(LastState { state: row.get(0)?, at: row.get(1)? })
                    })
                    .optional()?;
                if recorded != *was || was.as_ref().is_some_and(|was| was.state == *state) {
                    continue;
                }
                let body = StateChange { state: state.clone(), was: was.as_ref().map(|was| was.state.clone()) };
                let body = serde_json::to_string(&body).unwrap_or_default();
                let key = Key { root, team, incarnation, member };
                let event = NewEvent { key: Some(key), ..NewEvent::new(Kind::Presence, *at) };
                append(log, &event.evidence(&evidence.to_json()).body(Some(&body)))?;
                log.prepare_cached(
                    "INSERT INTO members (root, team, member, presence, presence_at) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (root, team, member) DO UPDATE SET presence = ?4, presence_at = ?5",
                )?
                .execute(params![root, team, member, state, at])?;
            }
            Ok(())
        })
    }
}
