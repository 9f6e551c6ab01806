//! `atm heartbeat`

use atm_office::mail::send::SendOptions;
use atm_office::protocol::report::Alive;
use clap::Args;

use super::send::tell_all;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Heartbeat {
    /// The task you work on
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Percent done
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    progress: Option<f64>,
    /// The health check that this answers [default: all that are open]
    #[arg(long, value_name = "ID")]
    request: Option<String>,
}

impl Heartbeat {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.office.team(&context.team()?)?;
        let who = context.member_in(&team)?;
        let alive = Alive { task: self.task, progress: self.progress, request: self.request };
        let sent = team.heartbeat(&who, &alive)?;
        tell_all(context, sent.into_iter().map(Ok).collect(), SendOptions::default())
    }
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("not between 0 and 100".to_owned()) }
}
