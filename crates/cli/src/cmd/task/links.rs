//! `atm task block` and `atm task unblock`

use atm_wire::TeamName;
use atm_wire::task::TaskId;
use clap::Args;

use super::{ids, tell};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Block {
    /// The task that has to wait
    id: TaskId,
    /// The tasks that it waits for
    #[arg(long, value_name = "ID,…", value_delimiter = ',', required = true)]
    by: Vec<TaskId>,
    /// Why; if the task is yours, the lead is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Unblock {
    /// The task that has waited
    id: TaskId,
    /// The tasks that it waits for no more [default: all]
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    from: Vec<TaskId>,
}

impl Block {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let outcome = handle.tasks().block(&who, self.id, &self.by, self.reason.as_deref())?;
        tell(context, &outcome, &format!("task {} waits for {}", self.id, ids(&outcome.task.waits_for)))
    }
}

impl Unblock {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        use atm_office::tasks::Unblock;
        let from = if self.from.is_empty() { Unblock::All } else { Unblock::From(self.from) };
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let outcome = handle.tasks().unblock(&who, self.id, &from)?;
        let left = match outcome.task.waits_for.as_slice() {
            [] => "nothing".to_owned(),
            left => ids(left),
        };
        tell(context, &outcome, &format!("task {} waits for {left}", self.id))
    }
}
