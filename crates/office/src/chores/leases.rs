//! Claims of people who have left: a task whose lease is over, and whose owner is no member any more, is free again. Of a
//! member's claims, a health sweep decides. A step's subject is the task, its number the time of the claim.

use atm_wire::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Carried, Chore, Effect, Parts, Site, Snapshot, Step, soonest};
use crate::error::OfficeError;
use crate::office::USER;
use crate::tasks::{LeaseView, TaskView};

const NAME: &str = "lease";

/// Freeing tasks whose owners are gone.
#[derive(Debug)]
pub struct Leases;

/// The claim that is over.
#[derive(Debug, Serialize, Deserialize)]
struct Planned {
    task: String,
    owner: String,
}

/// The tasks of people who have left, each with its owner and lease.
fn left_behind(snapshot: &Snapshot) -> impl Iterator<Item = (&TaskView, &str, &LeaseView)> {
    let owned = snapshot.tasks.iter().filter_map(|task| {
        Some((task, task.owner.as_deref().filter(|owner| *owner != USER)?, task.lease.as_ref()?))
    });
    // Of who is at home on another machine, that one decides.
    let config = &snapshot.config;
    owned.filter(|(_, owner, _)| config.member(owner).is_none() && config.machine_of(owner).is_none())
}

impl Chore for Leases {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn needs(&self) -> Parts {
        Parts { tasks: true, ..Parts::default() }
    }

    fn due(&self, snapshot: &Snapshot, now: Stamp) -> Vec<Step> {
        let over = left_behind(snapshot).filter(|(.., lease)| lease.expires_at <= now);
        let step = |(task, owner, lease): (&TaskView, &str, &LeaseView)| {
            let planned = Planned { task: task.id.to_string(), owner: owner.to_owned() };
            let what = format!("free task {} of {owner}, who is no member any more", task.id);
            Step::new((NAME, Effect::Files), &planned.task, lease.claimed_at.as_millis(), what, &planned)
        };
        over.map(step).collect()
    }

    fn next(&self, snapshot: &Snapshot, now: Stamp) -> Option<Stamp> {
        soonest(left_behind(snapshot).map(|(.., lease)| lease.expires_at), now)
    }

    fn carry_out(&self, site: &Site, step: &Step) -> Result<Carried<Value>, OfficeError> {
        let planned: Option<Planned> = serde_json::from_value(step.details.clone()).ok();
        let Some((id, planned)) = planned.and_then(|planned| Some((planned.task.parse().ok()?, planned)))
        else {
            return Ok(Carried::Moot);
        };
        let tasks = site.office.tasks(site.team)?;
        let is_as_before = tasks.get(id).is_ok_and(|task| {
            let claimed = task.lease.map(|lease| lease.claimed_at.as_millis());
            task.owner.as_deref() == Some(planned.owner.as_str()) && claimed == Some(step.number)
        });
        if !is_as_before {
            return Ok(Carried::Moot);
        }
        tasks.release(&USER.parse()?, id)?;
        Ok(Carried::Done(step.details.clone()))
    }
}

#[cfg(test)]
mod tests {
    use atm_wire::task::Status;
    use atm_wire::team::TeamConfig;

    use super::*;

    fn task(owner: Option<&str>, lease: Option<(i64, i64)>) -> TaskView {
        TaskView {
            id: "7".parse().unwrap(),
            subject: "dig".to_owned(),
            description: String::new(),
            active_form: None,
            status: Status::InProgress,
            owner: owner.map(ToOwned::to_owned),
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            waits_for: Vec::new(),
            ready: false,
            lease: lease.map(|(from, until)| LeaseView {
                claimed_at: Stamp::from_millis(from),
                expires_at: Stamp::from_millis(until),
                expired: false,
            }),
            made_on: None,
            metadata: None,
        }
    }

    #[test]
    fn only_claims_of_who_has_left_and_only_when_they_are_over() {
        let rows = [
            (Some("carol"), Some((5, 9)), 9, vec![5], None),
            (Some("carol"), Some((5, 9)), 8, vec![], Some(9)),
            (Some("bob"), Some((5, 9)), 99, vec![], None),
            (Some(USER), Some((5, 9)), 99, vec![], None),
            (Some("carol"), None, 99, vec![], None),
            (None, None, 99, vec![], None),
            // Of another machine's people that one decides.
            (Some("user.hub"), Some((5, 9)), 99, vec![], None),
        ];
        for (owner, lease, now, numbers, next) in rows {
            let members =
                r#"{"members":[{"name":"bob"},{"name":"eve","metadata":{"atm":{"machine":"hub"}}}]}"#;
            let config = TeamConfig::parse(members).unwrap();
            let snapshot = Snapshot { config, tasks: vec![task(owner, lease)], ..Snapshot::default() };
            let due = Leases.due(&snapshot, Stamp::from_millis(now));
            let found: Vec<i64> = due.iter().map(|step| step.number).collect();
            assert_eq!(found, numbers, "{owner:?} {lease:?} at {now}");
            assert_eq!(Leases.next(&snapshot, Stamp::from_millis(now)), next.map(Stamp::from_millis));
        }
    }
}
