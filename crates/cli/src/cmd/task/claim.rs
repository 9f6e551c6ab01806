//! `atm task claim` and `atm task complete`

use std::time::Duration;

use atm_office::tasks::Completion;
use atm_wire::TeamName;
use atm_wire::task::{DEFAULT_LEASE, TaskId};
use clap::{ArgGroup, Args};

use super::{list, tell};
use crate::cmd::duration::duration;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which").required(true)))]
pub(crate) struct Claim {
    /// The task
    #[arg(group = "which")]
    id: Option<TaskId>,
    /// The first task that you can have: yours, or nobody's; exit 3 if there is none
    #[arg(long, group = "which")]
    next: bool,
    /// For how long it is yours; claim it again to keep it for as long again [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Complete {
    /// The task
    id: TaskId,
    /// How long it took
    #[arg(long, value_name = "NUMBER", value_parser = hours)]
    hours: Option<f64>,
    /// What is worth knowing
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Do not tell the lead
    #[arg(long)]
    no_message: bool,
}

impl Claim {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let handle = context.office.team(team)?;
        let who = context.member_in(&handle)?;
        let (tasks, lease) = (handle.tasks(), self.lease.unwrap_or(DEFAULT_LEASE));
        let outcome = match self.id {
            Some(id) => tasks.claim(&who, id, lease)?,
            None => tasks.claim_next(&who, lease)?,
        };
        tell(context, &outcome, &format!("task {} is yours", outcome.task.id))?;
        if !context.out.json {
            list::show_one(&mut context.out, &outcome.task)?;
        }
        Ok(())
    }
}

impl Complete {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let how = Completion { hours: self.hours, notes: self.notes, tell: !self.no_message };
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let outcome = handle.tasks().complete(&who, self.id, &how)?;
        tell(context, &outcome, &format!("completed task {}: {}", self.id, outcome.task.subject))
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if hours.is_finite() && hours >= 0.0 { Ok(hours) } else { Err("not a number of hours".to_owned()) }
}
