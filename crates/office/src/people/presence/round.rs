//! Judging all members at once, for those who go on watching: what to watch next, and until when the answer holds.

use std::collections::{BTreeSet, HashMap};

use atm_wire::Stamp;

use super::judge;
use super::rules::next_change;
use crate::team::Team;

/// What follows from judging the members of a team.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// When somebody's state may change though nothing happens.
    pub next: Option<Stamp>,
    /// The processes that members run in: the end of one is a change.
    pub processes: BTreeSet<u64>,
    /// The sessions that tell what members do.
    pub sessions: BTreeSet<String>,
}

impl Team<'_> {
    /// Judges all members, and records who came and went.
    pub fn presence_round(&mut self) -> Round {
        self.digests();
        for digest in self.digests.get().into_iter().flat_map(HashMap::values).flatten() {
            self.around.hear(&digest.words);
        }
        let (office, now) = (self.office(), self.office().now());
        let known = office.last_states(self.name());
        office.trace_all(self.name(), &self.around);
        let mut round = Round::default();
        let mut judged = Vec::new();
        round.sessions.extend(self.config().lead_session_id.clone());
        for member in &self.config().members {
            let signs = office.signs(self.name(), self.config(), member, &self.around);
            round.next = [round.next, next_change(&signs, now)].into_iter().flatten().min();
            round.processes.extend(office.processes_of(self.name(), self.config(), member, &self.around));
            round.sessions.extend(member.waking.session.clone());
            judged.push((member.name.as_str(), judge(&signs, now)));
        }
        office.record_presence(self.name(), &known, judged.iter().map(|(name, judged)| (*name, judged)));
        round
    }
}
