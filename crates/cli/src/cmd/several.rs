//! Looking at several teams at once.

use atm_wire::TeamName;
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

/// Which teams a command looks at.
#[derive(Debug, Default, Args)]
pub(crate) struct Several {
    /// All teams, not only one
    #[arg(long)]
    pub(crate) all_teams: bool,
}

impl Several {
    /// The teams, and whether they have to be told apart.
    pub(super) fn teams(&self, context: &Context) -> Result<Vec<TeamName>, Failure> {
        context.teams(self.all_teams)
    }
}

/// A line above what is about one of several teams.
pub(super) fn head(context: &mut Context, teams: &[TeamName], team: &TeamName) -> Result<(), Failure> {
    head_of_many(context, teams.len() > 1, teams, team)
}

/// The same, where not all of those that were asked for are shown.
pub(super) fn head_of_many(
    context: &mut Context,
    is_of_many: bool,
    teams: &[TeamName],
    team: &TeamName,
) -> Result<(), Failure> {
    if is_of_many {
        let out = &mut context.out;
        if teams.first() != Some(team) {
            out.line("")?;
        }
        out.line(out.paint.bold(&format!("team {}", safe::line(team.as_str()))))?;
    }
    Ok(())
}
