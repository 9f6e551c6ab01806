//! Mail that was queued and is not acted on: offered again, then escalated, then expired.
//!
//! Rules, run by `atm retry`. The clock is the office's, so that a test runs days in milliseconds. Nothing happens
//! while the recipient is off; no step is taken twice, by however many processes, and whoever dies over it.

mod step;

use std::time::Duration;

use atm_ledger::{Recorded, Stage, StageRecord};
use atm_wire::message::{Delivery, Priority};
use atm_wire::{Draft, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::{Office, USER};
use crate::team::Team;
use crate::trail::pending::{Waiting, Why};

/// In a policy's list: whoever leads the team.
pub const LEAD: &str = "lead";

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
    fn of(&self, priority: Priority) -> &Policy {
        match priority {
            Priority::High => &self.high,
            Priority::Normal => &self.normal,
            Priority::Low => &self.low,
        }
    }
}

/// A step that is due, or was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// A step with the message that it is about.
#[derive(Debug, Clone, Serialize)]
pub struct Retried {
    /// The message.
    pub id: String,
    /// For whom.
    pub to: String,
    /// What was done.
    #[serde(flatten)]
    pub step: Step,
}

impl Retried {
    fn words(&self) -> String {
        let Self { id, to, step } = self;
        match step {
            Step::Offer { .. } => format!("message {id} was offered to {to} again"),
            Step::Escalate { told } => format!("{told} was told of message {id}"),
            Step::Expire => format!("message {id} expired"),
        }
    }
}

impl Office {
    /// Takes every step that is due in a team; with `dry_run` only says which.
    pub fn retry(
        &self,
        team: &TeamName,
        policies: &Policies,
        dry_run: bool,
    ) -> Result<Vec<Retried>, OfficeError> {
        let waiting = self.pending(team)?;
        let handle = self.team(team)?;
        let mut retried = Vec::new();
        for Waiting { message, .. } in waiting {
            let taken = self.retry_one(&handle, policies, &message.id, dry_run);
            let taken = if retried.is_empty() {
                taken?
            } else {
                taken.after(|| Done::Steps(retried.iter().map(Retried::words).collect()))?
            };
            retried.extend(taken);
        }
        Ok(retried)
    }

    /// Takes the step that is due for a message, if one is.
    fn retry_one(
        &self,
        handle: &Team<'_>,
        policies: &Policies,
        id: &str,
        dry_run: bool,
    ) -> Result<Option<Retried>, OfficeError> {
        let (team, config) = (handle.name(), handle.config());
        let recorded = self.recorded(Some(team), id)?;
        if self.next_step(handle, policies, &recorded)?.is_none() {
            return Ok(None);
        }
        let name = MemberName::parse(&recorded.inbox.name)?;
        // Decided again in the turn, by what is known then: somebody may have taken the step meanwhile.
        let _turn = if dry_run { None } else { Some(self.mailbox(team, &name).retrying()?) };
        let recorded = self.recorded(Some(team), &recorded.id)?;
        let Some((step, draft, stages)) = self.next_step(handle, policies, &recorded)? else {
            return Ok(None);
        };
        if !dry_run {
            self.take_step(team, config, &recorded, draft, &step, &stages)?;
        }
        Ok(Some(Retried { id: recorded.id, to: recorded.inbox.name, step }))
    }

    /// The step that is due for a message, with what it takes to take it.
    fn next_step(
        &self,
        handle: &Team<'_>,
        policies: &Policies,
        message: &Recorded,
    ) -> Result<Option<(Step, Draft, Vec<StageRecord>)>, OfficeError> {
        let stages = self.books.with(|ledger| ledger.stages(message))?;
        let why = self
            .why_it_waits(handle.name(), handle.config(), message, &stages)
            .filter(|_| message.stage < Stage::Acked);
        let Some(why) = why.filter(|why| !matches!(why, Why::AckAwaited | Why::AckOverdue)) else {
            return Ok(None);
        };
        let Some(draft) = self.draft_of(message)? else { return Ok(None) };
        let Some(back) = back_since(handle, message, &stages) else { return Ok(None) };
        let policy = policies.of(draft.ours.priority);
        let step = due(policy, &stages, draft.delivery, self.now().since(back), why);
        Ok(step.map(|step| (step, draft, stages)))
    }
}

/// Since when the recipient is back; `None` while it is off.
fn back_since(team: &Team<'_>, message: &Recorded, stages: &[StageRecord]) -> Option<Stamp> {
    let member = team.config().member(&message.inbox.name).filter(|member| team.why_off(member).is_none())?;
    let sent = Stamp::from_millis(message.sent_at);
    let taken =
        stages.iter().find(|record| record.stage == Stage::Taken).map(|record| Stamp::from_millis(record.at));
    let spawned = member.spawned_at.or(member.joined_at).filter(|spawned| *spawned >= sent);
    Some([taken, spawned].into_iter().flatten().min().unwrap_or(sent))
}

