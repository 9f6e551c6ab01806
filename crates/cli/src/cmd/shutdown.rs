//! `atm shutdown`

use std::time::Duration;

use atm_office::protocol::requests::Asked;
use atm_wire::MemberName;
use clap::{Args, Subcommand};

use super::duration::duration;
use super::send::tell;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::safe;

#[derive(Debug, Subcommand)]
pub(crate) enum Shutdown {
    /// Ask a member to end (the lead may); prints the request's id
    Request(Request),
    /// You end: tell the lead so, and be recorded as offline
    Approve {
        /// The request's id [default: the newest that is open]
        request: Option<String>,
    },
    /// You stay
    Reject {
        /// The request's id [default: the newest that is open]
        request: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Whom
    name: MemberName,
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
        let team = context.team()?;
        let sent = match self {
            Self::Request(Request { name, reason, wait }) => {
                let from = context.sender()?;
                let asked = context.office.request_shutdown(&team, &from, &name, reason, wait.time())?;
                return tell_asked(context, &asked);
            }
            Self::Approve { request } => {
                let who = context.member()?;
                context.office.approve_shutdown(&team, &who, request.as_deref())?
            }
            Self::Reject { request, reason } => {
                let who = context.member()?;
                context.office.reject_shutdown(&team, &who, request.as_deref(), reason)?
            }
        };
        tell(context, &sent)?;
        Ok(0)
    }
}

/// Tells a request's id, and its decision if that was waited for.
pub(super) fn tell_asked(context: &mut Context, asked: &Asked) -> Result<i32, Failure> {
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
