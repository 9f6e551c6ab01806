//! `atm task status-request` and `atm task status`

use std::time::Duration;

use atm_office::tasks::Progress;
use atm_wire::TeamName;
use atm_wire::task::TaskId;
use clap::Args;

use super::make::StatusArg;
use crate::cmd::asked::Asked;
use crate::cmd::duration::duration;
use crate::cmd::heartbeat::percent;
use crate::cmd::send::tell;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct StatusRequest {
    /// The task
    id: TaskId,
    /// How long to wait for the answer; exit 8 if none comes
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Do not wait; prints the request's id
    #[arg(long)]
    no_wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The task
    id: TaskId,
    /// Percent done
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    progress: Option<f64>,
    /// When it should be done, in your own words or as a time
    #[arg(long, value_name = "TEXT")]
    eta: Option<String>,
    /// What to say of it [default: as the task says]
    #[arg(long = "status", value_enum, value_name = "STATUS")]
    said: Option<StatusArg>,
    /// The question that this answers [default: the newest about this task]
    #[arg(long, value_name = "ID")]
    request: Option<String>,
}

impl StatusRequest {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let handle = context.office.team(team)?;
        let who = context.sender_in(&handle)?;
        let (request, of, sent) = handle.tasks().ask(&who, self.id)?;
        let timeout = (!self.no_wait).then_some(self.timeout);
        Asked { from: who, of, request, sent }.settle(&mut context.out, &handle, timeout)
    }
}

impl Status {
    pub(super) fn run(self, context: &mut Context, team: &TeamName) -> Result<(), Failure> {
        let handle = context.office.team(team)?;
        let who = context.member_in(&handle)?;
        let progress = Progress {
            percent: self.progress,
            eta: self.eta,
            status: self.said.map(Into::into),
            request: self.request,
        };
        let sent = handle.tasks().answer(&who, self.id, &progress)?;
        tell(context, &sent)
    }
}
