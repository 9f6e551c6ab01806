//! `atm presence`

use atm_office::people::presence::Weight;
use atm_wire::MemberName;
use clap::Args;

use super::members::state;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{safe, table};

#[derive(Debug, Args)]
pub(crate) struct Presence {
    /// Who
    name: MemberName,
    /// Show every trace, and how much it counts
    #[arg(long)]
    why: bool,
}

impl Presence {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let view = context.office.presence(&team, &self.name)?;
        let out = &mut context.out;
        if out.json {
            out.document(&view)?;
            return Ok(0);
        }
        let judged = &view.judgement;
        out.line(format!(
            "{}: {}",
            self.name,
            safe::line(&format!("{} ({})", state(out.paint, judged.state), judged.why()))
        ))?;
        if self.why {
            let rows = judged.evidence.iter().map(|trace| {
                let weight = match trace.weight {
                    Weight::Decides => "decides",
                    Weight::Beside => "-",
                    Weight::Overruled => "not believed",
                };
                vec![weight.to_owned(), safe::line(&trace.what).into_owned()]
            });
            out.line(table::columns(&["COUNTS", "TRACE"], rows))?;
        }
        Ok(0)
    }
}
