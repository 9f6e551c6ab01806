//! `atm bridge unshare`.

use atm_wire::TeamName;

use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Make a team this machine's own again
///
/// Members of other machines go from the team, and its tasks are claimed on this machine alone. The tasks stay as they are. To
/// share it again, run the bridge with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  atm bridge unshare alpha

Exit codes: 5 a bridge runs here.")]
pub(crate) struct Unshare {
    /// The team, as it is called here
    team: TeamName,
}

impl Unshare {
    pub(crate) fn run(&self, context: &Context) -> Result<i32, Failure> {
        let office = context.office();
        let machines = office.machines();
        let Some(_serving) = machines.serve()? else {
            return Err(Failure::new(5, "bridge_runs", "a bridge runs here: it shares its teams")
                .hint("end it first, or leave the team out of bridge.teams and start it again"));
        };
        let was_shared = machines.unshare_tasks(&self.team)?;
        if office.has_team(&self.team) {
            machines.unshare(&self.team)?;
        }
        if context.json {
            output::json(&serde_json::json!({"team": self.team.as_str(), "wasShared": was_shared}))?;
        } else if was_shared {
            output::lines(&format!("{} is this machine's own", self.team))?;
        } else {
            output::lines(&format!("{} was not shared", self.team))?;
        }
        Ok(0)
    }
}
