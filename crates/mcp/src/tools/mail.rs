//! Sending, and the answers to requests.

use std::time::Duration;

use atm_office::mail::send::{Letter, SendOptions, Sent};
use atm_office::protocol::plan::{Plan, PlanAnswer, PlanState};
use atm_office::protocol::shutdown::Dialect;
use atm_office::sessions::Route;
use atm_office::{Hint, Team};
use atm_store::watch::Stop;
use atm_wire::message::Priority;
use atm_wire::stamp::parse_duration;
use atm_wire::{Address, MemberName};
use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Effect};
use crate::answer::Answer;
use crate::arguments;
use crate::desk::Desk;
use crate::hint::{self, Toolbox};
use crate::trouble::Trouble;

/// Longer than anybody waits.
const LONGEST_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Of so many recipients a receipt names each, with its id.
const FEW: usize = 5;

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
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
    #[serde(default)]
    r#type: Kind,
    #[serde(default)]
    recipient: String,
    #[serde(default)]
    content: String,
    /// 5 to 10 words
    #[serde(default)]
    summary: String,
    /// Id of the message it answers
    #[serde(default)]
    reply_to: String,
    /// Wants an ack within: 10m, 1h
    #[serde(default)]
    ack_by: String,
    #[serde(default)]
    #[schemars(schema_with = "priorities")]
    priority: Option<Priority>,
    #[serde(default)]
    request_id: String,
    approve: Option<bool>,
    sender: Option<String>,
}

fn priorities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Priority::ALL })
}

impl Call for SendMessage {
    const NAME: &'static str = "send_message";
    const ABOUT: &'static str = "Send mail. message (recipient, content, summary); broadcast to all (content, summary); \
                                 shutdown_request (recipient, content: reason), answered by shutdown_response (request_id, \
                                 approve); plan_approval_request to the lead (content: plan), answered by \
                                 plan_approval_response (recipient, request_id, approve, content: feedback).";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"type": "message", "recipient": "bob", "content": "The build is green", "summary": "Build green"}"#;
    const REQUIRED: &'static [&'static str] = &["team_name"];
    const OWN_NAME: Option<&'static str> = Some("sender");
    const CORE: bool = true;

    fn for_members(about: &mut &'static str, schema: &mut JsonObject) {
        *about = "Send mail. message (recipient, content, summary); broadcast to all (content, summary); \
                  shutdown_response to a shutdown_request (request_id, approve, content: reason); \
                  plan_approval_request to the lead (content: plan).";
        arguments::hide_choices(schema, "type", &["shutdown_request", "plan_approval_response"]);
    }

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        if matches!(self.r#type, Kind::Message) {
            return if self.reply_to.trim().is_empty() { self.message(desk) } else { self.reply(desk) };
        }
        let mut team = desk.open(self.team_name.as_deref())?;
        let sender = desk.sender(&team, self.sender.as_deref())?;
        match self.r#type {
            Kind::Message | Kind::Broadcast => self.broadcast(&team, &sender),
            Kind::ShutdownRequest => self.shutdown_request(&mut team, &sender),
            Kind::ShutdownResponse => self.shutdown_response(&team, &sender),
            Kind::PlanApprovalResponse => self.plan_response(&team, &sender),
            Kind::PlanApprovalRequest => self.plan_request(&mut team, &sender),
        }
    }
}

impl SendMessage {
    fn message(self, desk: &Desk) -> Result<Answer, Trouble> {
        if self.recipient.is_empty() {
            return Err(missing_recipient());
        }
        let (route, sender) =
            desk.route(self.team_name.as_deref(), self.sender.as_deref(), &self.recipient)?;
        check_other(&route, &sender)?;
        let letter = self.letter(route.to)?;
        let letter = Letter { session: route.session, ..letter };
        let sent = route.team.send(&sender, &letter, SendOptions::default())?;
        told(&format!("{} for {}", sent.stage_words(), sent.to), &sent, json!({}))
    }

    fn reply(self, desk: &Desk) -> Result<Answer, Trouble> {
        let has = |team: &Team<'_>, who: &MemberName| team.find_message(who, &self.reply_to).is_ok();
        let (team, sender) = desk.answerer(self.team_name.as_deref(), self.sender.as_deref(), has)?;
        let route = if self.recipient.is_empty() {
            None
        } else {
            let (route, _) =
                desk.route(Some(team.name().as_str()), self.sender.as_deref(), &self.recipient)?;
            check_other(&route, &sender)?;
            Some((route.to, route.session))
        };
        let original = self.reply_to.clone();
        let letter = self.letter(Address { name: sender.clone(), team: None })?;
        let answer = |asker| match route {
            Some((to, session)) => Letter { to, session, ..letter },
            None => Letter { to: asker, ..letter },
        };
        let sent = team.reply(&sender, &original, answer, SendOptions::default())?;
        told(&format!("{} for {}", sent.stage_words(), sent.to), &sent, json!({}))
    }

    fn broadcast(self, team: &Team<'_>, sender: &MemberName) -> Result<Answer, Trouble> {
        let letter = self.letter(Address { name: sender.clone(), team: None })?;
        let letter = Letter { reply_to: None, ..letter };
        let sent = team.broadcast(sender, &letter, None, SendOptions::default())?;
        let (ids, troubles): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
        let sent: Vec<Sent> = ids.into_iter().flatten().collect();
        let failed: Vec<String> =
            troubles.into_iter().filter_map(Result::err).map(|error| format!("not sent: {error}")).collect();
        if sent.is_empty() {
            return Err(Trouble::new(failed.join("; ")));
        }
        let mut body = json!({ "success": failed.is_empty(), "message": format!("sent to {}", sent.len()) });
        // Of a crowd nobody needs each id, and each would be paid for: search_mail has them.
        if sent.len() <= FEW {
            let to: Vec<&str> = sent.iter().map(|sent| sent.to.as_str()).collect();
            body["message"] = format!("sent to {}", to.join(", ")).into();
            body["ids"] = sent.iter().map(|sent| sent.id.as_str()).collect();
        }
        let answer = Answer::object(&body)?;
        let advice = sent.first().and_then(advice);
        let warnings = sent.iter().flat_map(|sent| sent.warnings.clone());
        Ok(answer.noting(warnings).noting(advice).noting(failed))
    }

