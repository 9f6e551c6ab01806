//! What to do with mail that nobody acts on, and when: the rules, without the world.

use std::time::Duration;

use atm_ledger::{Stage, StageRecord};
use atm_wire::Stamp;
use atm_wire::message::{Delivery, Priority};
use serde::{Deserialize, Serialize};

use super::LEAD;
use crate::office::USER;
use crate::trail::pending::Why;

/// What to do, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How long after the recipient's return each offer is made.
    pub retry_after: Vec<Duration>,
    /// Who is told when the offers did not help, one after the other: names, or `lead`.
    pub escalate_to: Vec<String>,
    /// How long after the recipient's return nobody tries any more.
    pub expire_after: Option<Duration>,
}

impl Default for Policy {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Self {
            retry_after: vec![minutes(5), minutes(15)],
            escalate_to: vec![LEAD.to_owned(), USER.to_owned()],
            expire_after: Some(minutes(7 * 24 * 60)),
        }
    }
}

/// The policies, by priority.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// For urgent mail.
    pub high: Policy,
    /// For the rest.
    pub normal: Policy,
    /// For what has time.
    pub low: Policy,
}

impl Policies {
    pub(super) fn of(&self, priority: Priority) -> &Policy {
        match priority {
            Priority::High => &self.high,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        }
    }
}

/// A step that is due, or was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Offered again.
    Offer {
        /// Which offer this is: 2 for the first repetition.
        number: u32,
    },
    /// Somebody else is told.
    Escalate {
        /// Who.
        told: String,
    },
    /// Given up.
    Expire,
}

/// What was done with a message so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress<'a> {
    pub(super) stages: &'a [StageRecord],
    /// How it was written first.
    pub(super) first: Delivery,
    /// Since when its recipient is back.
    pub(super) back: Stamp,
    pub(super) why: Why,
    /// It stands in the inbox, unread.
    pub(super) lies_unread: bool,
}

impl Progress<'_> {
    fn count(&self, stage: Stage) -> usize {
        self.stages.iter().filter(|record| record.stage == stage).count()
    }

    /// How often it was offered again. Of mail that was queued, the first record of it is no offer of ours.
    fn offers(&self) -> usize {
        self.count(Stage::Queued).saturating_sub(usize::from(self.first == Delivery::Queued))
    }

    pub(super) fn escalations(&self) -> usize {
        self.count(Stage::Escalated)
    }

    /// When the last step was taken, if one was.
    fn last_step(&self) -> Option<Stamp> {
        let offers = self.stages.iter().filter(|record| record.stage == Stage::Queued);
        let offers = offers.skip(usize::from(self.first == Delivery::Queued));
        let told = self.stages.iter().filter(|record| record.stage == Stage::Escalated);
        offers.chain(told).map(|record| Stamp::from_millis(record.at)).max()
    }
}

/// The steps that come next, each with its time: expiry, and the next offer or escalation.
///
/// A step that came late puts off those after it, so that the pauses between them stay as they are meant.
fn upcoming(policy: &Policy, progress: &Progress) -> (Option<Stamp>, Option<(Stamp, Step)>) {
    // Mail that was seen stays that when it expires: it is over all the same.
    if progress.count(Stage::Expired) > 0 {
        return (None, None);
    }
    let expires = policy.expire_after.map(|after| progress.back.saturating_add(after));
    // A reader that took it would get it twice; a writer that undid it would do so again;
    // what a client holds is its user's to decide.
    let is_left_alone =
        matches!(progress.why, Why::NotWritten | Why::TakenUnproved | Why::Held | Why::HeldByClient);
    (expires, if is_left_alone { None } else { next_step(policy, progress) })
}

fn next_step(policy: &Policy, progress: &Progress) -> Option<(Stamp, Step)> {
    let at = |before: Duration, after: Duration| {
        let by_plan = progress.back.saturating_add(after);
        let pause = after.saturating_sub(before);
        progress.last_step().map_or(by_plan, |last| by_plan.max(last.saturating_add(pause)))
    };
    let offers = progress.offers();
    let before = |index: usize| index.checked_sub(1).and_then(|index| policy.retry_after.get(index)).copied();
    if let Some(after) = policy.retry_after.get(offers) {
        // What lies unread in the inbox is on offer already.
        let is_on_offer = progress.lies_unread || progress.why == Why::Queued;
        let number = u32::try_from(offers).unwrap_or(u32::MAX).saturating_add(2);
        let time = at(before(offers).unwrap_or_default(), *after);
        return (!is_on_offer).then_some((time, Step::Offer { number }));
    }
    let told = progress.escalations();
    let to = policy.escalate_to.get(told)?;
    let pause = policy.retry_after.last().copied().unwrap_or(Duration::from_secs(15 * 60));
    let times = |count: usize| pause.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    Some((at(times(told + 1), times(told + 2)), Step::Escalate { told: to.clone() }))
}

/// The next step, if its time has come.
pub(super) fn due(policy: &Policy, progress: &Progress, now: Stamp) -> Option<Step> {
    let (expires, next) = upcoming(policy, progress);
    if expires.is_some_and(|at| at <= now) {
        return Some(Step::Expire);
    }
    next.filter(|(at, _)| *at <= now).map(|(_, step)| step)
}

/// The times at which something is due for a message.
pub(super) fn times(policy: &Policy, progress: &Progress) -> Vec<Stamp> {
    let (expires, next) = upcoming(policy, progress);
    expires.into_iter().chain(next.map(|(at, _)| at)).collect()
}

