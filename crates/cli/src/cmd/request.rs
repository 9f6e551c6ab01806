//! `atm request` and `atm respond`

use std::time::Duration;

use atm_office::mail::send::SendOptions;
use atm_office::sessions::Recipient;
use clap::Args;
use serde_json::{Map, Value};

use super::asked::Asked;
use super::duration::duration;
use super::recipient;
use super::send::tell;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Whom to ask
    to: Recipient,
    /// What kind of question, like `task_status_request`
    #[arg(value_name = "TYPE")]
    kind: String,
    /// The question's fields, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object, default_value = "{}")]
    data: Fields,
    /// How long to wait for the answer; exit 8 if none comes
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    timeout: Duration,
    /// Do not wait
    #[arg(long)]
    no_wait: bool,
    /// Let somebody ask, or be asked, who is not a member: an inbox is made for the answer
    #[arg(long)]
    create: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Respond {
    /// The request's id
    request: String,
    /// The answer's fields, a JSON object
    #[arg(long, value_name = "JSON", value_parser = object, default_value = "{}")]
    data: Fields,
}

/// A JSON object from the command line.
#[derive(Debug, Clone)]
struct Fields(Map<String, Value>);

impl Request {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (route, from) = recipient::route(&context.office, context, self.to, self.create)?;
        let of = route.to.name.clone();
        let options =
            SendOptions { create: self.create, known_sender: !self.create, ..SendOptions::default() };
        let (request, sent) = route
            .request(&from, &self.kind, self.data.0, options)
            .map_err(|error| Failure::sending(error, options))?;
        let timeout = (!self.no_wait).then_some(self.timeout);
        Asked { from, of, request, sent }.settle(&mut context.out, &route.team, timeout)?;
        Ok(0)
    }
}

impl Respond {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, who) = (context.office.team(&context.team()?)?, context.reader()?);
        team.check_sender(&who)?;
        let sent = team.respond(&who, &self.request, self.data.0, SendOptions::default())?;
        tell(context, &sent)?;
        Ok(0)
    }
}

fn object(text: &str) -> Result<Fields, String> {
    serde_json::from_str(text).map(Fields).map_err(|error| format!("not a JSON object: {error}"))
}
