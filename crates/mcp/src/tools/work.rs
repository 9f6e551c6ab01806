//! A member's own words: it has it, it is alive, it asks, it answers.

use std::time::Duration;

use atm_office::Team;
use atm_office::mail::send::SendOptions;
use atm_office::protocol::report::Alive;
use atm_store::watch::Stop;
use atm_wire::MemberName;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::inbox::{LONGEST_WAIT, longest_wait};
use super::mail::told;
use super::{Call, Effect, OF_MESSAGE};
use crate::answer::Answer;
use crate::arguments::TaskNumber;
use crate::desk::Desk;
use crate::page::{LONGEST_TEXT, part};
use crate::trouble::Trouble;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Ack {
    team_name: Option<String>,
    /// Or its last 8 characters
    message_id: String,
    text: Option<String>,
}

impl Call for Ack {
    const NAME: &'static str = "ack";
    const ABOUT: &'static str = "Tell a message's sender that you have it and act on it.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = OF_MESSAGE.example;
    const REQUIRED: &'static [&'static str] = OF_MESSAGE.required;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let has = |team: &Team<'_>, who: &MemberName| team.find_message(who, &self.message_id).is_ok();
        let (team, who) = desk.answerer(self.team_name.as_deref(), None, has)?;
        let sent = team.ack(&who, &self.message_id, self.text, SendOptions::default())?;
        told(&format!("{} is told", sent.to), &sent, json!({}))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Recall {
    team_name: Option<String>,
    /// Or `last`
    message_id: String,
}

impl Call for Recall {
    const NAME: &'static str = "recall";
    const ABOUT: &'static str = "Take back mail of yours that nobody has read.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = OF_MESSAGE.example;
    const REQUIRED: &'static [&'static str] = OF_MESSAGE.required;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let who = desk.actor(&team)?;
        let recalled = team.recall(&who, &self.message_id)?;
        let message = format!("recalled from {}", recalled.message.to);
        let answer =
            Answer::object(&json!({ "success": true, "message": message, "id": recalled.message.id }))?;
        Ok(answer.noting(recalled.warnings))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Heartbeat {
    team_name: Option<String>,
    task_id: Option<TaskNumber>,
    progress: Option<f64>,
    request_id: Option<String>,
}

impl Call for Heartbeat {
    const NAME: &'static str = "heartbeat";
    const ABOUT: &'static str =
        "Tell the lead that you are at work, and how far (percent). Answers health checks.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"task_id": "3", "progress": 60}"#;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        if self.progress.is_some_and(|progress| !(0.0..=100.0).contains(&progress)) {
            return Err(Trouble::argument("progress must be 0 to 100"));
        }
        let team = desk.open(self.team_name.as_deref())?;
        let who = desk.actor(&team)?;
        let alive = Alive {
            task: self.task_id.map(|task| task.0),
            progress: self.progress,
            request: self.request_id,
        };
        let sent = team.heartbeat(&who, &alive)?;
        let to: Vec<&str> = sent.iter().map(|sent| sent.to.as_str()).collect();
        let answer =
            Answer::object(&json!({ "success": true, "message": format!("told {}", to.join(", ")) }))?;
        Ok(answer.noting(sent.iter().flat_map(|sent| sent.warnings.clone())))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Request {
    team_name: Option<String>,
    recipient: String,
    /// Like `task_status_request`
    r#type: String,
    data: Option<Map<String, Value>>,
    #[serde(default = "longest_wait")]
    timeout_ms: u64,
}

impl Call for Request {
    const NAME: &'static str = "request";
    const ABOUT: &'static str = "Ask a teammate and wait for the answer; a late one is mail.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"recipient": "bob", "type": "task_status_request"}"#;
    const REQUIRED: &'static [&'static str] = &["recipient", "type"];
    const WAITS: bool = true;

    fn run(self, desk: &Desk, stop: &Stop) -> Result<Answer, Trouble> {
        let (route, who) = desk.route(self.team_name.as_deref(), None, &self.recipient)?;
        let asked = route.to.name.clone();
        let (data, options) = (self.data.unwrap_or_default(), SendOptions::default());
        let (request, sent) = route.request(&who, &self.r#type, data, options)?;
        let mut body = json!({ "request_id": request, "id": sent.id, "answer": null });
        let timeout = Duration::from_millis(self.timeout_ms.min(LONGEST_WAIT));
        let answer = route.team.wait_for_answer_until((&who, &asked), &request, timeout, stop);
        let answered = answer.is_ok();
        if let Ok(answer) = answer {
            body["answer"] =
                match answer.payload.as_ref().filter(|payload| payload.get().len() <= LONGEST_TEXT) {
                    Some(payload) => serde_json::from_str(payload.get()).unwrap_or_default(),
                    None => part(&answer.text, 0, LONGEST_TEXT).0.into(),
                };
            body["answer_id"] = answer.id.into();
        }
        let wait = (!answered).then(|| format!("No answer yet; it will come as mail from {asked}."));
        Ok(Answer::object(&body)?.noting(sent.warnings).noting(wait))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Respond {
    team_name: Option<String>,
    request_id: String,
    data: Option<Map<String, Value>>,
}

impl Call for Respond {
    const NAME: &'static str = "respond";
    const ABOUT: &'static str = "Answer a message that has a requestId; once.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"request_id": "…", "data": {"progress": 60}}"#;
    const REQUIRED: &'static [&'static str] = &["request_id"];
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let has = |team: &Team<'_>, who: &MemberName| team.was_asked(who, &self.request_id);
        let (team, who) = desk.answerer(self.team_name.as_deref(), None, has)?;
        let data = self.data.unwrap_or_default();
        let sent = team.respond(&who, &self.request_id, data, SendOptions::default())?;
        told(&format!("{} has the answer", sent.to), &sent, json!({}))
    }
}
