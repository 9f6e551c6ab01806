//! `atm task`

mod ask;
mod claim;
mod graph;
mod links;
mod list;
mod make;
mod picture;

use atm_office::tasks::Outcome;
use atm_wire::MemberName;
use atm_wire::task::TaskId;
use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::ids::short;
use crate::output::safe;

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Make a task
    Create(make::Create),
    /// The tasks of the team
    List(list::List),
    /// All of one task
    Show {
        /// The task
        id: TaskId,
    },
    /// Change a task
    Update(make::Update),
    /// Give a task to somebody, who is told
    Assign {
        /// The task
        id: TaskId,
        /// Who shall do it
        name: MemberName,
    },
    /// Take a task for yourself, for a time; of many who try, one gets it
    Claim(claim::Claim),
    /// Give a task back (its owner or the lead)
    Release {
        /// The task
        id: TaskId,
    },
    /// A task is done (its owner or the lead)
    Complete(claim::Complete),
    /// Make a task wait for others
    Block(links::Block),
    /// Make a task wait for others no more (its owner or the lead)
    Unblock(links::Unblock),
    /// Remove a task, and what others say of it (its owner or the lead)
    Delete {
        /// The task
        id: TaskId,
    },
    /// Ask who has a task how far it is
    StatusRequest(ask::StatusRequest),
    /// Say how far a task is: to the member that asked, else to the lead
    Status(ask::Status),
    /// What waits for what, as a tree or a picture
    Graph(graph::Graph),
}

impl Task {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let team = context.team()?;
        match self {
            Self::Create(create) => create.run(context, &team)?,
            Self::List(list) => list.run(context, &team)?,
            Self::Show { id } => {
                let task = context.office.tasks(&team)?.get(id)?;
                if context.out.json {
                    context.out.document(&task)?;
                } else {
                    list::show_one(&mut context.out, &task)?;
                }
            }
            Self::Update(update) => update.run(context, &team)?,
            Self::Assign { id, name } => {
                let team = context.office.team(&team)?;
                let who = context.sender_in(&team)?;
                let outcome = team.tasks().assign(&who, id, &name)?;
                tell(context, &outcome, &format!("task {id} is {name}'s"))?;
            }
            Self::Claim(claim) => claim.run(context, &team)?,
            Self::Release { id } => {
                let team = context.office.team(&team)?;
                let who = context.sender_in(&team)?;
                let outcome = team.tasks().release(&who, id)?;
                tell(context, &outcome, &format!("task {id} is free"))?;
            }
            Self::Complete(complete) => complete.run(context, &team)?,
            Self::Block(block) => block.run(context, &team)?,
            Self::Unblock(unblock) => unblock.run(context, &team)?,
            Self::Delete { id } => {
                let handle = context.office.team(&team)?;
                let who = context.sender_in(&handle)?;
                handle.tasks().delete(&who, id)?;
                if context.out.json {
                    context.out.document(&serde_json::json!({ "team": team, "id": id, "deleted": true }))?;
                } else {
                    context.out.note(format!("deleted task {id}"))?;
                }
            }
            Self::StatusRequest(request) => request.run(context, &team)?,
            Self::Status(status) => status.run(context, &team)?,
            Self::Graph(graph) => graph.run(context, &team)?,
        }
        Ok(0)
    }
}

/// Tells what came of a change, and of the message about it.
fn tell(context: &mut Context, outcome: &Outcome, done: &str) -> Result<(), Failure> {
    let out = &mut context.out;
    let about_mail = outcome.sent.iter().flat_map(|sent| &sent.warnings);
    for warning in outcome.warnings.iter().chain(about_mail) {
        out.warn(warning)?;
    }
    if out.json {
        return Ok(out.document(outcome)?);
    }
    // What other machines may still refuse is not done.
    let done = if outcome.requested { format!("requested: {done}") } else { done.to_owned() };
    out.note(safe::line(&done))?;
    if let Some(sent) = &outcome.sent {
        let id = short(&sent.id);
        out.note(format!("{} for {}@{}, id {id}", sent.stage_words(), sent.to, sent.team))?;
    }
    if !outcome.unblocked.is_empty() {
        out.note(format!("can begin now: {}", ids(&outcome.unblocked)))?;
    }
    Ok(())
}

fn ids(ids: &[TaskId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
