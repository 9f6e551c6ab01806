//! `atm idle`

use atm_office::protocol::report::{Idle as Report, IdleReason};
use clap::{Args, ValueEnum};

use super::send::tell;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Idle {
    /// Why you have nothing to do
    #[arg(long, value_enum, default_value_t = Reason::Available)]
    reason: Reason,
    /// The task you have just finished with
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// What there is to say
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Reason {
    /// Your turn is over
    Available,
    /// You were interrupted
    Interrupted,
    /// You wait for somebody's answer
    WaitingResponse,
    /// You have completed your task
    TaskComplete,
    /// No task is yours
    NoAssignedTasks,
}

impl From<Reason> for IdleReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Available => Self::Available,
            Reason::Interrupted => Self::Interrupted,
            Reason::WaitingResponse => Self::WaitingResponse,
            Reason::TaskComplete => Self::TaskComplete,
            Reason::NoAssignedTasks => Self::NoAssignedTasks,
        }
    }
}

impl Idle {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.office.team(&context.team()?)?;
        let who = context.member_in(&team)?;
        let idle = Report { reason: self.reason.into(), task: self.task, summary: self.summary };
        let sent = team.idle(&who, &idle)?;
        tell(context, &sent)?;
        Ok(0)
    }
}
