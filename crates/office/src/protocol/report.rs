//! What a member tells its lead about itself: idle, or alive and this far.

use atm_ledger::Recorded;
use atm_store::Layout;
use atm_wire::MemberName;
use atm_wire::payload::{Heartbeat, IdleNotification};
use atm_wire::status::State;

use crate::error::OfficeError;
use crate::mail::partly::{After, Done};
use crate::mail::send::Sent;
use crate::tasks::TaskFilter;
use crate::team::Team;

/// Why a member has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdleReason {
    /// It has finished its turn.
    #[default]
    Available,
    /// It was interrupted.
    Interrupted,
    /// It waits for somebody's answer.
    WaitingResponse,
    /// It has completed its task.
    TaskComplete,
    /// No task is its own.
    NoAssignedTasks,
}

impl IdleReason {
    /// The spelling in the payload.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Interrupted => "interrupted",
            Self::WaitingResponse => "waiting_response",
            Self::TaskComplete => "task_complete",
            Self::NoAssignedTasks => "no_assigned_tasks",
        }
    }
}

impl IdleReason {
    /// Whether the task that is named with it was completed.
    fn ends_a_task(self) -> bool {
        matches!(self, Self::TaskComplete | Self::NoAssignedTasks)
    }
}

/// A member has nothing to do.
#[derive(Debug, Clone, Default)]
pub struct Idle {
    /// Why.
    pub reason: IdleReason,
    /// The task it has just finished with.
    pub task: Option<String>,
    /// What there is to say.
    pub summary: Option<String>,
}

/// A member is alive.
#[derive(Debug, Clone, Default)]
pub struct Alive {
    /// The task it works on.
    pub task: Option<String>,
    /// Percent done.
    pub progress: Option<f64>,
    /// The health check that it answers; without one, all that are open.
    pub request: Option<String>,
}

impl Team<'_> {
    /// `who` tells its lead that it has nothing to do.
    pub fn idle(&self, who: &MemberName, idle: &Idle) -> Result<Sent, OfficeError> {
        self.member(who)?;
        let lead = self.lead()?.clone();
        // Readers of the log layout use other keys than clients do.
        let in_log = self.mailbox(&lead).layout() == Layout::Log;
        let completed = idle.task.clone().filter(|_| in_log && idle.reason.ends_a_task());
        let payload = IdleNotification {
            from: Some(who.to_string()),
            timestamp: Some(self.office().now()),
            idle_reason: Some(idle.reason.as_str().to_owned()),
            summary: idle.summary.clone(),
            completed_task_id: idle.task.clone(),
            last_task_completed: completed,
            reason: in_log.then(|| idle.reason.as_str().to_owned()),
            ..IdleNotification::default()
        };
        let mut sent = self.send_payload(who, lead, payload)?;
        sent.warnings.extend(self.report_self(who, State::Idle));
        Ok(sent)
    }

    /// Keeps the member's report of itself current. The message is sent, so what goes wrong here is told, not raised.
    fn report_self(&self, who: &MemberName, state: State) -> Option<String> {
        let reported = self.status_changed(who, state, None, self.office().now());
        reported.err().map(|error| format!("{who}'s report is not changed: {error}"))
    }

    /// `who` tells its lead that it is alive, and everybody else who had asked. The lead's answer stands first.
    pub fn heartbeat(&self, who: &MemberName, alive: &Alive) -> Result<Vec<Sent>, OfficeError> {
        self.member(who)?;
        let beat = |request: Option<String>| Heartbeat {
            task_id: alive.task.clone(),
            progress_percent: alive.progress,
            request_id: request,
        };
        let mut open = self.open_checks(who)?;
        if let Some(request) = &alive.request {
            let is_meant = |check: &Recorded| check.request_id.as_ref() == Some(request);
            if !open.iter().any(is_meant) {
                return Err(OfficeError::NotOpen {
                    who: who.to_string(),
                    request: Some(request.clone()),
                    why: format!("there is no open health check {request:?} for {who}"),
                    open: open.into_iter().filter_map(|check| check.request_id).collect(),
                });
            }
            open.retain(is_meant);
        }
        let lead = self.lead()?.clone();
        open.sort_by_key(|check| check.sender != lead.as_str());
        // The lead is told in any case; who asked, by the answer to that, also somebody who has no inbox yet.
        let has_asked = open.first().is_some_and(|check| check.sender == lead.as_str());
        let unasked = (!has_asked).then_some(None);
        let mut sent: Vec<Sent> = Vec::new();
        for check in unasked.into_iter().chain(open.iter().map(Some)) {
            let one = match check {
                None => self.send_payload(who, lead.clone(), beat(None)),
                Some(check) => self.answer_with(who, check, beat(check.request_id.clone())),
            };
            sent.push(match sent.last() {
                None => one?,
                Some(before) => one.after(|| Done::Sent(format!("message {}", before.id)))?,
            });
        }
        if let Some(first) = sent.first_mut() {
            first.warnings.extend(self.renew_claims(who, alive.task.as_deref()));
            first.warnings.extend(self.report_self(who, State::Running));
        }
        Ok(sent)
    }

    /// Who is alive keeps its claims: that of the task it names, else all. What goes wrong is told, not raised.
    fn renew_claims(&self, who: &MemberName, task: Option<&str>) -> Vec<String> {
        let renew = || -> Result<Vec<String>, OfficeError> {
            let tasks = self.tasks();
            let filter = TaskFilter { owner: Some(who.to_string()), ..TaskFilter::default() };
            let mut claimed = tasks.list(&filter)?.tasks;
            claimed.retain(|claim| claim.lease.is_some());
            claimed.retain(|claim| task.is_none_or(|task| claim.id.to_string() == task));
            let now = self.office().now();
            let failed = claimed.iter().filter_map(|claim| tasks.renew(who, claim.id, now).err());
            Ok(failed.map(|error| format!("the claim is not renewed: {error}")).collect())
        };
        renew().unwrap_or_else(|error| vec![format!("the claims are not renewed: {error}")])
    }
}