/// The next step, if its time has come.
fn due(
    policy: &Policy,
    stages: &[StageRecord],
    first: Delivery,
    back_for: Duration,
    why: Why,
) -> Option<Step> {
    let count = |stage| stages.iter().filter(|record| record.stage == stage).count();
    if policy.expire_after.is_some_and(|expire| back_for >= expire) {
        return Some(Step::Expire);
    }
    if matches!(why, Why::NotWritten | Why::TakenUnproved | Why::Held) {
        // Whoever took it would get it twice; whoever undoes it would do so again.
        return None;
    }
    // Of mail that was queued, the first record of it is no offer of ours.
    let offers = count(Stage::Queued).saturating_sub(usize::from(first == Delivery::Queued));
    if let Some(after) = policy.retry_after.get(offers) {
        // What lies unread in the inbox is on offer already.
        let number = u32::try_from(offers).unwrap_or(u32::MAX).saturating_add(2);
        return (back_for >= *after && why != Why::Queued).then_some(Step::Offer { number });
    }
    let told = count(Stage::Escalated);
    let pause = policy.retry_after.last().copied().unwrap_or(Duration::from_secs(15 * 60));
    let to = policy.escalate_to.get(told)?;
    let after = pause.saturating_mul(u32::try_from(told + 2).unwrap_or(u32::MAX));
    (back_for >= after).then(|| Step::Escalate { told: to.clone() })
}

#[cfg(test)]
mod tests {
    use atm_ledger::Evidence;

    use super::*;

    fn reached(stages: &[Stage]) -> Vec<StageRecord> {
        let record = |stage: &Stage| StageRecord { stage: *stage, at: 0, evidence: Evidence::certain("x") };
        stages.iter().map(record).collect()
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60)
    }

    #[test]
    fn the_longest_span_is_no_reason_to_panic() {
        let policy = Policy { retry_after: vec![Duration::MAX], ..Policy::default() };
        let stages = reached(&[Stage::Queued, Stage::Queued, Stage::Escalated]);
        assert_eq!(due(&policy, &stages, Delivery::Queued, minutes(60), Why::NoSignOfWork), None);
    }

    #[test]
    fn a_whole_week_takes_each_step_once() {
        let policy = Policy::default();
        let mut stages = reached(&[Stage::Accepted, Stage::Written, Stage::Queued, Stage::Taken]);
        let mut story = Vec::new();
        for minute in 0..=7 * 24 * 60 {
            if let Some(step) = due(&policy, &stages, Delivery::Queued, minutes(minute), Why::NoSignOfWork) {
                stages.extend(reached(&[match &step {
                    Step::Offer { .. } => Stage::Queued,
                    Step::Escalate { .. } => Stage::Escalated,
                    Step::Expire => Stage::Expired,
                }]));
                story.push((minute, step));
            }
        }
        assert_eq!(
            story,
            [
                (5, Step::Offer { number: 2 }),
                (15, Step::Offer { number: 3 }),
                (30, Step::Escalate { told: "lead".into() }),
                (45, Step::Escalate { told: "user".into() }),
                (7 * 24 * 60, Step::Expire),
            ]
        );
    }

    #[test]
    fn mail_that_a_client_lost_is_offered_once_a_step() {
        let mut stages = reached(&[Stage::Written, Stage::Taken]);
        let lost = |stages: &[StageRecord]| {
            due(&Policy::default(), stages, Delivery::Delivered, minutes(6), Why::LostByClient)
        };
        assert_eq!(lost(&stages), Some(Step::Offer { number: 2 }));
        stages.extend(reached(&[Stage::Queued]));
        assert_eq!(lost(&stages), None);
    }

    #[test]
    fn what_may_have_been_taken_or_is_undone_over_and_over_is_not_offered_again() {
        for why in [Why::TakenUnproved, Why::Held] {
            let stages = reached(&[Stage::Written, Stage::Taken]);
            let after = |time| due(&Policy::default(), &stages, Delivery::Delivered, minutes(time), why);
            assert_eq!(after(60), None);
            assert_eq!(after(7 * 24 * 60), Some(Step::Expire));
        }
    }

    #[test]
    fn what_lies_unread_is_not_offered_again() {
        let stages = reached(&[Stage::Written, Stage::Queued]);
        assert_eq!(due(&Policy::default(), &stages, Delivery::Queued, minutes(20), Why::Queued), None);
    }
}
