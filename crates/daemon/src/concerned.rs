//! Whom the end of a process or a change of a session concerns.

use std::collections::{BTreeMap, BTreeSet};

use atm_office::people::presence::Round;
use atm_wire::TeamName;

/// The processes and sessions of each team, and who is concerned by one.
#[derive(Debug, Default)]
pub(crate) struct Concerned(BTreeMap<TeamName, Round>);

impl Concerned {
    pub(crate) fn set(&mut self, team: &TeamName, round: Round) {
        self.0.insert(team.clone(), round);
    }

    pub(crate) fn forget(&mut self, team: &TeamName) {
        self.0.remove(team);
    }

    pub(crate) fn processes(&self) -> BTreeSet<u64> {
        self.0.values().flat_map(|round| round.processes.iter().copied()).collect()
    }

    pub(crate) fn by_process(&self, died: &BTreeSet<u64>) -> Vec<TeamName> {
        self.teams(|round| !round.processes.is_disjoint(died))
    }

    pub(crate) fn by_session(&self, changed: &BTreeSet<String>) -> Vec<TeamName> {
        self.teams(|round| !round.sessions.is_disjoint(changed))
    }

    fn teams(&self, is_concerned: impl Fn(&Round) -> bool) -> Vec<TeamName> {
        self.0.iter().filter(|(_, round)| is_concerned(round)).map(|(team, _)| team.clone()).collect()
    }
}
