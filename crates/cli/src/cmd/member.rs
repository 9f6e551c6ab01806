//! `atm member`

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use atm_office::OfficeError;
use atm_office::people::members::{MemberChange, MemberPlan};
use atm_wire::team::Manner;
use atm_wire::{Address, MemberName, TeamName};
use clap::{Args, Subcommand};

use super::metadata::MetadataArg;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Add a member and make its inbox
    Add(Add),
    /// Take a member off the list; its inbox stays
    Remove {
        /// Who
        name: Address,
        /// Even if it has unread mail
        #[arg(long)]
        yes: bool,
    },
    /// Bring back a member that was removed, as it was; its mail never left
    Restore {
        /// Who
        name: Address,
    },
    /// Change a member
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The name: lower-case letters, digits and hyphens, 3 to 64 characters
    name: String,
    #[command(flatten)]
    fields: Fields,
    /// It does not run yet
    #[arg(long)]
    inactive: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Who
    name: Address,
    #[command(flatten)]
    fields: Fields,
    /// Whether it runs
    #[arg(long, value_name = "BOOL")]
    active: Option<bool>,
    /// How it is woken when mail comes: auto, poll, rewake, codex, opencode, pane or none
    #[arg(long, value_name = "WAY")]
    wake: Option<Manner>,
    /// Its client's conversation, for waking it by codex or opencode
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Its client's server on this machine, for waking it by opencode
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

#[derive(Debug, Args)]
struct Fields {
    /// What kind of agent it is [default for a new one: general-purpose]
    #[arg(long = "type", value_name = "TYPE")]
    agent_type: Option<String>,
    /// haiku, sonnet, opus, or a model's full id [default for a new one: sonnet]
    #[arg(long)]
    model: Option<String>,
    /// What it is started with
    #[arg(long)]
    prompt: Option<String>,
    /// blue, green, yellow, magenta, cyan, red, … or #rrggbb [default for a new one: the next in turn]
    #[arg(long, value_name = "COLOR")]
    member_color: Option<String>,
    /// Its tmux pane, like %14
    #[arg(long)]
    pane: Option<String>,
    /// Where it works
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(flatten)]
    metadata: MetadataArg,
}

impl Member {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, name, what) = match self {
            Self::Add(Add { name, fields, inactive }) => {
                let plan = MemberPlan {
                    name,
                    agent_type: fields.agent_type,
                    model: fields.model,
                    prompt: fields.prompt,
                    color: fields.member_color,
                    pane: fields.pane,
                    cwd: fields.cwd,
                    inactive,
                    metadata: fields.metadata.to_map(),
                    ..MemberPlan::default()
                };
                let team = context.team()?;
                let name = context.office.add_member(&team, &plan)?;
                (team, name, "added")
            }
            Self::Remove { name, yes } => {
                let (team, name) = context.whom(name)?;
                remove(context, &team, &name, yes)?;
                (team, name, "removed")
            }
            Self::Restore { name } => {
                let (team, name) = context.whom(name)?;
                context.office.restore_member(&team, &name)?;
                (team, name, "restored")
            }
            Self::Set(Set { name, fields, active, wake, session, server }) => {
                let change = MemberChange {
                    agent_type: fields.agent_type,
                    model: fields.model,
                    prompt: fields.prompt,
                    color: fields.member_color,
                    pane: fields.pane,
                    cwd: fields.cwd,
                    active,
                    wake,
                    session,
                    server,
                    metadata: fields.metadata.to_map(),
                };
                let (team, name) = context.whom(name)?;
                context.office.set_member(&team, &name, &change)?;
                (team, name, "changed")
            }
        };
        let out = &mut context.out;
        if out.json {
            out.document(&serde_json::json!({ "team": team, "name": name, what: true }))?;
        } else {
            out.note(format!("{what} {name}@{team}"))?;
        }
        Ok(0)
    }
}

/// Removes a member; one with unread mail only if that is meant, which is asked on a terminal.
fn remove(context: &Context, team: &TeamName, name: &MemberName, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(context.office.remove_member(team, name)?);
    }
    match context.office.remove_member_without_mail(team, name) {
        Err(error @ OfficeError::MemberHasMail { .. }) if !context.out.json && is_meant(&error) => {
            Ok(context.office.remove_member(team, name)?)
        }
        removed => Ok(removed?),
    }
}

/// Asks the person at the terminal, if there is one.
fn is_meant(why_not: &OfficeError) -> bool {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return false;
    }
    let mut answer = String::new();
    let asked = write!(io::stderr(), "{why_not}. Remove it all the same? [y/N] ");
    let answered = asked.is_ok() && io::stdin().lock().read_line(&mut answer).is_ok();
    if !answer.ends_with('\n') {
        // The end of the input leaves the cursor behind the question.
        let _ = writeln!(io::stderr());
    }
    answered && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
