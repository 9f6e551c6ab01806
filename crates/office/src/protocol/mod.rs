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
use crate::protocol::person::Person;
use crate::team::Team;

impl Team<'_> {
    /// Sends a payload from one name of the team to another.
    pub(crate) fn send_payload(
        &self,
        from: &MemberName,
        to: MemberName,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        self.send_in_name(from, None, to, payload)
    }

    /// The same, where a person may send in the name of `from`.
    pub(crate) fn send_in_name(
        &self,
        from: &MemberName,
        person: Option<Person>,
        to: MemberName,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        let to = Address { name: to, team: None };
        let letter = Letter { by: person, ..Letter::new(to, payload.into().to_text()) };
        self.send(from, &letter, SendOptions::default())
    }

    /// Answers who asked, also somebody who has no inbox yet: the name was taken from the request.
    pub(crate) fn answer_with(
        &self,
        from: &MemberName,
        asked: &Recorded,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        self.answer_in_name(from, None, asked, payload)
    }

    /// The same, where a person may decide in the name of `from`.
    pub(crate) fn answer_in_name(
        &self,
        from: &MemberName,
        person: Option<Person>,
        asked: &Recorded,
        payload: impl Into<Payload>,
    ) -> Result<Sent, OfficeError> {
        let home = asked.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&asked.sender)?, team: home };
        let letter = Letter { by: person, ..Letter::new(to, payload.into().to_text()) };
        self.send(from, &letter, SendOptions { create: true, ..SendOptions::default() })
    }
}