    fn shutdown_request(self, team: &mut Team<'_>, sender: &MemberName) -> Result<Answer, Trouble> {
        let to = self.recipient()?.name;
        if to == *sender {
            return Err(Trouble::new("you cannot ask yourself to shut down"));
        }
        let reason = Some(self.content).filter(|reason| !reason.is_empty());
        let asked = team.request_shutdown(sender, &to, reason, None)?;
        let more = json!({ "request_id": asked.request, "target": to });
        told(&format!("{to} was asked to shut down"), &asked.sent, more)
    }

    fn shutdown_response(self, team: &Team<'_>, sender: &MemberName) -> Result<Answer, Trouble> {
        let request = Some(self.request_id.as_str()).filter(|id| !id.is_empty());
        if self.decision()? {
            let sent = team.approve_shutdown(sender, request, Dialect::Client)?;
            let mut answer = told("shutdown approved; end your work now", &sent, json!({}))?;
            answer.ending = Some((team.name().clone(), sender.clone()));
            return Ok(answer);
        }
        let reason = if self.content.is_empty() { "still at work".to_owned() } else { self.content };
        let sent = team.reject_shutdown(sender, request, reason, Dialect::Client)?;
        told("shutdown rejected", &sent, json!({}))
    }

    fn plan_response(self, team: &Team<'_>, sender: &MemberName) -> Result<Answer, Trouble> {
        let approved = self.decision()?;
        let to = self.recipient()?.name;
        let request = if self.request_id.is_empty() { open_plan(team, &to)? } else { self.request_id };
        let feedback = Some(self.content).filter(|feedback| !feedback.is_empty());
        let answer = PlanAnswer { approved, feedback, permission_mode: None };
        let sent = team.decide_plan(sender, &request, &answer)?;
        let what = if approved { "approved" } else { "rejected" };
        told(&format!("plan {request} of {} {what}", sent.to), &sent, json!({}))
    }

    fn plan_request(self, team: &mut Team<'_>, sender: &MemberName) -> Result<Answer, Trouble> {
        let summary = Some(self.summary).filter(|summary| !summary.is_empty());
        let plan = Plan { text: self.content, summary, ..Plan::default() };
        let asked = team.submit_plan(sender, &plan, None)?;
        let more = json!({ "request_id": asked.request, "target": asked.sent.to });
        told(&format!("the plan is with {}", asked.sent.to), &asked.sent, more)
    }

    fn recipient(&self) -> Result<Address, Trouble> {
        if self.recipient.is_empty() {
            return Err(missing_recipient());
        }
        Ok(self.recipient.parse()?)
    }

    fn decision(&self) -> Result<bool, Trouble> {
        self.approve.ok_or_else(|| {
            Trouble::new("approve is missing: true or false").hint(
                r#"For example send_message {"type": "shutdown_response", "request_id": "…", "approve": true}"#,
            )
        })
    }

    fn letter(self, to: Address) -> Result<Letter, Trouble> {
        let given = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let ack_by = given(self.ack_by).map(|text| time_span(&text)).transpose()?;
        Ok(Letter {
            summary: given(self.summary),
            priority: self.priority.unwrap_or_default(),
            reply_to: given(self.reply_to),
            ack_by,
            ..Letter::new(to, self.content)
        })
    }
}

/// Refuses a letter to its own sender.
fn check_other(route: &Route<'_>, sender: &MemberName) -> Result<(), Trouble> {
    let is_own_team = route.to.team.as_ref().is_none_or(|team| team == route.team.name());
    if route.to.name == *sender && is_own_team && route.session.is_none() {
        return Err(Trouble::new("recipient: a message to yourself is not sent"));
    }
    Ok(())
}

fn missing_recipient() -> Trouble {
    Trouble::argument("recipient is missing").hint(Hint::ListMembers)
}

/// How long a message may wait for its acknowledgment.
fn time_span(text: &str) -> Result<Duration, Trouble> {
    let span = parse_duration(text).map(|span| span.min(LONGEST_SPAN));
    span.map_err(|error| Trouble::argument(format!("ack_by: {error}")).hint("Write 10m or 1h"))
}

/// The newest plan of a member that nobody has decided.
fn open_plan(team: &Team<'_>, of: &MemberName) -> Result<String, Trouble> {
    let mut newest_first = team.plans()?.into_iter().rev();
    let open = newest_first.find(|plan| plan.from == of.as_str() && plan.state == PlanState::Open);
    open.map(|plan| plan.request)
        .ok_or_else(|| Trouble::new(format!("{of} has no plan that waits for a decision")))
}

/// What its sender might do better.
fn advice(sent: &Sent) -> Option<String> {
    // What is said of mail needs no tool.
    sent.hint.as_ref().and_then(|hint| hint::words(hint, Toolbox::Core))
}

/// What became of a message, with what its sender should know.
pub(super) fn told(message: &str, sent: &Sent, more: Value) -> Result<Answer, Trouble> {
    let mut body = json!({ "success": true, "message": message, "id": sent.id });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    Ok(Answer::object(&body)?.noting(sent.warnings.clone()).noting(advice(sent)))
}
