//! `atm ack`

use atm_office::mail::send::SendOptions;
use clap::Args;

use super::recipient::{self, Acting};
use super::send::tell;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Ack {
    /// The message: its id, at least six characters of its start or end, or `last` for the last that you got
    #[arg(value_name = "ID|last")]
    id: String,
    /// What you want to add
    text: Option<String>,
}

impl Ack {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let named = |context: &Context| Ok((context.team_of_message(&self.id)?, context.reader()?));
        let Acting { team, who, session } = recipient::acting(context, named)?;
        let team = context.office.team(&team)?.in_session(session);
        let sent = team.ack(&who, &self.id, self.text, SendOptions::default())?;
        tell(context, &sent)?;
        Ok(0)
    }
}
