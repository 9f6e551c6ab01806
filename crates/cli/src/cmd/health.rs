//! `atm health`

use std::time::Duration;

use atm_office::send::SendOptions;
use atm_wire::MemberName;
use clap::Args;

use super::duration::{duration, span};
use super::send::tell_all;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Health {
    /// Whom to ask
    name: MemberName,
    /// How long to wait for the heartbeat; exit 8 if none comes
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Do not ask: tell everybody that it does not answer (the lead may)
    #[arg(long)]
    stalled: bool,
    /// With --stalled, the tasks that others may take: 5,6
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "stalled")]
    tasks: Vec<String>,
}

impl Health {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, from) = (context.team()?, context.sender()?);
        let office = &context.office;
        if self.stalled {
            let told = office.stall_alert(&team, &from, &self.name, &self.tasks)?;
            return tell_all(context, told, SendOptions::default());
        }
        let (request, sent) = office.ask_health(&team, &from, &self.name)?;
        for warning in &sent.warnings {
            context.out.warn(warning)?;
        }
        let checked =
            context.office.wait_for_heartbeat(&team, &self.name, &request, sent.timestamp, self.timeout)?;
        let out = &mut context.out;
        if out.json {
            out.document(&checked)?;
        } else {
            let task = checked.task.map(|task| format!(", task {task}")).unwrap_or_default();
            let progress = checked.progress.map(|progress| format!(", {progress} %")).unwrap_or_default();
            let line = format!("{} is alive{task}{progress} (after {})", self.name, span(checked.after_ms));
            out.line(safe::line(&line))?;
        }
        Ok(0)
    }
}
