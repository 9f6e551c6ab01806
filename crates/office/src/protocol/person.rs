//! A person who decides for the lead.
//!
//! The [policy](super::policy) asks for the lead where an agent must not decide. A front that only a person uses, like
//! `atm ui`, lets that person decide: the message is in the lead's name, since members' clients listen to nobody else, and
//! both the message (`metadata.atm.by`) and the evidence in the ledger say who it was, and where.

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
    pub const fn at(front: &'static str) -> Self {
        Self { front }
    }

    /// As records name it: `user via ui`.
    pub fn words(self) -> String {
        format!("{USER} via {}", self.front)
    }

    /// Decides about a plan as the lead of its team. Each plan is decided once.
    pub fn decide_plan(
        self,
        team: &Team<'_>,
        request: &str,
        answer: &PlanAnswer,
    ) -> Result<Sent, OfficeError> {
        team.decide_plan_in_name(team.lead()?, Some(self), request, answer)
    }

    /// Asks a member to end, as the lead of its team.
    pub fn request_shutdown(
        self,
        team: &mut Team<'_>,
        name: &MemberName,
        reason: Option<String>,
    ) -> Result<Asked, OfficeError> {
        let lead = team.lead()?.clone();
        team.request_shutdown_in_name(&lead, Some(self), name, reason)
    }
}
