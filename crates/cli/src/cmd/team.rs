//! `atm team`

mod alias;
mod backup;
mod convert;
mod export;
mod import;
mod join;
mod merged;
mod restore;

use atm_office::people::teams::{TeamBrief, TeamPlan};
use atm_store::Layout;
use atm_wire::{MemberName, TeamName};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::members;
use super::metadata::MetadataArg;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;
use crate::output::table::{Cell, cut, spare, whole};

#[derive(Debug, Subcommand)]
pub(crate) enum Team {
    /// Make a team
    Create(Create),
    /// List all teams, those that clients made by themselves too
    List,
    /// Show a team and its members
    Show {
        /// Which [default: the one that commands would use here]
        name: Option<String>,
    },
    /// Lead a team whose lead is gone
    Join(join::Join),
    /// Call a team by another name, too
    Alias(alias::Alias),
    /// Take a team out of the tree; its files are kept in the state folder
    Delete {
        /// Which
        name: String,
        /// Even if there is unread mail
        #[arg(long)]
        force: bool,
    },
    /// Keep a team's mail in the other layout
    Convert(convert::Convert),
    /// Put a team into one file, while it is at work
    Backup(backup::Backup),
    /// Make a team of a backup
    Restore(restore::Restore),
    /// Write all that is known of a team: for people, for mail programs, to be imported
    Export(export::Export),
    /// Add what is in an export to a team
    Import(import::Import),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The team's files are yours alone: 0600, folders 0700. With --group they are the group's, 0640 and
0750: it can read mail, members and tasks (`atm inbox`, `watch`, `members`; its users have state
folders of their own), and write nothing. The folder hands the group on to all that is made in it
later, by atm or by others. The folders above the team are left as they are; if one of them keeps
the group out, you are told.")]
pub(crate) struct Create {
    /// The name: lower-case letters, digits and hyphens, 3 to 64 characters
    name: String,
    /// What it is for, 1 to 500 characters [default: the name]
    #[arg(long)]
    description: Option<String>,
    /// How mail is kept
    #[arg(long, value_enum, default_value_t = LayoutArg::Array)]
    layout: LayoutArg,
    /// The lead's name
    #[arg(long, value_name = "NAME", default_value = "team-lead")]
    lead: String,
    /// Let this group of users read it: 0640, folders 0750
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    metadata: MetadataArg,
}

/// How mail is kept.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayoutArg {
    /// inboxes/NAME.json, one JSON array: what agent clients use
    Array,
    /// members/NAME/inbox, JSON Lines: what shell scripts like
    Log,
}

impl From<LayoutArg> for Layout {
    fn from(layout: LayoutArg) -> Self {
        match layout {
            LayoutArg::Array => Self::Array,
            LayoutArg::Log => Self::Log,
        }
    }
}

impl Team {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self {
            Self::Create(create) => create.run(context)?,
            Self::List => list(context)?,
            Self::Show { name } => show(context, name.as_deref())?,
            Self::Join(join) => join.run(context)?,
            Self::Alias(alias) => alias.run(context)?,
            Self::Delete { name, force } => delete(context, &name, force)?,
            Self::Convert(convert) => return convert.run(context),
            Self::Backup(backup) => backup.run(context)?,
            Self::Restore(restore) => restore.run(context)?,
            Self::Export(export) => export.run(context)?,
            Self::Import(import) => import.run(context)?,
        }
        Ok(0)
    }
}

impl Create {
    fn run(self, context: &mut Context) -> Result<(), Failure> {
        let plan = TeamPlan {
            description: self.description.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            layout: self.layout.into(),
            lead: Some(self.lead),
            cwd: Some(context.cwd.clone()),
            group: self.group,
            metadata: self.metadata.to_map(),
        };
        let name = context.office.create_team(&plan)?;
        let team = context.office.team_brief(&name)?;
        if plan.group.is_some() {
            for warning in atm_upkeep::access::warnings(&context.office, &name) {
                context.out.warn(&warning)?;
            }
        }
        if context.out.json {
            context.out.document(&team.document())?;
        } else {
            context
                .out
                .note(format!("made team {name} in {}", safe::line(&team.path.display().to_string())))?;
        }
        Ok(())
    }
}

