//! Acknowledging a message.

use atm_wire::payload::{Acknowledgment, Payload};
use atm_wire::{Address, MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::send::{Letter, SendOptions, Sent};

impl Office {
    /// `who` tells the sender of a message that it arrived. Only its recipient may.
    pub fn ack(
        &self,
        team: &TeamName,
        who: &MemberName,
        id: &str,
        text: Option<String>,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        self.reconcile(team)?;
        let message = self.recorded(Some(team), id)?;
        if message.inbox.name != who.as_str() {
            let why = format!(
                "message {} is for {}, and only {} can acknowledge it",
                message.id, message.inbox.name, message.inbox.name
            );
            return Err(OfficeError::NotYours { who: who.to_string(), why });
        }
        let ack = Acknowledgment { ack_id: Some(message.ack_id.unwrap_or(message.id)), text };
        let home = message.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&message.sender)?, team: home };
        self.send(team, who, &Letter::new(to, Payload::from(ack).to_text()), options)
    }
}
