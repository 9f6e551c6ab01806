//! Requests that wait for somebody's decision, and waiting for it.

use std::time::{Duration, Instant};

use atm_ledger::{Recorded, Stage};
use atm_store::Bell;
use atm_store::watch::FolderWatch;
use atm_wire::payload::{Content, Payload, classify};
use atm_wire::{MemberName, Stamp, TeamName};
use serde::Serialize;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::mail::send::Sent;
use crate::office::Office;
use crate::team::Team;

/// Who names a wrong request is told so many of the right ones.
const NAMED: usize = 3;

/// A request with what became of its message.
#[derive(Debug, Clone, Serialize)]
pub struct Asked {
    /// The id that its answer will carry.
    pub request: String,
    /// The message.
    pub sent: Sent,
    /// The answer, if it was waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Decision>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The request.
    pub request: String,
    /// Who decided.
    pub from: String,
    /// Yes or no.
    pub approved: bool,
    /// What was said about it.
    pub feedback: Option<String>,
    /// The mode to go on in, for a plan.
    #[serde(rename = "permissionMode", skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// When.
    pub timestamp: Stamp,
    /// The message.
    pub id: String,
}

impl Decision {
    /// What a message decides, if it decides anything.
    pub(crate) fn read(message: &Recorded) -> Option<Self> {
        let Content::Protocol(parsed) = classify(&message.text, Some(&message.kind)) else { return None };
        let (approved, feedback, permission_mode) = match parsed.payload {
            Payload::ShutdownApproved(_) => (true, None, None),
            Payload::ShutdownRejected(said) => (false, said.reason, None),
            Payload::ShutdownResponse(said) => (said.approved?, said.content, None),
            Payload::PlanApprovalResponse(said) => (said.approved?, said.feedback, said.permission_mode),
            _ => return None,
        };
        Some(Self {
            request: message.request_id.clone()?,
            from: message.sender.clone(),
            approved,
            feedback,
            permission_mode,
            timestamp: Stamp::from_millis(message.sent_at),
            id: message.id.clone(),
        })
    }
}

impl Team<'_> {
    /// The open request of that type and id that was put to `who`; an error that says why there is none.
    pub(crate) fn open_request(
        &self,
        who: &MemberName,
        kind: &str,
        request: &str,
    ) -> Result<Recorded, OfficeError> {
        self.catch_up()?;
        let (office, team) = (self.office(), self.name().as_str());
        let root = office.root_key();
        let about = office.books.with(|ledger| ledger.request(&root, request))?;
        let refuse = |why: String| {
            let inbox = self.inbox_key(who);
            let open = office.books.with(|ledger| ledger.open_requests(&inbox, kind)).unwrap_or_default();
            let open = open.into_iter().rev().filter_map(|asked| asked.request_id).take(NAMED).collect();
            Err(OfficeError::NotOpen { who: who.to_string(), request: Some(request.to_owned()), why, open })
        };
        let Some(asked) = about.into_iter().find(|m| m.kind == kind && m.inbox.team == team) else {
            return refuse(format!("there is no {kind} {request:?}"));
        };
        if asked.inbox.name != who.as_str() {
            return refuse(format!("request {request} was put to {}", asked.inbox.name));
        }
        match asked.stage {
            Stage::Done => refuse(format!("request {request} has its answer already")),
            Stage::Failed | Stage::Expired => refuse(format!("request {request} is not open any more")),
            _ => Ok(asked),
        }
    }

    /// The request that is meant: the named one, else the newest that is open.
    pub(crate) fn which_request(
        &self,
        who: &MemberName,
        kind: &str,
        named: Option<&str>,
    ) -> Result<Recorded, OfficeError> {
        if let Some(request) = named {
            return self.open_request(who, kind, request);
        }
        self.catch_up()?;
        let inbox = self.inbox_key(who);
        let open = self.office().books.with(|ledger| ledger.open_requests(&inbox, kind))?;
        open.into_iter().last().ok_or_else(|| OfficeError::NotOpen {
            who: who.to_string(),
            request: None,
            why: format!("there is no open {kind} for {who}"),
            open: Vec::new(),
        })
    }

    /// Waits for the decision on a request; file events wake it. The answer stays unread.
    pub(crate) fn wait_for_decision(
        &mut self,
        asked: &MemberName,
        request: &str,
        timeout: Duration,
    ) -> Result<Decision, OfficeError> {
        let office = self.office();
        let root = office.root_key();
        let decided = self.wait_until(timeout, || {
            let about = office.books.with(|ledger| ledger.request(&root, request))?;
            Ok(about.iter().filter(|message| message.sender == asked.as_str()).find_map(Decision::read))
        });
        let decided = decided.after(|| Done::Sent(format!("request {request}")))?;
        decided.ok_or_else(|| OfficeError::NoAnswer {
            who: asked.to_string(),
            request: request.to_owned(),
            within: timeout,
        })
    }

    /// Looks, brought up to date at each event in the team's mail, until there is something or the time is over.
    pub(crate) fn wait_until<T>(
        &mut self,
        timeout: Duration,
        mut look: impl FnMut() -> Result<Option<T>, OfficeError>,
    ) -> Result<Option<T>, OfficeError> {
        let deadline = Instant::now() + timeout;
        let mut watch = self.office().mail_watch(self.name());
        loop {
            self.look()?;
            if let Some(found) = look()? {
                return Ok(Some(found));
            }
            if !watch.wait(Some(deadline)) {
                return Ok(None);
            }
            // Members may have come meanwhile. A configuration that cannot be read now stays as it was.
            let _ = self.reload();
        }
    }
}

impl Office {
    /// `<stem>-<milliseconds>@<name>`, as clients spell it, and one that is not in use.
    pub(crate) fn request_id(&self, stem: &str, name: &MemberName) -> Result<String, OfficeError> {
        let root = self.root_key();
        let mut milliseconds = self.now().as_millis();
        loop {
            let request = format!("{stem}-{milliseconds}@{name}");
            if self.books.with(|ledger| ledger.request(&root, &request))?.is_empty() {
                return Ok(request);
            }
            milliseconds += 1;
        }
    }

    /// A watch over all inboxes of a team, and over what other machines tell.
    pub(crate) fn mail_watch(&self, team: &TeamName) -> FolderWatch {
        self.hub.folders(self.mail_folders(team).into_iter().chain(Bell::of(&self.state).folder()))
    }
}