/// The team of that name, else the one that commands would use here.
fn meant(context: &Context, name: Option<&str>) -> Result<TeamName, Failure> {
    match name {
        Some(name) => Ok(context.office.choose_team(Some(name), &context.cwd)?),
        None => context.team(),
    }
}

fn list(context: &mut Context) -> Result<(), Failure> {
    let teams = context.office.teams()?;
    let out = &mut context.out;
    for team in &teams {
        if let Some(trouble) = &team.trouble {
            out.warn(trouble)?;
        }
    }
    if out.json {
        out.document(&teams.iter().map(TeamBrief::document).collect::<Vec<_>>())?;
    } else if teams.is_empty() {
        let root = context.office.root().path().display().to_string();
        out.note(format!("no teams below {}; `atm team create NAME` makes one", safe::line(&root)))?;
    } else {
        out.page();
        let text = |value: Option<&str>| Cell::from(value.unwrap_or("-"));
        let row = |team: &TeamBrief| {
            vec![
                text(Some(team.name.as_str())),
                text(called(team).as_deref()),
                team.layout_word().into(),
                team.config.members.len().to_string().into(),
                text(team.lead.as_ref().map(MemberName::as_str)),
                text(team.created_at().map(|at| out.times.date(at)).as_deref()),
                text(team.config.description.as_deref()),
            ]
        };
        let rows: Vec<Vec<Cell>> = teams.iter().map(row).collect();
        let columns = [
            cut("TEAM", 12),
            spare("CALLED", 3),
            spare("LAYOUT", 4),
            whole("MEMBERS"),
            cut("LEAD", 9),
            spare("MADE", 2),
            cut("DESCRIPTION", 12),
        ];
        out.table(&columns, rows)?;
    }
    Ok(())
}

fn show(context: &mut Context, name: Option<&str>) -> Result<(), Failure> {
    let name = meant(context, name)?;
    let team = context.office.team_brief(&name)?;
    if let Some(trouble) = &team.trouble {
        context.out.warn(trouble)?;
    }
    let people = if team.trouble.is_some() { Vec::new() } else { context.office.members(&name)? };
    for skipped in &team.config.skipped {
        context.out.warn(&format!(
            "{}: {skipped}: skipped, left as it is",
            team.path.join("config.json").display()
        ))?;
    }
    let out = &mut context.out;
    if out.json {
        let mut document = team.document();
        document["members"] = serde_json::to_value(&people).unwrap_or_default();
        out.document(&document)?;
        return Ok(());
    }
    out.page();
    let made = team.created_at().map(|at| out.times.date(at));
    let mut fact = |key: &str, value: Option<String>| match value {
        Some(value) => out.hanging(&format!("{key:<14} "), &value),
        None => Ok(()),
    };
    fact("team", Some(name.to_string()))?;
    fact("called", called(&team))?;
    fact("description", team.config.description.clone())?;
    fact("made", made)?;
    fact("lead works in", team.lead_folder().map(|folder| folder.display().to_string()))?;
    fact("layout", Some(team.layout_word().to_owned()))?;
    fact("folder", Some(team.path.display().to_string()))?;
    fact("group", team.group.clone())?;
    if !people.is_empty() {
        out.line("")?;
        members::show(out, &people, true)?;
    }
    Ok(())
}

fn delete(context: &mut Context, name: &str, force: bool) -> Result<(), Failure> {
    let name = TeamName::parse(name)?;
    let kept = context.office.delete_team(&name, force)?;
    if context.out.json {
        context.out.document(&json!({ "team": name, "deleted": true, "kept": kept }))?;
    } else {
        context.out.note(format!("deleted team {name}; its files are in {}", kept.display()))?;
    }
    Ok(())
}

/// What it can be called beside its name.
fn called(team: &TeamBrief) -> Option<String> {
    let names: Vec<&str> = team.aliases.iter().map(String::as_str).chain(team.label.as_deref()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}
