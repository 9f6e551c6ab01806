//! What to do next, and when: a pure function of what happened and the time.
//!
//! A change is looked at as soon as it is known, but in a team in which something changes all the time not more often than
//! looking at it pays: it rests for twice as long as the last look took. Who is there is judged once a second at most, and
//! chores follow a change after a moment, so that a burst is tended once. A team that fails rests for longer each time, and
//! holds nobody up.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use atm_wire::{Stamp, TeamName};

/// Who is there is judged again after this time at the earliest.
const PRESENCE_REST: Duration = Duration::from_secs(1);
/// Chores follow a change after this long.
const TEND_AFTER: Duration = Duration::from_millis(250);
/// And each other.
const TEND_REST: Duration = Duration::from_secs(1);
/// A conversation goes on all the time while its agent works.
const CONVERSATION_REST: Duration = Duration::from_millis(500);
/// How long a team rests that failed, and how long at most.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(5 * 60);
/// How long at most once its files changed: somebody may have mended it.
const CHANGED_REST: Duration = Duration::from_secs(5);
/// Judging and chores wait for looks at other teams for so long.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A clock that went back by more than this was set.
const CLOCK_WAS_SET: Duration = Duration::from_secs(2);
/// Teams in which something happened within this time are looked at when a conversation goes on.
const ACTIVE_FOR: Duration = Duration::from_secs(60 * 60);

/// What happened in a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Its files changed.
    Files,
    /// A conversation went on.
    Conversation,
    /// A process ended, or a session does something else.
    People,
}

/// What to do with a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Which.
    pub team: TeamName,
    /// Look at its mail.
    pub look: bool,
    /// Judge who is there.
    pub presence: bool,
    /// Run its chores.
    pub tend: bool,
}

/// What came of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// How long it took.
    pub took: Duration,
    /// When who is there may change by the clock alone, if that was judged.
    pub presence_next: Option<Stamp>,
    /// When the next step may be due, if chores were run.
    pub tend_next: Option<Stamp>,
}

/// A job that has begun and not ended.
#[derive(Debug, Clone, Copy, Default)]
struct UnderWay {
    /// The first change that it looks at.
    changed: Option<Stamp>,
}

/// One team's times. None: nothing is due.
#[derive(Debug, Clone, Default)]
struct Plan {
    look: Option<Stamp>,
    presence: Option<Stamp>,
    tend: Option<Stamp>,
    /// The first change for which no look has begun.
    changed: Option<Stamp>,
    /// Somebody is at it.
    under_way: Option<UnderWay>,
    last_change: Option<Stamp>,
    rests_until: Option<Stamp>,
    presence_rests: Option<Stamp>,
    tend_rests: Option<Stamp>,
    failures: u32,
}

impl Plan {
    fn at(&self, time: Option<Stamp>, rests: Option<Stamp>) -> Option<Stamp> {
        let time = time?;
        [Some(time), rests, self.rests_until].into_iter().flatten().max()
    }

    fn times(&self) -> [Option<Stamp>; 3] {
        [
            self.at(self.look, None),
            self.at(self.presence, self.presence_rests),
            self.at(self.tend, self.tend_rests),
        ]
    }

    /// When something is due, if nobody is at it.
    fn next(&self) -> Option<Stamp> {
        if self.under_way.is_some() {
            return None;
        }
        self.times().into_iter().flatten().min()
    }

    /// All of it is due.
    fn all_due(now: Stamp) -> Self {
        let due = Some(now);
        Self { look: due, presence: due, tend: due, ..Self::default() }
    }
}

/// The times of all teams.
#[derive(Debug, Default)]
pub struct Schedule {
    plans: BTreeMap<TeamName, Plan>,
    /// The latest time that was seen.
    now: Option<Stamp>,
}

impl Schedule {
    /// These teams are there. Of new ones everything is due; so is a last look at those that are gone, after which they are
    /// forgotten.
    pub fn set_teams(&mut self, teams: &BTreeSet<TeamName>, now: Stamp) {
        for team in teams.iter().filter(|team| !self.plans.contains_key(*team)).cloned().collect::<Vec<_>>() {
            self.plans.insert(team, Plan { changed: Some(now), ..Plan::all_due(now) });
        }
        for (team, plan) in &mut self.plans {
            if !teams.contains(team) && plan.look.is_none() {
                let (under_way, due) = (plan.under_way, Some(now));
                *plan = Plan { look: due, changed: due, under_way, ..Plan::default() };
            }
        }
    }

    /// A team that is gone was looked at for the last time.
    pub fn forget(&mut self, team: &TeamName) {
        self.plans.remove(team);
    }

    /// How many teams there are.
    pub fn teams(&self) -> usize {
        self.plans.len()
    }

    /// Something happened.
    pub fn happened(&mut self, team: &TeamName, news: News, now: Stamp) {
        let Some(plan) = self.plans.get_mut(team) else { return };
        let sooner = |time: Option<Stamp>, other: Stamp| Some(time.map_or(other, |time| time.min(other)));
        plan.look = match news {
            News::Files => sooner(plan.look, now),
            News::Conversation => sooner(plan.look, now.saturating_add(CONVERSATION_REST)),
            News::People => plan.look,
        };
        plan.presence = sooner(plan.presence, now);
        if news == News::People {
            // It is known what there is to see.
            plan.presence_rests = None;
        }
        plan.tend = sooner(plan.tend, now.saturating_add(TEND_AFTER));
        if news == News::Files {
            plan.changed = plan.changed.or(Some(now));
            plan.last_change = Some(now);
            if plan.failures > 0 {
                plan.rests_until = plan.rests_until.map(|until| until.min(now.saturating_add(CHANGED_REST)));
            }
        }
    }

