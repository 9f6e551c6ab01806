//! `atm health`

use std::time::Duration;

use atm_office::chores::health::{Step, Swept};
use atm_office::mail::send::SendOptions;
use atm_wire::{Address, TeamName};
use clap::Args;

use super::duration::{duration, span, span_of};
use super::send::{tell, tell_all};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::stop;

#[derive(Debug, Args)]
#[command(after_help = "\
A sweep asks members that hold a claim and were silent for as long as it is good for. Who does not answer within 30 s
is stalled: its tasks are released, and everybody is told. Run it every minute or so; several at once do no harm.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Health {
    /// Whom to ask
    #[arg(required_unless_present = "sweep")]
    name: Option<Address>,
    /// How long to wait for the heartbeat; exit 8 if none comes
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Let somebody ask who is not a member
    #[arg(long, conflicts_with_all = ["stalled", "sweep"])]
    create: bool,
    /// Do not ask: tell everybody that it does not answer (the lead may)
    #[arg(long)]
    stalled: bool,
    /// With --stalled, the tasks that others may take: 5,6
    #[arg(long, value_name = "IDS", value_delimiter = ',', requires = "stalled")]
    tasks: Vec<String>,
    /// Take the steps that are due for all members that work, in the lead's name
    #[arg(long, conflicts_with_all = ["name", "stalled"])]
    sweep: bool,
    /// With --sweep, only say what is due
    #[arg(long, requires = "sweep", conflicts_with = "name")]
    dry_run: bool,
}

impl Health {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name) = context.anyone(self.name)?;
        let Some(name) = name else { return sweep(context, &team, self.dry_run) };
        let mut team = context.office.team(&team)?;
        let from = if self.create { context.sender()? } else { context.asker_in(&team)? };
        if self.stalled {
            let told = team.stall_alert(&from, &name, &self.tasks)?;
            return tell_all(context, told, SendOptions::default());
        }
        let (request, sent) = team.ask_health(&from, &name)?;
        for warning in &sent.warnings {
            context.out.warn(warning)?;
        }
        let waiting =
            context.out.waiting(&format!("waiting for {name} to answer, at most {}", span_of(self.timeout)));
        let waited = team.wait_for_heartbeat(&name, &request, sent.timestamp, self.timeout);
        drop(waiting);
        let checked = match waited {
            // Nobody waits any more, but it was asked.
            Err(_) if stop::has_cut_short() => return tell(context, &sent).map(|()| 0),
            checked => checked?,
        };
        let out = &mut context.out;
        if out.json {
            out.document(&checked)?;
        } else {
            let task = checked.task.map(|task| format!(", task {task}")).unwrap_or_default();
            let progress = checked.progress.map(|progress| format!(", {progress} %")).unwrap_or_default();
            let line = format!("{name} is alive{task}{progress} (after {})", span(checked.after_ms));
            out.line(safe::line(&line))?;
        }
        Ok(0)
    }
}

fn sweep(context: &mut Context, team: &TeamName, dry_run: bool) -> Result<i32, Failure> {
    let mut team = context.office.team(team)?;
    if let Some(identity) = context.identity()? {
        team.check_lead(&identity.name, "sweeps are for the lead to run")?;
    }
    let swept = team.sweep(dry_run)?;
    let out = &mut context.out;
    for warning in swept.iter().flat_map(|swept| &swept.warnings) {
        out.warn(warning)?;
    }
    if out.json {
        out.document(&swept)?;
    } else if swept.is_empty() {
        out.note("nothing is due")?;
    }
    if !out.json {
        for one in &swept {
            out.line(safe::line(&words(one, dry_run)))?;
        }
    }
    Ok(0)
}

fn words(swept: &Swept, dry_run: bool) -> String {
    let tasks = match swept.tasks.as_slice() {
        [] => String::new(),
        [one] => format!("; task {one} is free"),
        many => format!("; tasks {} are free", many.join(", ")),
    };
    let what = match swept.step {
        Step::Check => "is silent: asked".to_owned(),
        Step::Stall => format!("does not answer: stalled{tasks}"),
        Step::Unresponsive => {
            format!("does not answer for the {}. time: unresponsive{tasks}", swept.stalls)
        }
        Step::Recover => "was heard of again".to_owned(),
    };
    format!("{} {what}{}", swept.name, if dry_run { " (not done)" } else { "" })
}
