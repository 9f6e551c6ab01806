//! `atm shutdown`

use std::time::Duration;

use atm_office::protocol::requests::Asked;
use atm_office::protocol::shutdown::Dialect;
use atm_wire::{Address, MemberName, TeamName};
use clap::{Args, Subcommand, ValueEnum};

use super::duration::duration;
use super::send::{advised, tell};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Subcommand)]
pub(crate) enum Shutdown {
    /// Ask a member to end (the lead may); prints the request's id
    Request(Request),
    /// You end: tell the lead so, be recorded as offline, and have your pane closed if `atm spawn` opened it
    Approve {
        /// Leave the pane open
        #[arg(long)]
        keep_pane: bool,
        /// The request's id [default: the newest that is open]
        request: Option<String>,
        #[command(flatten)]
        spelling: Spelling,
    },
    /// You stay
    Reject {
        /// The request's id [default: the newest that is open]
        request: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        spelling: Spelling,
    },
}

/// How an answer is spelled.
#[derive(Debug, Args)]
pub(crate) struct Spelling {
    /// The payload of the answer
    #[arg(long, value_enum, value_name = "DIALECT", default_value_t = DialectArg::Client)]
    dialect: DialectArg,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DialectArg {
    /// One payload for yes and one for no, as clients have it
    Client,
    /// One for both: `approved`, and the reason in `content`
    Response,
}

impl From<Spelling> for Dialect {
    fn from(spelling: Spelling) -> Self {
        match spelling.dialect {
            DialectArg::Client => Self::Client,
            DialectArg::Response => Self::Response,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Whom
    name: Address,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    wait: Wait,
}

/// Waiting for a decision.
#[derive(Debug, Args)]
pub(super) struct Wait {
    /// Wait for the decision: exit 0 for yes, 4 for no, 8 if none comes
    #[arg(long)]
    wait: bool,
    /// How long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s", requires = "wait")]
    timeout: Duration,
}

impl Wait {
    pub(super) fn time(&self) -> Option<Duration> {
        self.wait.then_some(self.timeout)
    }
}

impl Shutdown {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        match self {
            Self::Request(request) => return request.run(context),
            Self::Approve { request, spelling, keep_pane } => {
                let name_of_team = context.team()?;
                let team = context.office.team(&name_of_team)?;
                let who = context.member_in(&team)?;
                let sent = team.approve_shutdown(&who, request.as_deref(), spelling.into())?;
                tell(context, &sent)?;
                if !keep_pane {
                    // The last thing that is done: we may run in that pane.
                    context.out.finish()?;
                    close_pane(context, &name_of_team, &who)?;
                }
            }
            Self::Reject { request, reason, spelling } => {
                let team = context.office.team(&context.team()?)?;
                let who = context.member_in(&team)?;
                let sent = team.reject_shutdown(&who, request.as_deref(), reason, spelling.into())?;
                tell(context, &sent)?;
            }
        }
        Ok(0)
    }
}

impl Request {
    fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (name_of_team, name) = context.whom(self.name)?;
        let mut team = context.office.team(&name_of_team)?;
        let from = context.sender_in(&team)?;
        let asked = team.request_shutdown(&from, &name, self.reason, self.wait.time())?;
        if asked.answer.as_ref().is_some_and(|answer| answer.approved) {
            close_pane(context, &name_of_team, &name)?;
        }
        tell_asked(context, &asked)
    }
}

/// Closes the pane of a member that ends. It has said so, whether that can be done or not.
fn close_pane(context: &mut Context, team: &TeamName, name: &MemberName) -> Result<(), Failure> {
    if let Err(error) = context.office.close_pane(team, name) {
        context.out.warn(&format!("the pane of {name} is not closed: {error}"))?;
    }
    Ok(())
}

/// Tells a request's id, and its decision if that was waited for.
pub(super) fn tell_asked(context: &mut Context, asked: &Asked) -> Result<i32, Failure> {
    let asked = &Asked { sent: advised(asked.sent.clone()), ..asked.clone() };
    let out = &mut context.out;
    for warning in &asked.sent.warnings {
        out.warn(warning)?;
    }
    let refused = asked.answer.as_ref().is_some_and(|answer| !answer.approved);
    if out.json {
        out.document(asked)?;
    } else {
        out.line(safe::line(&asked.request))?;
        if let Some(answer) = &asked.answer {
            let said = answer.feedback.as_deref().map(|said| format!(": {said}")).unwrap_or_default();
            let word = if answer.approved { "approved" } else { "rejected" };
            out.line(safe::line(&format!("{} {word} it{said}", answer.from)))?;
        }
    }
    Ok(if refused { i32::from(crate::exit::ExitCode::Refused) } else { 0 })
}
