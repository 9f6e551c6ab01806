//! `atm broadcast`

use atm_office::mail::send::SendOptions;
use atm_wire::{Address, TeamName};
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
        let mut letter = self.words.letter(nobody)?;
        letter.metadata = self.manner.metadata.to_map();
        let options = SendOptions::from(&self.manner);
        let only = self.to.map(|names| recipients(context, &team, names)).transpose()?;
        let answers = context
            .office
            .broadcast(&team, &from, &letter, only.as_deref(), options)
            .map_err(|error| Failure::sending(error, options))?;
        tell_all(context, answers, options)
    }
}

/// Those who were named; somebody who was named twice gets one message all the same.
fn recipients(context: &Context, team: &TeamName, names: Vec<Address>) -> Result<Vec<Address>, Failure> {
    let mut all = Vec::new();
    for name in names {
        let address = context.resolve(name)?;
        let address = Address { team: address.team.filter(|other| other != team), ..address };
        if !all.contains(&address) {
            all.push(address);
        }
    }
    Ok(all)
}
