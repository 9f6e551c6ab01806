//! Asking whether a member is alive, and telling everybody that one is not.

use std::time::Duration;

use atm_ledger::Recorded;
use atm_store::fresh_id;
use atm_wire::payload::{Content, HealthCheck, Heartbeat, Payload, StallAlert, classify};
use atm_wire::{Address, MemberName, Stamp};
use serde::Serialize;

use crate::error::OfficeError;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::team::Team;

const CHECK: &str = "health_check";
const HEARTBEAT: &str = "heartbeat";

/// The answer to a health check.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Who answered.
    pub name: MemberName,
    /// The check.
    pub request: String,
    /// How long it took, in milliseconds.
    pub after_ms: i64,
    /// The task that the member works on.
    pub task: Option<String>,
    /// Percent done.
    pub progress: Option<f64>,
    /// When it answered.
    pub timestamp: Stamp,
    /// The heartbeat's message.
    pub id: String,
}

impl Team<'_> {
    /// Asks a member whether it is alive: the check's id, and what became of its message.
    pub fn ask_health(&self, from: &MemberName, name: &MemberName) -> Result<(String, Sent), OfficeError> {
        self.member(name)?;
        let request = format!("hc-{}", fresh_id().simple());
        let payload = HealthCheck { request_id: Some(request.clone()) };
        let sent = self.send_payload(from, name.clone(), payload)?;
        Ok((request, sent))
    }

    /// Waits for the heartbeat that answers a check; file events wake it.
    pub fn wait_for_heartbeat(
        &mut self,
        name: &MemberName,
        request: &str,
        asked: Stamp,
        timeout: Duration,
    ) -> Result<Checked, OfficeError> {
        let (office, team) = (self.office(), self.name().to_string());
        let root = office.root_key();
        let beat = self.wait_until(timeout, || {
            let since = asked.saturating_sub(Duration::from_secs(1)).as_millis();
            let beats =
                office.books.with(|ledger| ledger.sent_by(&root, &team, name.as_str(), HEARTBEAT, since))?;
            // One that names another check answers that one.
            let answers = |m: &Recorded| {
                Stamp::from_millis(m.sent_at).may_be_since(asked)
                    && m.request_id.as_deref().is_none_or(|id| id == request)
            };
            Ok(beats.into_iter().find(answers))
        })?;
        let beat = beat.ok_or_else(|| OfficeError::NoAnswer {
            who: name.to_string(),
            request: request.to_owned(),
            within: timeout,
        })?;
        let said = said(&beat);
        Ok(Checked {
            name: name.clone(),
            request: request.to_owned(),
            after_ms: (beat.sent_at - asked.as_millis()).max(0),
            task: said.task_id,
            progress: said.progress_percent,
            timestamp: Stamp::from_millis(beat.sent_at),
            id: beat.id,
        })
    }

    /// Tells everybody but the lead itself that a member does not answer, and which tasks are free.
    pub fn stall_alert(
        &self,
        from: &MemberName,
        stalled: &MemberName,
        released: &[String],
    ) -> Result<Vec<Result<Sent, OfficeError>>, OfficeError> {
        self.member(stalled)?;
        let payload =
            StallAlert { stalled_agent: Some(stalled.to_string()), released_tasks: released.to_vec() };
        let to = Address { name: stalled.clone(), team: None };
        let letter = Letter::new(to, Payload::from(payload).to_text());
        self.broadcast(from, &letter, None, SendOptions::default())
    }

    /// The health checks that somebody has not answered, oldest first.
    pub(crate) fn open_checks(&self, who: &MemberName) -> Result<Vec<Recorded>, OfficeError> {
        self.catch_up()?;
        let inbox = self.inbox_key(who);
        let mut open = self.office().books.with(|ledger| ledger.open_requests(&inbox, CHECK))?;
        open.retain(|check| check.request_id.is_some() && MemberName::parse(&check.sender).is_ok());
        Ok(open)
    }
}

/// What a heartbeat says.
pub(crate) fn said(beat: &Recorded) -> Heartbeat {
    match classify(&beat.text, Some(&beat.kind)) {
        Content::Protocol(parsed) => match parsed.payload {
            Payload::Heartbeat(said) => said,
            _ => Heartbeat::default(),
        },
        Content::Text => Heartbeat::default(),
    }
}
