//! `atm reply`

use atm_office::mail::send::SendOptions;
use atm_wire::Address;
use clap::Args;

use super::recipient::{self, Acting};
use super::send::tell;
use super::text::{Manner, Words};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The message in your inbox: its id, at least six characters of its start or end, or `last` for the last that you got
    #[arg(value_name = "ID|last")]
    id: String,
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    manner: Manner,
}

impl Reply {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let named = |context: &Context| Ok((context.team_of_message(&self.id)?, context.sender()?));
        let Acting { team, who, session } = recipient::acting(context, named)?;
        let mut words = self.words.letter(Address { name: who.clone(), team: None })?;
        words.metadata = self.manner.metadata.to_map();
        let letter = |to| atm_office::mail::send::Letter { to, ..words };
        let options = SendOptions::from(&self.manner);
        let sent = context
            .office
            .team(&team)
            .and_then(|team| team.in_session(session).reply(&who, &self.id, letter, options))
            .map_err(|error| Failure::sending(error, options))?;
        tell(context, &sent)?;
        Ok(0)
    }
}
