//! Progress of a task: the request to its owner, and the answer.

use atm_wire::payload::{Content, Payload, TaskStatusResponse, classify};
use atm_wire::task::{Status, TaskId};
use atm_wire::{Address, MemberName, TeamName};
use serde_json::{Map, Value};

use super::{TaskError, Tasks};
use crate::error::OfficeError;
use crate::mail::send::{SendOptions, Sent};

const REQUEST: &str = "task_status_request";

/// How far a task is.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Percent done.
    pub percent: Option<f64>,
    /// When it should be done.
    pub eta: Option<String>,
    /// What is said of it; the task's own status unless it is given.
    pub status: Option<Status>,
    /// The question that this answers; without one, the newest about this task.
    pub request: Option<String>,
}

impl Tasks<'_> {
    /// Asks who has a task how far it is; gives the id that the answer will carry, and who was asked.
    pub fn ask(&self, who: &MemberName, id: TaskId) -> Result<(String, MemberName, Sent), OfficeError> {
        let owner = self.get(id)?.owner.ok_or(TaskError::NoOwner { id })?;
        let owner = MemberName::parse(&owner)?;
        let data = Map::from_iter([("taskId".to_owned(), Value::from(id.to_string()))]);
        let to = Address { name: owner.clone(), team: None };
        let (request, sent) = self.team.request(who, to, REQUEST, data, SendOptions::default())?;
        Ok((request, owner, sent))
    }

    /// Reports how far a task is: to the member that asked, or else to the lead.
    pub fn answer(&self, who: &MemberName, id: TaskId, progress: &Progress) -> Result<Sent, OfficeError> {
        let task = self.get(id)?;
        let request = match &progress.request {
            Some(request) => Some(request.clone()),
            None => self.open_question(who, id)?,
        };
        let status = progress.status.as_ref().unwrap_or(&task.status).to_string();
        let Some(request) = request else {
            let lead = self.team.lead()?.clone();
            let response = TaskStatusResponse {
                task_id: Some(id.to_string()),
                status: Some(status),
                progress: progress.percent,
                eta: progress.eta.clone(),
                ..TaskStatusResponse::default()
            };
            return self.team.send_payload(who, lead, response);
        };
        let mut data = Map::new();
        data.insert("taskId".to_owned(), id.to_string().into());
        data.insert("status".to_owned(), status.into());
        if let Some(percent) = progress.percent {
            // 40, not 40.0, as everybody else writes it.
            let number = serde_json::from_str(&percent.to_string()).unwrap_or_else(|_| percent.into());
            data.insert("progress".to_owned(), number);
        }
        if let Some(eta) = &progress.eta {
            data.insert("eta".to_owned(), eta.clone().into());
        }
        self.team.respond(who, &request, data, SendOptions::default())
    }

    /// The newest question about a task that was put to `who` and has no answer.
    fn open_question(&self, who: &MemberName, id: TaskId) -> Result<Option<String>, OfficeError> {
        self.team.catch_up()?;
        let inbox = self.team.inbox_key(who);
        let open = self.team.office().books.with(|ledger| ledger.open_requests(&inbox, REQUEST))?;
        let is_about = |text: &str| match classify(text, None) {
            Content::Protocol(parsed) => match parsed.payload {
                Payload::TaskStatusRequest(asked) => asked.task_id == Some(id.to_string()),
                _ => false,
            },
            Content::Text => false,
        };
        Ok(open.into_iter().rev().find(|asked| is_about(&asked.text)).and_then(|asked| asked.request_id))
    }

    /// The team.
    pub fn team(&self) -> &TeamName {
        self.team.name()
    }
}
