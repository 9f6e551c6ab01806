//! A task as fronts show it: the `--json` shape, which is a promise.

use atm_wire::Stamp;
use atm_wire::task::{Status, Task, TaskId};
use serde::Serialize;
use serde_json::value::RawValue;

use super::graph::Graph;
use crate::mail::send::Sent;

/// A task as fronts show it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its number.
    pub id: TaskId,
    /// The title.
    pub subject: String,
    /// All that is to be done.
    pub description: String,
    /// What to show while it is being done.
    pub active_form: Option<String>,
    /// How far it is.
    pub status: Status,
    /// Whose it is.
    pub owner: Option<String>,
    /// The tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// The tasks that it waits for, done or not.
    pub blocked_by: Vec<TaskId>,
    /// Of these, those that are not done.
    pub waits_for: Vec<TaskId>,
    /// Whether anybody could claim it now.
    pub ready: bool,
    /// The owner's lease, if it is claimed and not done.
    pub lease: Option<LeaseView>,
    /// The machine that made it and has not told the other machines of its team yet: its number may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_on: Option<String>,
    /// What programs added, as it stands.
    pub metadata: Option<Box<RawValue>>,
}

/// For how long an owner has a task.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    /// When it was claimed, or renewed.
    pub claimed_at: Stamp,
    /// When it ends.
    pub expires_at: Stamp,
    /// Whether it has ended.
    pub expired: bool,
}

impl TaskView {
    pub(super) fn new(id: TaskId, task: &Task, graph: &Graph, now: Stamp) -> Self {
        let waits_for = graph.blockers(id);
        let is_open = task.status != Status::Completed;
        let lease = task.lease().filter(|_| is_open && task.owner.is_some());
        Self {
            id,
            subject: task.subject.clone(),
            description: task.description.clone(),
            active_form: task.active_form.clone(),
            status: task.status.clone(),
            owner: task.owner.clone(),
            blocks: graph.after(id),
            blocked_by: graph.before(id),
            ready: is_open && waits_for.is_empty() && holder(task, now).is_none(),
            waits_for,
            lease: lease.map(|lease| LeaseView {
                claimed_at: lease.claimed_at,
                expires_at: lease.expires_at(),
                expired: !lease.is_live(now),
            }),
            made_on: task.made_on(),
            metadata: task.metadata.clone(),
        }
    }
}

/// Who has a task, and until when. Nobody has one whose lease is over.
pub(super) fn holder(task: &Task, now: Stamp) -> Option<(&str, Option<Stamp>)> {
    let owner = task.owner.as_deref()?;
    match task.lease() {
        Some(lease) if !lease.is_live(now) => None,
        lease => Some((owner, lease.map(|lease| lease.expires_at()))),
    }
}

/// What came of a change, and of the message about it.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The task as it is now.
    pub task: TaskView,
    /// It is in the file here, and a request to the other machines of its team: they could not be asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requested: bool,
    /// The message about it, if one was sent.
    pub sent: Option<Sent>,
    /// The tasks that can begin now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unblocked: Vec<TaskId>,
    /// What went wrong beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
