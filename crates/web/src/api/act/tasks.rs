//! The shared task list: make, change, claim.

use atm_office::tasks::{Completion, TaskChange, TaskPlan};
use atm_wire::MemberName;
use atm_wire::task::{DEFAULT_LEASE, Status, TaskId};
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{actor, given, span};
use crate::api::exchange::{Answer, Given, Part, created, json};
use crate::api::look::task_id;
use crate::app::App;

/// A new task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewTask {
    team: Option<String>,
    /// Who makes it; `user` unless said
    r#as: Option<String>,
    subject: String,
    #[serde(default)]
    description: String,
    /// Whose it is
    owner: Option<String>,
    /// The numbers of tasks that it waits for
    #[serde(default)]
    blocked_by: Vec<String>,
}

/// Makes a task; its owner is told (`atm task create`)
#[utoipa::path(post, path = "/api/v1/tasks", tag = "act", request_body = NewTask,
    responses((status = 201, description = "The task", body = ref("#/components/schemas/task-outcome"))))]
pub(in crate::api) async fn create_task(State(app): State<App>, Given(new): Given<NewTask>) -> Answer {
    let blocked_by = new.blocked_by.iter().map(|id| task_id(id)).collect::<Result<Vec<TaskId>, _>>()?;
    let outcome = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let plan = TaskPlan {
            subject: new.subject,
            description: new.description,
            owner: given(new.owner).map(|owner| MemberName::parse(&owner)).transpose()?,
            blocked_by,
            ..TaskPlan::default()
        };
        let team = settings.office().team(&team)?;
        let who = actor(new.r#as.as_deref())?;
        team.check_sender(&who)?;
        Ok(team.tasks().create(&who, &plan)?)
    });
    created(&outcome.await?)
}

/// What changes of a task; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ChangedTask {
    team: Option<String>,
    /// Who changes it; `user` unless said
    r#as: Option<String>,
    /// Whose it is; nobody's, if it is empty
    owner: Option<String>,
    /// `pending`, `in_progress` or `completed`
    status: Option<Progress>,
    subject: Option<String>,
    description: Option<String>,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the words of the task list")]
enum Progress {
    Pending,
    InProgress,
    Completed,
}

impl From<Progress> for Status {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Pending => Self::Pending,
            Progress::InProgress => Self::InProgress,
            Progress::Completed => Self::Completed,
        }
    }
}

/// Changes a task (`atm task assign`, `release`, `complete`, `update`)
#[utoipa::path(post, path = "/api/v1/tasks/{id}", tag = "act", params(("id" = String, Path, description = "Its number")),
    request_body = ChangedTask,
    responses((status = 200, description = "The task", body = ref("#/components/schemas/task-outcome"))))]
pub(in crate::api) async fn change_task(
    State(app): State<App>,
    Part(id): Part,
    Given(new): Given<ChangedTask>,
) -> Answer {
    let id = task_id(&id)?;
    let outcome = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let who = actor(new.r#as.as_deref())?;
        team.check_sender(&who)?;
        let tasks = team.tasks();
        let is_more = new.subject.is_some() || new.description.is_some();
        let owner =
            new.owner.map(|owner| given(Some(owner)).map(|owner| MemberName::parse(&owner)).transpose());
        let owner = owner.transpose()?;
        // The same steps as the commands of these names.
        Ok(match (owner, new.status, is_more) {
            (Some(None), None, false) => tasks.release(&who, id)?,
            (None, Some(Progress::Completed), false) => {
                tasks.complete(&who, id, &Completion { tell: true, ..Completion::default() })?
            }
            (owner, status, _) => {
                let change = TaskChange {
                    subject: new.subject,
                    description: new.description,
                    status: status.map(Into::into),
                    owner,
                    ..TaskChange::default()
                };
                tasks.change(&who, id, &change)?
            }
        })
    });
    json(&outcome.await?)
}

/// A claim of a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewClaim {
    team: Option<String>,
    /// Who gets it
    r#as: Option<String>,
    /// Its number; the first that can be had, if it is left out
    task: Option<String>,
    /// For how long: 5m, 1h
    lease: Option<String>,
}

/// Claims a task for a time; of many, one gets it (`atm task claim`)
#[utoipa::path(post, path = "/api/v1/claims", tag = "act", request_body = NewClaim,
    responses((status = 201, description = "The task", body = ref("#/components/schemas/task-outcome"))))]
pub(in crate::api) async fn claim(State(app): State<App>, Given(new): Given<NewClaim>) -> Answer {
    let lease = span("lease", new.lease.as_deref())?.unwrap_or(DEFAULT_LEASE);
    let id = new.task.as_deref().map(task_id).transpose()?;
    let outcome = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let who = actor(new.r#as.as_deref())?;
        team.check_sender(&who)?;
        let tasks = team.tasks();
        Ok(match id {
            Some(id) => tasks.claim(&who, id, lease)?,
            None => tasks.claim_next(&who, lease)?,
        })
    });
    created(&outcome.await?)
}
