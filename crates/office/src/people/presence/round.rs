//! Judging all members at once, for those who go on watching: what to watch next, and until when the answer holds.

use std::collections::{BTreeSet, HashMap};

use atm_ledger::LastState;
use atm_wire::Stamp;
use atm_wire::team::Member;

use super::rules::next_change;
use super::{Judgement, Signs, judge};
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

/// All members of a team, judged.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The states that were recorded last before that, by name.
    pub(crate) known: HashMap<String, LastState>,
    /// In the order of the configuration.
    pub(crate) members: Vec<(Signs, Judgement)>,
}

impl Team<'_> {
    /// Judges all members, and records who came and went. What is asked of every member is gathered at once: its words in
    /// anybody's mail, and its traces in the ledger.
    pub(crate) fn judge_all(&mut self) -> Judged {
        self.digests();
        for digest in self.digests.get().into_iter().flat_map(HashMap::values).flatten() {
            self.around.hear(&digest.words);
        }
        let (office, name) = (self.office(), self.name());
        let known = office.last_states(name);
        office.trace_all(name, &self.around);
        let now = office.now();
        let judged = |member: &Member| {
            let signs = office.signs(name, self.config(), member, &self.around);
            let judgement = judge(&signs, now);
            (signs, judgement)
        };
        let members: Vec<_> = self.config().members.iter().map(judged).collect();
        let names = self.config().members.iter().map(|member| member.name.as_str());
        office.record_presence(name, &known, names.zip(members.iter().map(|(_, judgement)| judgement)));
        Judged { known, members }
    }

    /// Judges all members: until when does that hold?
    pub fn presence_round(&mut self) -> Round {
        let judged = self.judge_all();
        let (office, now) = (self.office(), self.office().now());
        let mut round = Round::default();
        round.sessions.extend(self.config().lead_session_id.clone());
        for (member, (signs, _)) in self.config().members.iter().zip(&judged.members) {
            round.next = [round.next, next_change(signs, now)].into_iter().flatten().min();
            round.processes.extend(office.processes_of(self.name(), self.config(), member, &self.around));
            round.sessions.extend(member.waking.session.clone());
        }
        round
    }
}
