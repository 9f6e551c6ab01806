//! What is refused about tasks.

use atm_wire::task::{TaskId, TaskIdError};
use atm_wire::{Stamp, TeamName};

use crate::error::ErrorKind;
use crate::hint::Hint;

/// Why something does not happen to a task.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TaskError {
    /// There is no task of that number.
    #[error("team {team} has no task {id}")]
    NoTask {
        /// Where was looked.
        team: TeamName,
        /// Which.
        id: TaskId,
    },
    /// Nothing is free to be claimed.
    #[error("team {team} has no task that can be claimed now")]
    NoneReady {
        /// Where was looked.
        team: TeamName,
    },
    /// Somebody else has it.
    #[error("task {id} is held by {owner}{}", until.map(|until| format!(" until {until}")).unwrap_or_default())]
    Held {
        /// Which.
        id: TaskId,
        /// Who.
        owner: String,
        /// The end of the lease, if it has one.
        until: Option<Stamp>,
    },
    /// A member wanted to renew a claim that it does not hold.
    #[error("task {id} is not {who}'s")]
    NotHeld {
        /// Which.
        id: TaskId,
        /// Who wanted to.
        who: String,
    },
    /// It waits for others.
    #[error("task {id} waits for {}", list(by))]
    Blocked {
        /// Which.
        id: TaskId,
        /// For which.
        by: Vec<TaskId>,
    },
    /// It is done already.
    #[error("task {id} is completed already")]
    Completed {
        /// Which.
        id: TaskId,
    },
    /// Tasks would wait for each other.
    #[error("tasks would wait for each other: {}", path.join(" waits for "))]
    Cycle {
        /// From a task back to itself.
        path: Vec<String>,
    },
    /// Nobody can be asked how far it is.
    #[error("task {id} has no owner")]
    NoOwner {
        /// Which.
        id: TaskId,
    },
    /// A task without a title.
    #[error("a task needs a subject")]
    NoSubject,
    /// A key that claims are kept in.
    #[error("the metadata key {key:?} belongs to claims")]
    Reserved {
        /// Which.
        key: String,
    },
    /// The team is shared with other machines, and what they have in common cannot be reached.
    #[error("the tasks of {team} are shared with other machines, and {why}: nothing was changed")]
    Away {
        /// The team.
        team: TeamName,
        /// Why it cannot be reached.
        why: String,
    },
    /// What the machines have in common was asked, and did not answer in time.
    #[error(
        "the tasks of {team} are shared with other machines, and {why}: whether it was done is not known; ask again to learn it"
    )]
    Unsure {
        /// The team.
        team: TeamName,
        /// What is known.
        why: String,
    },
    /// What the machines have in common was lost: a claim may hold that only its own machine knows of.
    #[error(
        "the shared record of task {id} was lost and made again; who held it may hold it until {until}: nothing was changed"
    )]
    NotYet {
        /// Which.
        id: TaskId,
        /// Until when.
        until: Stamp,
    },
    /// A lease that is too long for a team on several machines.
    #[error("in a team that is shared with other machines a lease is at most {} minutes", most.as_secs() / 60)]
    LongLease {
        /// The longest.
        most: std::time::Duration,
    },
    /// No number of a task.
    #[error(transparent)]
    Id(#[from] TaskIdError),
}

impl TaskError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoTask { .. } | Self::NoneReady { .. } => ErrorKind::NotFound,
            Self::Held { .. }
            | Self::NotHeld { .. }
            | Self::Blocked { .. }
            | Self::Completed { .. }
            | Self::Cycle { .. }
            | Self::NoOwner { .. } => ErrorKind::Refused,
            Self::Away { .. } | Self::Unsure { .. } | Self::NotYet { .. } => ErrorKind::Busy,
            Self::NoSubject | Self::Reserved { .. } | Self::LongLease { .. } | Self::Id(_) => {
                ErrorKind::Invalid
            }
        }
    }

    /// A short, stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTask { .. } => "no_such_task",
            Self::NoneReady { .. } => "no_task_ready",
            Self::Held { .. } => "task_held",
            Self::NotHeld { .. } => "task_not_held",
            Self::Blocked { .. } => "task_blocked",
            Self::Completed { .. } => "task_completed",
            Self::Cycle { .. } => "task_cycle",
            Self::NoOwner { .. } => "task_without_owner",
            Self::NoSubject => "no_subject",
            Self::Reserved { .. } => "reserved_key",
            Self::Away { .. } => "tasks_out_of_reach",
            Self::Unsure { .. } => "task_outcome_unknown",
            Self::NotYet { .. } => "task_claims_unknown",
            Self::LongLease { .. } => "lease_too_long",
            Self::Id(_) => "bad_task_id",
        }
    }
}

impl TaskError {
    /// What may help.
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NoTask { .. } => Hint::ListTasks,
            Self::NoneReady { .. } => Hint::ListHolders,
            Self::Held { id, owner, until: None } => Hint::ReleaseTask { id: *id, owner: owner.clone() },
            Self::Held { .. } => Hint::ClaimAnother,
            Self::NotHeld { id, .. } => Hint::ShowTask { id: *id },
            Self::Blocked { id, .. } => Hint::UnblockTask { id: *id },
            Self::Completed { id } => Hint::ReopenTask { id: *id },
            Self::Cycle { .. } => Hint::ShowTaskGraph,
            Self::NoOwner { id } => Hint::AssignTask { id: *id },
            Self::Reserved { .. } => Hint::UseClaims,
            Self::Away { .. } | Self::Unsure { .. } => Hint::ShowBridge,
            Self::NotYet { .. } => Hint::TryThen,
            Self::NoSubject | Self::LongLease { .. } | Self::Id(_) => return None,
        })
    }
}

/// `task 3`, `tasks 3 and 4`, `tasks 3, 4 and 5`.
fn list(ids: &[TaskId]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    match ids.as_slice() {
        [one] => format!("task {one}"),
        [first @ .., last] => format!("tasks {} and {last}", first.join(", ")),
        [] => "nothing".to_owned(),
    }
}
