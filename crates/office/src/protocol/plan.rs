//! Plans: a member asks whether it may carry one out, the lead decides.

use std::time::Duration;

use atm_ledger::Stage;
use atm_wire::message::Priority;
use atm_wire::payload::{Content, Payload, PlanApprovalRequest, PlanApprovalResponse, classify};
use atm_wire::{Address, MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::mail::summary::summarize;
use crate::office::Office;
use crate::protocol::person::Person;
use crate::protocol::requests::{Asked, Decision};
use crate::team::Team;

const REQUEST: &str = "plan_approval_request";

/// A plan to be approved.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// All of it.
    pub text: String,
    /// The short version; made from the first words when there is none.
    pub summary: Option<String>,
    /// The file that it is in.
    pub file: Option<String>,
    /// How urgent it is.
    pub priority: Priority,
}

/// What the lead says to a plan.
#[derive(Debug, Clone, Default)]
pub struct PlanAnswer {
    /// Whether the member may go on.
    pub approved: bool,
    /// What to change or to mind.
    pub feedback: Option<String>,
    /// The mode that the member goes on in.
    pub permission_mode: Option<String>,
}

/// A plan with what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct PlanView {
    /// The request.
    pub request: String,
    /// Whose plan it is.
    pub from: String,
    /// Who decides.
    pub to: String,
    /// When it was handed in.
    pub timestamp: Stamp,
    /// How it stands.
    pub state: PlanState,
    /// The short version.
    pub summary: Option<String>,
    /// All of it.
    pub plan: Option<String>,
    /// The decision.
    pub decision: Option<Decision>,
    /// The message.
    pub id: String,
}

/// How a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanState {
    /// Nobody has decided.
    Open,
    /// It may be carried out.
    Approved,
    /// It may not.
    Rejected,
    /// Nobody will decide any more.
    Closed,
}

impl PlanState {
    /// The spelling in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Closed => "closed",
        }
    }
}

impl Team<'_> {
    /// `who` asks its lead whether it may carry out a plan; with `wait`, waits for the decision.
    pub fn submit_plan(
        &mut self,
        who: &MemberName,
        plan: &Plan,
        wait: Option<Duration>,
    ) -> Result<Asked, OfficeError> {
        if plan.text.trim().is_empty() {
            return Err(OfficeError::EmptyMessage);
        }
        self.member(who)?;
        let lead = self.lead()?.clone();
        if lead == *who {
            let why = format!("{who} leads team {} and decides about plans itself", self.name());
            return Err(OfficeError::NotYours { who: who.to_string(), why });
        }
        let request = self.office().request_id("plan", who)?;
        let payload = PlanApprovalRequest {
            request_id: Some(request.clone()),
            from: Some(who.to_string()),
            plan: Some(plan.text.clone()),
            plan_file_path: plan.file.clone(),
            summary: Some(plan.summary.clone().unwrap_or_else(|| summarize(&plan.text))),
            timestamp: Some(self.office().now()),
        };
        let to = Address { name: lead.clone(), team: None };
        let mut letter = Letter::new(to, Payload::from(payload).to_text());
        letter.priority = plan.priority;
        let sent = self.send(who, &letter, SendOptions::default())?;
        let answer = wait.map(|timeout| self.wait_for_decision(&lead, &request, timeout)).transpose()?;
        Ok(Asked { request, sent, answer })
    }

    /// `who`, the lead, decides about a plan. Each plan is decided once.
    pub fn decide_plan(
        &self,
        who: &MemberName,
        request: &str,
        answer: &PlanAnswer,
    ) -> Result<Sent, OfficeError> {
        self.decide_plan_by(who, None, request, answer)
    }

    pub(super) fn decide_plan_by(
        &self,
        who: &MemberName,
        person: Option<Person>,
        request: &str,
        answer: &PlanAnswer,
    ) -> Result<Sent, OfficeError> {
        let asked = self.open_request(who, REQUEST, request)?;
        let payload = PlanApprovalResponse {
            request_id: Some(request.to_owned()),
            approved: Some(answer.approved),
            feedback: answer.feedback.clone(),
            permission_mode: answer.permission_mode.clone(),
            timestamp: Some(self.office().now()),
        };
        let mut sent = self.answer_by(who, person, &asked, payload)?;
        sent.warnings.extend(self.signature_warning());
        Ok(sent)
    }
}

impl Team<'_> {
    /// The plans, oldest first.
    pub fn plans(&self) -> Result<Vec<PlanView>, OfficeError> {
        self.catch_up()?;
        self.office().plans_on_record(self.name())
    }
}

impl Office {
    /// The plans of a team, oldest first.
    pub fn plans(&self, team: &TeamName) -> Result<Vec<PlanView>, OfficeError> {
        self.look(team)?;
        self.plans_on_record(team)
    }

    fn plans_on_record(&self, team: &TeamName) -> Result<Vec<PlanView>, OfficeError> {
        let root = self.root_key();
        let asked = self.books.with(|ledger| ledger.requests(&root, team.as_str(), REQUEST))?;
        let mut plans = Vec::new();
        for message in asked {
            let Some(request) = message.request_id.clone() else { continue };
            let about = self.books.with(|ledger| ledger.request(&root, &request))?;
            let decision = about.iter().filter(|m| m.sender == message.inbox.name).find_map(Decision::read);
            let said = match classify(&message.text, Some(&message.kind)) {
                Content::Protocol(parsed) => match parsed.payload {
                    Payload::PlanApprovalRequest(said) => said,
                    _ => PlanApprovalRequest::default(),
                },
                Content::Text => PlanApprovalRequest::default(),
            };
            plans.push(PlanView {
                request,
                state: match &decision {
                    Some(Decision { approved: true, .. }) => PlanState::Approved,
                    Some(_) => PlanState::Rejected,
                    None if message.stage >= Stage::Done => PlanState::Closed,
                    None => PlanState::Open,
                },
                from: message.sender,
                to: message.inbox.name,
                timestamp: Stamp::from_millis(message.sent_at),
                summary: said.summary,
                plan: said.plan,
                decision,
                id: message.id,
            });
        }
        Ok(plans)
    }
}
