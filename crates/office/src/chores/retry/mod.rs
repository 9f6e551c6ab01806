//! Mail that is not acted on: offered again, then escalated, then expired.
//!
//! Nothing happens while the recipient is off. The steps are `offer` (numbered as the offers are, from 2), `escalate`
//! (by how many were told) and `expire`; their subject is the recipient with the message.

mod policy;
mod step;

use atm_wire::{Stamp, TeamName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use policy::{Policies, Policy, Step};
use policy::{Progress, due, times};

use super::{Carried, Chore, Effect, Outcome, Parts, Site, Snapshot, StepReport, Waited, soonest};
use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::office::Office;
use crate::trail::pending::Why;

/// In a policy's list: the team's lead.
pub const LEAD: &str = "lead";

const OFFER: &str = "offer";
const ESCALATE: &str = "escalate";
const EXPIRE: &str = "expire";

/// A step with the message that it is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

    /// What is done, in words.
    fn plan(&self) -> String {
        let Self { id, to, step } = self;
        match step {
            Step::Offer { number } => format!("offer message {id} to {to} again, number {number}"),
            Step::Escalate { told } => format!("tell {told} that message {id} for {to} waits"),
            Step::Expire => format!("let message {id} for {to} expire"),
        }
    }
}

/// The chore.
#[derive(Debug)]
pub struct Retry<'a>(pub &'a Policies);

impl Retry<'_> {
    fn progress(waited: &Waited) -> Option<(Progress<'_>, atm_wire::message::Priority)> {
        let draft = waited.draft.as_ref()?;
        if matches!(waited.why, Why::AckAwaited | Why::AckOverdue | Why::UnreadLong | Why::UnreadOffline)
            || waited.message.stage >= atm_ledger::Stage::Acked
        {
            return None;
        }
        let progress = Progress {
            stages: &waited.stages,
            first: draft.delivery,
            back: waited.back_since?,
            why: waited.why,
            lies_unread: waited.lies_unread,
        };
        Some((progress, draft.ours.priority))
    }

    /// The step that is due for a message, if one is.
    fn step(&self, waited: &Waited, now: Stamp) -> Option<super::Step> {
        let (progress, priority) = Self::progress(waited)?;
        let step = due(self.0.of(priority), &progress, now)?;
        let (chore, number) = match &step {
            Step::Offer { number } => (OFFER, i64::from(*number)),
            Step::Escalate { .. } => {
                (ESCALATE, i64::try_from(progress.escalations()).unwrap_or(i64::MAX).saturating_add(1))
            }
            Step::Expire => (EXPIRE, 1),
        };
        let (id, to) = (waited.message.id.clone(), waited.message.inbox.name.clone());
        let retried = Retried { id, to, step };
        let subject = format!("{} {}", retried.to, retried.id);
        Some(super::Step::new((chore, Effect::Files), subject, number, retried.plan(), &retried))
    }
}

impl Chore for Retry<'_> {
    fn names(&self) -> &'static [&'static str] {
        &[OFFER, ESCALATE, EXPIRE]
    }

    fn needs(&self) -> Parts {
        Parts { waiting: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<super::Step> {
        snapshot.waiting.iter().filter_map(|waited| self.step(waited, now)).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        let of_one = |waited| {
            let (progress, priority) = Self::progress(waited)?;
            Some(times(self.0.of(priority), &progress))
        };
        soonest(snapshot.waiting.iter().filter_map(of_one).flatten(), now)
    }

    fn carry_out(&self, site: &Site, step: &super::Step) -> Result<Carried<Value>, OfficeError> {
        let Ok(retried) = serde_json::from_value::<Retried>(step.details.clone()) else {
            return Ok(Carried::Moot);
        };
        let carried = site.office.carry_out_retry(site, &retried, step.number)?;
        Ok(carried.map(|()| step.details.clone()))
    }
}

impl Office {
    /// Takes every step that is due for mail of a team; with `dry_run` only says which.
    pub fn retry(
        &self,
        team: &TeamName,
        policies: &Policies,
        dry_run: bool,
    ) -> Result<Vec<Retried>, OfficeError> {
        let chore = Retry(policies);
        let mut retried: Vec<Retried> = Vec::new();
        for StepReport { step, outcome, error, .. } in
            self.team_to_look_at(team)?.tend_to(&[&chore], dry_run)?.steps
        {
            let before = || Done::Steps(retried.iter().map(Retried::words).collect());
            match error {
                Some(error) if retried.is_empty() => return Err(error),
                Some(error) => return Err(error).after(before),
                None if outcome == Outcome::Unknown => {}
                None => retried.extend(serde_json::from_value(step.details)),
            }
        }
        Ok(retried)
    }
}