    /// A conversation went on, and it is not known whose: all are meant in which something happened lately.
    pub fn conversation_went_on(&mut self, now: Stamp) {
        let active = |plan: &Plan| plan.last_change.is_some_and(|at| now.since(at) <= ACTIVE_FOR);
        let teams: Vec<TeamName> =
            self.plans.iter().filter(|(_, plan)| active(plan)).map(|(team, _)| team.clone()).collect();
        for team in &teams {
            self.happened(team, News::Conversation, now);
        }
    }

    /// Anything may have happened, everywhere.
    pub fn everything_changed(&mut self, now: Stamp) {
        for team in self.plans.keys().cloned().collect::<Vec<_>>() {
            self.happened(&team, News::Files, now);
        }
    }

    /// Chores are due now, in one team or in all.
    pub fn tend_now(&mut self, team: Option<&TeamName>, now: Stamp) {
        for (name, plan) in &mut self.plans {
            if team.is_none_or(|team| team == name) {
                (plan.tend, plan.tend_rests, plan.rests_until) = (Some(now), None, None);
            }
        }
    }

    /// What to do now: of the team that waits for the longest. Mail may be gone in a moment, so while a look is due
    /// somewhere else, the rest waits, though not for long.
    pub fn due(&mut self, now: Stamp) -> Option<Job> {
        self.notice_clock(now);
        let is_due = |time: &Stamp| *time <= now;
        let waits_for_long = |time: Stamp| now.since(time) > LONGEST_WAIT;
        let mut looks = 0;
        let mut first: Option<(bool, Stamp, &TeamName, [Option<Stamp>; 3])> = None;
        for (team, plan) in self.plans.iter().filter(|(_, plan)| plan.under_way.is_none()) {
            let times @ [look, presence, tend] = plan.times().map(|time| time.filter(is_due));
            let Some(waits_since) = times.into_iter().flatten().min() else { continue };
            let is_late = [presence, tend].into_iter().flatten().any(waits_for_long);
            looks += usize::from(look.is_some());
            let this = (look.is_none() && !is_late, waits_since, team, times);
            if first.as_ref().is_none_or(|first| this < *first) {
                first = Some(this);
            }
        }
        let (_, _, team, [look, presence, tend]) = first?;
        let is_alone = looks <= usize::from(look.is_some());
        let now_too = |time: Option<Stamp>| time.is_some_and(|time| is_alone || waits_for_long(time));
        Some(Job {
            team: team.clone(),
            look: look.is_some(),
            presence: now_too(presence),
            tend: now_too(tend),
        })
    }

    /// A job begins: what happens from now on is for the next one.
    pub fn begin(&mut self, job: &Job) {
        let Some(plan) = self.plans.get_mut(&job.team) else { return };
        plan.under_way = Some(UnderWay::default());
        if job.look {
            plan.look = None;
            plan.under_way = Some(UnderWay { changed: plan.changed.take() });
        }
        if job.presence {
            plan.presence = None;
        }
        if job.tend {
            plan.tend = None;
        }
    }

    /// A job was done.
    pub fn end(&mut self, job: &Job, done: &Done, now: Stamp) {
        let Some(plan) = self.plans.get_mut(&job.team) else { return };
        plan.under_way = None;
        plan.failures = 0;
        plan.rests_until = Some(now.saturating_add(done.took.saturating_mul(2)));
        let sooner = |one: Option<Stamp>, other: Option<Stamp>| [one, other].into_iter().flatten().min();
        if job.presence {
            plan.presence_rests = Some(now.saturating_add(PRESENCE_REST));
            plan.presence = sooner(plan.presence, done.presence_next);
        }
        if job.tend {
            plan.tend_rests = Some(now.saturating_add(TEND_REST.max(done.took.saturating_mul(4))));
            plan.tend = sooner(plan.tend, done.tend_next);
        }
    }

    /// A job failed: all of it is due again, later each time.
    pub fn fail(&mut self, job: &Job, now: Stamp) {
        let Some(plan) = self.plans.get_mut(&job.team) else { return };
        let rest = FIRST_REST.saturating_mul(1 << plan.failures.min(16)).min(LONGEST_REST);
        plan.failures = plan.failures.saturating_add(1);
        plan.changed = plan.under_way.take().and_then(|under_way| under_way.changed).or(plan.changed);
        plan.rests_until = Some(now.saturating_add(rest));
        for (was_due, time) in
            [(job.look, &mut plan.look), (job.presence, &mut plan.presence), (job.tend, &mut plan.tend)]
        {
            if was_due {
                *time = Some(time.map_or(now, |time| time.min(now)));
            }
        }
    }

    /// When something is due next, and where.
    pub fn next(&self) -> Option<(Stamp, &TeamName)> {
        self.plans.iter().filter_map(|(team, plan)| Some((plan.next()?, team))).min()
    }

    /// Since when the oldest change is there that no look knows of.
    pub fn behind_since(&self) -> Option<Stamp> {
        let begun = |plan: &Plan| plan.under_way.and_then(|under_way| under_way.changed);
        self.plans.values().flat_map(|plan| [plan.changed, begun(plan)]).flatten().min()
    }

    /// Times that were set by a clock that was ahead lie too far away.
    fn notice_clock(&mut self, now: Stamp) {
        let was_set = self.now.is_some_and(|last| last.since(now) > CLOCK_WAS_SET);
        self.now = Some(now);
        if was_set {
            for plan in self.plans.values_mut() {
                let last_change = plan.last_change.map(|_| now);
                *plan = Plan { last_change, under_way: plan.under_way, ..Plan::all_due(now) };
            }
        }
    }
}
