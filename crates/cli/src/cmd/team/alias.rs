//! `atm team alias`

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::cut;

#[derive(Debug, Args)]
#[command(after_help = "\
`--team` and NAME@TEAM take an alias as they take a team's name. Teams that a client made by itself (session-…) can
also be called by the folder that their lead works in. Without arguments: all aliases.")]
pub(crate) struct Alias {
    /// What to call it
    name: Option<String>,
    /// The team, or another of its names
    team: Option<String>,
    /// Forget this name
    #[arg(long, requires = "name", conflicts_with = "team")]
    remove: bool,
}

impl Alias {
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        let office = &context.office;
        let out = &mut context.out;
        match (self.name, self.team) {
            (Some(name), _) if self.remove => {
                let team = office.remove_alias(&name)?;
                if out.json {
                    out.document(&json!({ "alias": name, "team": team, "removed": true }))?;
                } else {
                    out.note(format!("{} is no name for {} any more", safe::line(&name), safe::line(&team)))?;
                }
            }
            (Some(name), Some(team)) => {
                let team = office.choose_team(Some(&team), &context.cwd)?;
                office.set_alias(&name, &team)?;
                if out.json {
                    out.document(&json!({ "alias": name, "team": team }))?;
                } else {
                    out.note(format!("{name} stands for team {}", safe::line(team.as_str())))?;
                }
            }
            (Some(_), None) => {
                return Err(
                    Failure::usage("which team?").hint("`atm team alias NAME TEAM`, or --remove NAME")
                );
            }
            (None, _) => {
                let aliases = office.aliases()?;
                if out.json {
                    out.document(&aliases)?;
                } else if aliases.is_empty() {
                    out.note("there are no aliases; `atm team alias NAME TEAM` makes one")?;
                } else {
                    let rows = aliases.iter().map(|(alias, team)| vec![alias.into(), team.into()]);
                    out.table(&[cut("ALIAS", 12), cut("TEAM", 12)], rows)?;
                }
            }
        }
        Ok(())
    }
}
