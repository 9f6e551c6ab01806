//! `atm broadcast`

use atm_office::send::SendOptions;
use atm_wire::Address;
use clap::Args;

use super::send::tell_all;
use super::text::{Manner, Words};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct Broadcast {
    #[command(flatten)]
    words: Words,
    /// Only to these, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    to: Option<Vec<Address>>,
    #[command(flatten)]
    manner: Manner,
}

impl Broadcast {
    pub(crate) fn run(self, context: &mut Context) -> Result<i32, Failure> {
        let (team, from) = (context.team()?, context.sender()?);
        let nobody = Address { name: from.clone(), team: None };
        let letter = self.words.letter(nobody)?;
        let options = SendOptions::from(&self.manner);
        let only = self.to.as_deref();
        let answers =
            context.office.broadcast(&team, &from, &letter, only, options).map_err(Failure::sending)?;
        tell_all(context, answers)
    }
}
