//! Sending, and the answers to requests.

use atm_office::Hint;
use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::protocol::plan::{Plan, PlanAnswer, PlanState};
use atm_office::protocol::shutdown::Dialect;
use atm_store::watch::Stop;
use atm_wire::{Address, MemberName, TeamName};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect};
use crate::answer::Answer;
use crate::desk::Desk;
use crate::trouble::Trouble;

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Message,
    Broadcast,
    ShutdownRequest,
    ShutdownResponse,
    PlanApprovalResponse,
    PlanApprovalRequest,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SendMessage {
    team_name: Option<String>,
    r#type: Kind,
    #[serde(default)]
    recipient: String,
    /// The text; a reason or feedback; the plan
    #[serde(default)]
    content: String,
    /// 5 to 10 words
    #[serde(default)]
    summary: String,
    /// Of the request that is answered
    #[serde(default)]
    request_id: String,
    approve: Option<bool>,
    /// Who sends
    sender: Option<String>,
}

impl Call for SendMessage {
    const NAME: &'static str = "send_message";
    const ABOUT: &'static str = "Send mail. type: message (recipient, content, summary); broadcast to all others \
                                 (content, summary); shutdown_request asks a teammate to end (recipient, content is the \
                                 reason); shutdown_response answers that (request_id, approve); plan_approval_request \
                                 hands your lead a plan (content); plan_approval_response decides about one (recipient, \
                                 request_id, approve, content is the feedback).";
    const EFFECT: Effect = Effect::Adds;
    const REQUIRED: &'static [&'static str] = &["team_name", "type"];
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.team(self.team_name.as_deref())?;
        let sender = desk.sender(&team, self.sender.as_deref())?;
        match self.r#type {
            Kind::Message => self.message(desk, &team, &sender),
            Kind::Broadcast => self.broadcast(desk, &team, &sender),
            Kind::ShutdownRequest => self.shutdown_request(desk, &team, &sender),
            Kind::ShutdownResponse => self.shutdown_response(desk, &team, &sender),
            Kind::PlanApprovalResponse => self.plan_response(desk, &team, &sender),
            Kind::PlanApprovalRequest => self.plan_request(desk, &team, &sender),
        }
    }
}

impl SendMessage {
    fn message(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let to = self.recipient()?;
        if to.name == *sender && to.team.is_none() {
            return Err(Trouble::new("a message to yourself is not sent"));
        }
        let color = desk.config(to.team.as_ref().unwrap_or(team))?;
        let color =
            color.member(to.name.as_str()).and_then(|member| member.color.as_ref()).map(ToString::to_string);
        let sent = desk.office().send(team, sender, &self.letter(to), SendOptions::default())?;
        let routing = json!({ "sender": sender, "target": sent.to, "targetColor": color });
        told(&format!("{} for {}", sent.stage_words(), sent.to), &sent, json!({ "routing": routing }))
    }

    fn broadcast(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let nobody = Address { name: sender.clone(), team: None };
        let sent =
            desk.office().broadcast(team, sender, &self.letter(nobody), None, SendOptions::default())?;
        let (ids, troubles): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let sent: Vec<Sent> = ids.into_iter().flatten().collect();
        let failed: Vec<String> =
            troubles.into_iter().filter_map(Result::err).map(|error| format!("not sent: {error}")).collect();
        if sent.is_empty() {
            return Err(Trouble::new(failed.join("; ")));
        }
        let to: Vec<&str> = sent.iter().map(|sent| sent.to.as_str()).collect();
        let answer = Answer::object(&json!({
            "success": failed.is_empty(),
            "message": format!("sent to {}: {}", to.len(), to.join(", ")),
            "ids": sent.iter().map(|sent| &sent.id).collect::<Vec<_>>(),
        }))?;
        Ok(answer.noting(sent.iter().flat_map(|sent| sent.warnings.clone())).noting(failed))
    }

    fn shutdown_request(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let to = self.recipient()?.name;
        if to == *sender {
            return Err(Trouble::new("you cannot ask yourself to shut down"));
        }
        let reason = Some(self.content).filter(|reason| !reason.is_empty());
        let asked = desk.office().request_shutdown(team, sender, &to, reason, None)?;
        let more = json!({ "request_id": asked.request, "target": to });
        told(&format!("{to} was asked to shut down"), &asked.sent, more)
    }

    fn shutdown_response(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let request = Some(self.request_id.as_str()).filter(|id| !id.is_empty());
        if self.decision()? {
            let sent = desk.office().approve_shutdown(team, sender, request, Dialect::Client)?;
            return told("shutdown approved; end your work now", &sent, json!({}));
        }
        let reason = if self.content.is_empty() { "still at work".to_owned() } else { self.content };
        let sent = desk.office().reject_shutdown(team, sender, request, reason, Dialect::Client)?;
        told("shutdown rejected", &sent, json!({}))
    }

    fn plan_response(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let approved = self.decision()?;
        let to = self.recipient()?.name;
        let request = if self.request_id.is_empty() { open_plan(desk, team, &to)? } else { self.request_id };
        let feedback = Some(self.content).filter(|feedback| !feedback.is_empty());
        let answer = PlanAnswer { approved, feedback, permission_mode: None };
        let sent = desk.office().decide_plan(team, sender, &request, &answer)?;
        let what = if approved { "approved" } else { "rejected" };
        told(&format!("plan {request} of {} {what}", sent.to), &sent, json!({}))
    }

    fn plan_request(self, desk: &Desk, team: &TeamName, sender: &MemberName) -> Result<Answer, Trouble> {
        let summary = Some(self.summary).filter(|summary| !summary.is_empty());
        let plan = Plan { text: self.content, summary, ..Plan::default() };
        let asked = desk.office().submit_plan(team, sender, &plan, None)?;
        let more = json!({ "request_id": asked.request, "target": asked.sent.to });
        told(&format!("the plan is with {}", asked.sent.to), &asked.sent, more)
    }

    fn recipient(&self) -> Result<Address, Trouble> {
        if self.recipient.is_empty() {
            return Err(Trouble::new("recipient is missing").hint(Hint::ListMembers));
        }
        Ok(self.recipient.parse()?)
    }

    fn decision(&self) -> Result<bool, Trouble> {
        self.approve.ok_or_else(|| Trouble::new("approve is missing: true or false"))
    }

    fn letter(self, to: Address) -> Letter {
        let summary = Some(self.summary).filter(|summary| !summary.trim().is_empty());
        Letter { summary, ..Letter::new(to, self.content) }
    }
}

/// The newest plan of a member that nobody has decided.
fn open_plan(desk: &Desk, team: &TeamName, of: &MemberName) -> Result<String, Trouble> {
    let mut newest_first = desk.office().plans(team)?.into_iter().rev();
    let open = newest_first.find(|plan| plan.from == of.as_str() && plan.state == PlanState::Open);
    open.map(|plan| plan.request)
        .ok_or_else(|| Trouble::new(format!("{of} has no plan that waits for a decision")))
}

/// What became of a message, with what its sender should know.
pub(super) fn told(message: &str, sent: &Sent, more: Value) -> Result<Answer, Trouble> {
    let mut body = json!({ "success": true, "message": message, "id": sent.id, "stage": sent.stage });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    Ok(Answer::object(&body)?.noting(sent.warnings.clone()))
}
