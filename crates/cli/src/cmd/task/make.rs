//! `atm task create` and `atm task update`

use atm_office::tasks::{TaskChange, TaskPlan};
use atm_wire::payload::Level;
use atm_wire::task::{Effort, Status, TaskId};
use atm_wire::{MemberName, TeamName};
use clap::{Args, ValueEnum};
use serde_json::value::{RawValue, to_raw_value};

use super::tell;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The title
    subject: String,
    /// All that is to be done
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    /// What to show while it is being done, like "Fixing the build"
    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,
    /// Who shall do it; is told
    #[arg(long, value_name = "NAME")]
    owner: Option<MemberName>,
    /// The tasks that it waits for
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    blocked_by: Vec<TaskId>,
    /// The tasks that wait for it
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    blocks: Vec<TaskId>,
    #[command(flatten)]
    effort: EffortArgs,
    /// Something to keep with it; the value is JSON, or else text
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    metadata: Vec<Pair>,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The task
    id: TaskId,
    /// Another title
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    /// Another text
    #[arg(long, short, value_name = "TEXT")]
    description: Option<String>,
    /// What to show while it is being done
    #[arg(long, value_name = "TEXT")]
    active_form: Option<String>,
    /// How far it is (its owner or the lead)
    #[arg(long, value_enum)]
    status: Option<StatusArg>,
    /// Who shall do it; is told (its owner or the lead)
    #[arg(long, value_name = "NAME")]
    owner: Option<MemberName>,
    /// Nobody's any more (its owner or the lead)
    #[arg(long, conflicts_with = "owner")]
    no_owner: bool,
    #[command(flatten)]
    effort: EffortArgs,
    /// Something to keep with it; `KEY=` takes it away
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    metadata: Vec<Pair>,
}

/// How urgent a task is and how long it should take.
#[derive(Debug, Args)]
pub(super) struct EffortArgs {
    /// How urgent it is: a number or a word; its owner is told
    #[arg(long, value_name = "LEVEL")]
    priority: Option<String>,
    /// How many hours it should take; its owner is told
    #[arg(long, value_name = "HOURS")]
    estimate: Option<f64>,
}

impl From<EffortArgs> for Effort {
    fn from(args: EffortArgs) -> Self {
        Self { priority: args.priority.map(Level), estimated_hours: args.estimate.filter(|h| h.is_finite()) }
    }
}

/// A key of a task's metadata.
#[derive(Debug, Clone)]
struct Pair {
    key: String,
    value: Option<Box<RawValue>>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum StatusArg {
    /// Nobody works on it
    Pending,
    /// Somebody does
    InProgress,
    /// Done
    Completed,
}

impl From<StatusArg> for Status {
    fn from(status: StatusArg) -> Self {
        match status {
            StatusArg::Pending => Self::Pending,
            StatusArg::InProgress => Self::InProgress,
            StatusArg::Completed => Self::Completed,
        }
    }
}

impl Create {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let plan = TaskPlan {
            subject: self.subject,
            description: self.description,
            active_form: self.active_form,
            owner: self.owner,
            blocked_by: self.blocked_by,
            blocks: self.blocks,
            effort: self.effort.into(),
            metadata: self.metadata.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect(),
        };
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let outcome = handle.tasks().create(&who, &plan)?;
        tell(context, &outcome, &format!("made task {}: {}", outcome.task.id, outcome.task.subject))?;
        if context.out.is_quiet() && !context.out.json {
            context.out.line(outcome.task.id.to_string())?;
        }
        Ok(())
    }
}

impl Update {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let change = TaskChange {
            subject: self.subject,
            description: self.description,
            active_form: self.active_form,
            status: self.status.map(Into::into),
            owner: if self.no_owner { Some(None) } else { self.owner.map(Some) },
            effort: self.effort.into(),
            metadata: self.metadata.into_iter().map(|pair| (pair.key, pair.value)).collect(),
        };
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let outcome = handle.tasks().change(&who, self.id, &change)?;
        tell(context, &outcome, &format!("changed task {}", self.id))
    }
}

fn pair(text: &str) -> Result<Pair, String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    if key.is_empty() {
        return Err("there is no key before the =".to_owned());
    }
    let json = || RawValue::from_string(value.trim().to_owned()).or_else(|_| to_raw_value(value)).ok();
    Ok(Pair { key: key.to_owned(), value: if value.is_empty() { None } else { json() } })
}
