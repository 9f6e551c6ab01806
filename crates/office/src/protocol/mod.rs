//! The team's protocol: what members and their lead tell each other in payloads, and who may say what.
//!
//! Each payload that a person or an agent can send has its call here. All of them, and hand-written payloads in plain
//! mail too, pass through one table: [`policy`].

pub mod check;
pub mod person;
pub mod plan;
pub mod policy;
pub mod report;
pub mod requests;
pub mod shutdown;
pub mod signed;
pub mod stale;

use atm_ledger::Recorded;
use atm_wire::payload::Payload;
use atm_wire::{Address, MemberName, TeamName};

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::team::Team;
use person::Person;

impl Team<'_> {
    /// Sends a payload from one name of the team to another.
    pub(crate) fn send_payload(
        &self,
        from: &MemberName,
        to: MemberName,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        self.send_payload_by(from, None, to, payload)
    }

    /// The same, where somebody acts in the sender's name.
    pub(crate) fn send_payload_by(
        &self,
        from: &MemberName,
        person: Option<Person>,
        to: MemberName,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        let letter = Letter::new(Address { name: to, team: None }, payload.into().to_text());
        let letter = Letter { acted_by: person.map(Person::words), ..letter };
        self.send(from, &letter, SendOptions::default())
    }

    /// Answers who asked, also somebody who has no inbox yet: the name was taken from the request.
    pub(crate) fn answer_with(
        &self,
        from: &MemberName,
        asked: &Recorded,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        self.answer_by(from, None, asked, payload)
    }

    /// The same, where somebody acts in the name of who was asked.
    pub(crate) fn answer_by(
        &self,
        from: &MemberName,
        person: Option<Person>,
        asked: &Recorded,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        let home = asked.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&asked.sender)?, team: home };
        let letter = Letter::new(to, payload.into().to_text());
        let letter = Letter { acted_by: person.map(Person::words), ..letter };
        self.send(from, &letter, SendOptions { create: true, ..SendOptions::default() })
    }
}
