//! A person who decides for the lead.
//!
//! The [policy](super::policy) asks for the lead where an agent must not decide. A front that only a person uses, like
//! `atm ui`, lets that person decide: the message is in the lead's name, since members' clients listen to nobody else, and
//! both the message (`metadata.atm.acted_by`) and the evidence in the ledger say who it was, and where.

use atm_wire::MemberName;

use crate::error::OfficeError;
use crate::mail::send::Sent;
use crate::office::USER;
use crate::protocol::plan::PlanAnswer;
use crate::protocol::requests::Asked;
use crate::team::Team;

/// The person at a front that only people use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    front: &'static str,
}

impl Person {
    /// The one at this front: `ui`, `web`.
    pub const fn via(front: &'static str) -> Self {
        Self { front }
    }

    /// As records name it: `user via ui`.
    pub fn words(self) -> String {
        format!("{USER} via {}", self.front)
    }
}

impl Team<'_> {
    /// A person decides about a plan for the lead. Each plan is decided once.
    pub fn decide_plan_for_lead(
        &self,
        person: Person,
        request: &str,
        answer: &PlanAnswer,
    ) -> Result<Sent, OfficeError> {
        self.decide_plan_in_name(self.lead()?, Some(person), request, answer)
    }

    /// A person asks a member to end, for the lead.
    pub fn request_shutdown_for_lead(
        &mut self,
        person: Person,
        name: &MemberName,
        reason: Option<String>,
    ) -> Result<Asked, OfficeError> {
        let lead = self.lead()?.clone();
        self.request_shutdown_in_name(&lead, Some(person), name, reason)
    }
}
