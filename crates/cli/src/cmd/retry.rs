//! `atm retry`

use atm_office::chores::retry::{Retried, Step};
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{ids, safe};

#[derive(Debug, Args)]
#[command(after_help = "\
The policy is in the settings:
  [delivery]
  retry_after = [\"5m\", \"15m\"]     # after the recipient's return
  escalate_to = [\"lead\", \"user\"]  # when that did not help
  expire_after = \"7d\"
  [delivery.high]                   # the same keys for urgent mail; also [delivery.low]
  retry_after = [\"1m\"]")]
pub(crate) struct Retry {
    /// Only say what is due
    #[arg(long)]
    dry_run: bool,
}

impl Retry {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let policies = context.settings.policies.value.clone();
        let retried = context.office.retry(&team, &policies, self.dry_run)?;
        let out = &mut context.out;
        if out.json {
            out.document(&retried)?;
        } else if retried.is_empty() {
            out.note(format!("nothing is due in team {}", safe::line(team.as_str())))?;
        }
        if !out.json {
            for step in &retried {
                out.hanging("", &words(step))?;
            }
        }
        Ok(0)
    }
}

fn words(Retried { id, to, step }: &Retried) -> String {
    let (id, to) = (ids::short(id), safe::line(to));
    match step {
        Step::Offer { number } => format!("{id} for {to}: offered again, number {number}"),
        Step::Escalate { told } => format!("{id} for {to}: told {}", safe::line(told)),
        Step::Expire => format!("{id} for {to}: expired"),
    }
}
