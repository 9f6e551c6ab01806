//! `atm bridge machines`.

use atm_bridge::run::status::Status;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// List the machines that are trusted, and whether they are there
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge machines
  atm bridge machines --json

Exit codes: 6 the file of trusted machines is damaged.")]
pub(crate) struct Machines {}

impl Machines {
    pub(crate) fn run(context: &Context) -> Result<i32, Failure> {
        let trust = context.trust()?;
        let is_running = context.office().machines().is_served();
        let status = Status::load(&context.files()).filter(|_| is_running);
        let (mut documents, mut lines) = (Vec::new(), Vec::new());
        for (machine, trusted) in trust.machines() {
            let known = status.as_ref().and_then(|status| status.machines.get(machine));
            let state = match known {
                Some(known) if known.present => "present",
                Some(_) => "away",
                None => "unknown",
            };
            let members = known.map_or(0, |known| known.members);
            documents.push(json!({
                "machine": machine.as_str(), "key": trusted.key, "asLead": trusted.as_lead, "state": state,
                "members": members, "seenAt": known.map(|known| known.seen_at.to_string()),
            }));
            let lead = if trusted.as_lead { "  its lead may lead here" } else { "" };
            lines.push(format!("{machine:<20} {state:<8} {members:>4} members  {}{lead}", trusted.key));
        }
        if context.json {
            output::json(&documents.into())?;
        } else if lines.is_empty() {
            output::lines(
                "no machine is trusted yet: `atm bridge trust MACHINE KEY`, with what `atm bridge key` prints there",
            )?;
        } else {
            output::lines(&lines.join("\n"))?;
        }
        Ok(0)
    }
}
