//! `atm member`

use std::path::PathBuf;

use atm_office::people::members::{MemberChange, MemberPlan};
use atm_wire::MemberName;
use atm_wire::team::Manner;
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Add a member and make its inbox
    Add(Add),
    /// Take a member off the list; its inbox stays
    Remove {
        /// Who
        name: MemberName,
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
    name: MemberName,
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
}

impl Member {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        let (name, what) = match self {
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
                    ..MemberPlan::default()
                };
                (context.office.add_member(&team, &plan)?, "added")
            }
            Self::Remove { name } => {
                context.office.remove_member(&team, &name)?;
                (name, "removed")
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
                };
                context.office.set_member(&team, &name, &change)?;
                (name, "changed")
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
