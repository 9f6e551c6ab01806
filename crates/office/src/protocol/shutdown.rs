//! Ending a member: the lead asks, the member decides, for itself alone.

use std::time::Duration;

use atm_wire::MemberName;
use atm_wire::payload::{Payload, ShutdownApproved, ShutdownRejected, ShutdownRequest, ShutdownResponse};

use crate::error::OfficeError;
use crate::mail::send::Sent;
use crate::people::members::MemberChange;
use crate::protocol::person::Person;
use crate::protocol::requests::Asked;
use crate::team::Team;

pub(super) const REQUEST: &str = "shutdown_request";

/// In which payload a member answers: clients have one for yes and one for no, other programs one for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// `shutdown_approved` or `shutdown_rejected`.
    #[default]
    Client,
    /// `shutdown_response`.
    Response,
}

impl Team<'_> {
    /// `from`, the lead, asks a member to end; with `wait`, waits for the decision.
    pub fn request_shutdown(
        &mut self,
        from: &MemberName,
        name: &MemberName,
        reason: Option<String>,
        wait: Option<Duration>,
    ) -> Result<Asked, OfficeError> {
        self.request_shutdown_by((from, None), name, reason, wait)
    }

    pub(super) fn request_shutdown_by(
        &mut self,
        (from, person): (&MemberName, Option<Person>),
        name: &MemberName,
        reason: Option<String>,
        wait: Option<Duration>,
    ) -> Result<Asked, OfficeError> {
        self.member(name)?;
        self.look()?;
        let request = self.office().request_id("shutdown", name)?;
        let payload = ShutdownRequest {
            request_id: Some(request.clone()),
            from: Some(from.to_string()),
            reason,
            timestamp: Some(self.office().now()),
        };
        let mut sent = self.send_payload_by(from, person, name.clone(), payload)?;
        sent.warnings.extend(self.signature_warning());
        let answer = wait.map(|timeout| self.wait_for_decision(name, &request, timeout)).transpose()?;
        Ok(Asked { request, sent, answer })
    }

    /// `who` ends: the named request, or the newest that is open, is approved, and the team is told that it is off.
    pub fn approve_shutdown(
        &self,
        who: &MemberName,
        request: Option<&str>,
        dialect: Dialect,
    ) -> Result<Sent, OfficeError> {
        let asked = self.which_request(who, REQUEST, request)?;
        let member = self.config().member(who.as_str());
        let request_id = asked.request_id.clone();
        let payload = match dialect {
            Dialect::Client => Payload::from(ShutdownApproved {
                request_id,
                from: Some(who.to_string()),
                timestamp: Some(self.office().now()),
                pane_id: member.and_then(|member| member.tmux_pane_id.clone()),
                backend_type: member.and_then(|member| member.backend_type.clone()),
            }),
            Dialect::Response => ShutdownResponse { request_id, approved: Some(true), content: None }.into(),
        };
        let mut sent = self.answer_with(who, &asked, payload)?;
        if member.is_some() {
            let off = MemberChange { active: Some(false), ..MemberChange::default() };
            if let Err(error) = self.office().set_member(self.name(), who, &off) {
                sent.warnings.push(format!("{who} could not be recorded as offline: {error}"));
            }
        }
        Ok(sent)
    }

    /// `who` stays, and says why.
    pub fn reject_shutdown(
        &self,
        who: &MemberName,
        request: Option<&str>,
        reason: String,
        dialect: Dialect,
    ) -> Result<Sent, OfficeError> {
        let asked = self.which_request(who, REQUEST, request)?;
        let (request_id, said) = (asked.request_id.clone(), Some(reason));
        let payload = match dialect {
            Dialect::Client => Payload::from(ShutdownRejected {
                request_id,
                from: Some(who.to_string()),
                reason: said,
                timestamp: Some(self.office().now()),
            }),
            Dialect::Response => ShutdownResponse { request_id, approved: Some(false), content: said }.into(),
        };
        self.answer_with(who, &asked, payload)
    }
}
