//! Members that come, go, or change what they do. Each change is recorded once, by the first process that sees it.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::log::append::{append, find_or_make_root, incarnation, root_id};
use crate::log::event::{Key, Kind, NewEvent};
use crate::open::Ledger;
use crate::record::find_team;
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
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.read(|view| {
            let Some(team) = find_team(view, root, team)? else { return Ok(Vec::new()) };
            let events: Vec<i64> = view
                .index
                .prepare_cached(
                    "SELECT event FROM states WHERE team = ?1 AND member = ?2 ORDER BY event DESC LIMIT ?3",
                )?
                .query_map(params![team, member, most], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let mut of_event =
                view.log.prepare_cached("SELECT at, body, evidence FROM events WHERE seq = ?1")?;
            let mut past = Vec::new();
            for event in events {
                let (at, body, evidence): (i64, Option<String>, Option<String>) =
                    of_event.query_row([event], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
                let change = serde_json::from_str::<StateChange>(body.as_deref().unwrap_or_default()).ok();
                let evidence = evidence.as_deref().map(Evidence::from_json);
                past.extend(change.map(|change| PastState { at, state: change.state, evidence }));
            }
            Ok(past)
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn change(was: Option<(&str, i64)>, state: &str, at: i64) -> Transition {
        Transition {
            member: "bob".into(),
            was: was.map(|(state, at)| LastState { state: state.into(), at }),
            state: state.into(),
            at,
            evidence: Evidence::certain("test"),
        }
    }

    /// All events of the log were looked through for the few of one member.
    #[test]
    fn the_states_of_a_member_are_found_by_number_and_in_the_team_that_has_the_name_now() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(&folder.path().join("log.db")).unwrap();
        let states = |ledger: &Ledger, most| -> Vec<String> {
            let past = ledger.past_states("/shared", "demo", "bob", most).unwrap();
            past.into_iter().map(|past| past.state).collect()
        };
        assert_eq!(states(&ledger, 5), Vec::<String>::new());
        ledger.begin_team("/shared", "demo", 1, true).unwrap();
        ledger.record_transitions("/shared", "demo", &[change(None, "online", 1)]).unwrap();
        ledger.record_transitions("/shared", "demo", &[change(Some(("online", 1)), "idle", 2)]).unwrap();
        ledger.record_transitions("/shared", "other", &[change(None, "offline", 3)]).unwrap();
        assert_eq!(states(&ledger, 5), ["idle", "online"]);
        assert_eq!(states(&ledger, 1), ["idle"]);
        let plan: Vec<String> = ledger
            .read(|view| {
                view.index
                    .prepare("EXPLAIN QUERY PLAN SELECT event FROM states WHERE team = 1 AND member = 'bob' ORDER BY event DESC")?
                    .query_map([], |row| row.get(3))?
                    .collect()
            })
            .unwrap();
        ledger.begin_team("/shared", "demo", 9, false).unwrap();
        assert_eq!(states(&ledger, 5), Vec::<String>::new(), "that was another team");
        assert_eq!(plan, ["SEARCH states USING PRIMARY KEY (team=? AND member=?)"]);
    }
}