#[cfg(test)]
mod tests {
    use atm_ledger::Evidence;

    use super::*;

    const BACK: i64 = 1_794_768_000_000;

    fn minute(number: i64) -> Stamp {
        Stamp::from_millis(BACK + number * 60_000)
    }

    fn reached(stages: &[(Stage, i64)]) -> Vec<StageRecord> {
        let record = |(stage, at): &(Stage, i64)| StageRecord {
            stage: *stage,
            at: minute(*at).as_millis(),
            evidence: Evidence::certain("x"),
            is_offer: false,
        };
        stages.iter().map(record).collect()
    }

    fn progress(stages: &[StageRecord], first: Delivery, why: Why) -> Progress<'_> {
        Progress { stages, first, back: minute(0), why, lies_unread: false }
    }

    /// Looks every so many minutes for a week, from a minute on; gives what was done when.
    fn story(policy: &Policy, from: i64, every: usize) -> Vec<(i64, Step)> {
        let mut stages = reached(&[(Stage::Written, -9), (Stage::Queued, -9), (Stage::Taken, 0)]);
        let mut story = Vec::new();
        for now in (from..=7 * 24 * 60).step_by(every) {
            let progress = progress(&stages, Delivery::Queued, Why::NoSignOfWork);
            if let Some(step) = due(policy, &progress, minute(now)) {
                let stage = match &step {
                    Step::Offer { .. } => Stage::Queued,
                    Step::Escalate { .. } => Stage::Escalated,
                    Step::Expire => Stage::Expired,
                };
                stages.extend(reached(&[(stage, now)]));
                story.push((now, step));
                if stage == Stage::Expired {
                    break;
                }
            }
        }
        story
    }

    #[test]
    fn the_longest_span_is_no_reason_to_panic() {
        let policy = Policy { retry_after: vec![Duration::MAX], ..Policy::default() };
        let stages = reached(&[(Stage::Queued, 0), (Stage::Queued, 1), (Stage::Escalated, 2)]);
        let progress = progress(&stages, Delivery::Queued, Why::NoSignOfWork);
        assert_eq!(due(&policy, &progress, minute(60)), None);
    }

    #[test]
    fn a_whole_week_takes_each_step_once() {
        let week = (7 * 24 * 60, Step::Expire);
        let lead = || Step::Escalate { told: "lead".into() };
        let user = || Step::Escalate { told: "user".into() };
        let policy = Policy::default();
        let offer = |number| Step::Offer { number };
        let on_time = [(5, offer(2)), (15, offer(3)), (30, lead()), (45, user()), week.clone()];
        assert_eq!(story(&policy, 0, 1), on_time);
        let late = [(600, offer(2)), (610, offer(3)), (625, lead()), (640, user()), week];
        assert_eq!(story(&policy, 600, 1), late, "the pauses stay when the first step comes late");
    }

    #[test]
    fn what_was_done_after_a_pass_began_is_not_followed_by_that_pass() {
        let policy = Policy { retry_after: vec![Duration::ZERO; 3], ..Policy::default() };
        let stages = reached(&[(Stage::Written, -9), (Stage::Taken, 0), (Stage::Queued, 5)]);
        let progress = progress(&stages, Delivery::Delivered, Why::LostByClient);
        assert_eq!(due(&policy, &progress, minute(4)), None);
        assert_eq!(due(&policy, &progress, minute(5)), Some(Step::Offer { number: 3 }));
    }

    #[test]
    fn mail_that_a_client_lost_is_offered_once_a_step() {
        let mut stages = reached(&[(Stage::Written, -1), (Stage::Taken, 0)]);
        let lost = |stages: &[StageRecord]| {
            due(&Policy::default(), &progress(stages, Delivery::Delivered, Why::LostByClient), minute(6))
        };
        assert_eq!(lost(&stages), Some(Step::Offer { number: 2 }));
        stages.extend(reached(&[(Stage::Queued, 6)]));
        assert_eq!(lost(&stages), None);
    }

    #[test]
    fn what_may_have_been_taken_or_is_undone_over_and_over_is_not_offered_again() {
        for why in [Why::TakenUnproved, Why::Held, Why::HeldByClient] {
            let stages = reached(&[(Stage::Written, -1), (Stage::Taken, 0)]);
            let progress = progress(&stages, Delivery::Delivered, why);
            let after = |time| due(&Policy::default(), &progress, minute(time));
            assert_eq!(after(60), None);
            assert_eq!(after(7 * 24 * 60), Some(Step::Expire));
        }
    }

    #[test]
    fn what_has_expired_is_over() {
        let policy = Policy::default();
        let stages = reached(&[(Stage::Seen, 1), (Stage::Expired, 2)]);
        let progress = progress(&stages, Delivery::Queued, Why::NoSignOfWork);
        assert_eq!(due(&policy, &progress, minute(60 * 24 * 365)), None);
        assert!(times(&policy, &progress).is_empty());
    }

    #[test]
    fn what_lies_unread_is_not_offered_again() {
        let stages = reached(&[(Stage::Written, -1), (Stage::Queued, -1)]);
        let queued = progress(&stages, Delivery::Queued, Why::Queued);
        assert_eq!(due(&Policy::default(), &queued, minute(20)), None);
        let offered = Progress { why: Why::NoSignOfWork, lies_unread: true, ..queued };
        assert_eq!(due(&Policy::default(), &offered, minute(20)), None);
        assert!(times(&Policy::default(), &offered).contains(&minute(7 * 24 * 60)));
    }
}
