//! `atm status`

use atm_office::protocol::signed;
use clap::Args;
use serde_json::json;

use super::{members, pending};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Args)]
pub(crate) struct Status {}

impl Status {
    #[expect(clippy::unused_self, reason = "every command is run the same way")]
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let waiting = context.office.pending(&team)?;
        let people = context.office.members(&team)?;
        let lead_signs = context.office.lead_signs(&team)?;
        let now = context.office.now();
        let out = &mut context.out;
        if out.json {
            out.document(
                &json!({ "team": team, "members": people, "pending": waiting, "lead_signs": lead_signs }),
            )?;
            return Ok(0);
        }
        out.line(format!("team {}", safe::line(team.as_str())))?;
        if lead_signs {
            out.line(signed::WARNING)?;
        }
        members::show(out, &people, now)?;
        out.line("")?;
        if waiting.is_empty() {
            out.line("nothing waits")?;
        } else {
            pending::show(out, &waiting)?;
        }
        Ok(0)
    }
}
