//! The shared task list.

use std::time::Duration;

use atm_office::tasks::{TaskChange, TaskError, TaskFilter, TaskPlan, TaskView};
use atm_store::watch::Stop;
use atm_wire::MemberName;
use atm_wire::task::{DEFAULT_LEASE, Status, TaskId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::{Call, Effect, OF_TASK};
use crate::answer::{Answer, to_value};
use crate::arguments::TaskNumber;
use crate::desk::Desk;
use crate::page::{BUDGET, LONGEST_TEXT, page, part};
use crate::squeeze::squeezed;
use crate::trouble::Trouble;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TaskCreate {
    team_name: Option<String>,
    subject: String,
    description: String,
    #[serde(default)]
    active_form: String,
    metadata: Option<Map<String, Value>>,
}

impl Call for TaskCreate {
    const NAME: &'static str = "task_create";
    const ABOUT: &'static str = "Make a task.";
    const EFFECT: Effect = Effect::Adds;
    const EXAMPLE: &'static str = r#"{"subject": "Parser", "description": "Write it, with tests"}"#;
    const REQUIRED: &'static [&'static str] = &["team_name", "subject", "description"];
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let who = desk.actor(&team)?;
        let kept = self.metadata.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null());
        let plan = TaskPlan {
            subject: self.subject,
            description: self.description,
            active_form: Some(self.active_form).filter(|form| !form.is_empty()),
            metadata: kept.map(|(key, value)| Ok((key, raw(&value)?))).collect::<Result<_, Trouble>>()?,
            ..TaskPlan::default()
        };
        let made = team.tasks().create(&who, &plan)?;
        brief(made.task.id, made.task.status.as_str(), made.warnings)
    }
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NewStatus {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TaskUpdate {
    team_name: Option<String>,
    task_id: TaskNumber,
    status: Option<NewStatus>,
    owner: Option<String>,
    subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    add_blocks: Option<Vec<TaskNumber>>,
    add_blocked_by: Option<Vec<TaskNumber>>,
    /// Merged; null removes a key
    metadata: Option<Map<String, Value>>,
}

impl Call for TaskUpdate {
    const NAME: &'static str = "task_update";
    const ABOUT: &'static str = "Change a task. A new owner is told, and the lead when it is completed.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = r#"{"task_id": "3", "status": "completed"}"#;
    const REQUIRED: &'static [&'static str] = OF_TASK.required;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let who = desk.actor(&team)?;
        let tasks = team.tasks();
        let id = number(&self.task_id)?;
        if matches!(self.status, Some(NewStatus::Deleted)) {
            tasks.delete(&who, id)?;
            return brief(id, "deleted", Vec::new());
        }
        let owner = self
            .owner
            .as_deref()
            .map(|owner| if owner.is_empty() { Ok(None) } else { MemberName::parse(owner).map(Some) });
        let metadata = self.metadata.unwrap_or_default().into_iter();
        let change = TaskChange {
            subject: self.subject,
            description: self.description,
            active_form: self.active_form,
            status: self.status.map(|status| match status {
                NewStatus::InProgress => Status::InProgress,
                NewStatus::Completed => Status::Completed,
                NewStatus::Pending | NewStatus::Deleted => Status::Pending,
            }),
            owner: owner.transpose()?,
            metadata: metadata
                .map(|(key, value)| Ok((key, if value.is_null() { None } else { Some(raw(&value)?) })))
                .collect::<Result<_, Trouble>>()?,
            ..TaskChange::default()
        };
        let before: Vec<TaskId> = numbers(self.add_blocked_by)?;
        let after: Vec<TaskId> = numbers(self.add_blocks)?;
        if !before.is_empty() {
            tasks.block(&who, id, &before, None)?;
        }
        for after in after {
            tasks.block(&who, after, &[id], None)?;
        }
        let waits_for = tasks.get(id)?.waits_for;
        if matches!(change.status, Some(Status::InProgress | Status::Completed)) && !waits_for.is_empty() {
            let error = atm_office::OfficeError::from(TaskError::Blocked { id, by: waits_for });
            return Err(Trouble::from(error).hint("Complete those first"));
        }
        let changed = tasks.change(&who, id, &change)?;
        let sent = changed.sent.iter();
        let told = sent.clone().map(|sent| format!("{} is told.", sent.to));
        let freed: Vec<String> = changed.unblocked.iter().map(ToString::to_string).collect();
        let freed = (!freed.is_empty()).then(|| format!("Can begin now: {}.", freed.join(", ")));
        let about_mail = sent.clone().flat_map(|sent| sent.warnings.clone());
        let notes: Vec<String> = told.chain(freed).chain(about_mail).collect();
        let status = changed.task.status.as_str();
        if changed.requested {
            let answer = Answer::object(&json!({ "id": id, "status": status, "requested": true }))?;
            return Ok(answer.noting(changed.warnings.clone()).noting(notes));
        }
        Ok(brief(id, status, changed.warnings.clone())?.noting(notes))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TaskList {
    team_name: Option<String>,
    #[serde(default)]
    offset: usize,
}

impl Call for TaskList {
    const NAME: &'static str = "task_list";
    const ABOUT: &'static str = "All tasks, with status, owner and what they wait for.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = "{}";
    const REQUIRED: &'static [&'static str] = &["team_name"];
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let found = team.tasks().list(&TaskFilter::default())?;
        let tasks = found.tasks.iter().map(entry).collect::<Result<_, _>>()?;
        let (tasks, next) = page(tasks, self.offset);
        let more = next.map(|next| format!("There are more tasks: offset={next} goes on."));
        Ok(Answer::list(tasks).noting(found.warnings).noting(more))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TaskGet {
    team_name: Option<String>,
    task_id: TaskNumber,
    #[serde(default)]
    description_offset: usize,
}

impl Call for TaskGet {
    const NAME: &'static str = "task_get";
    const ABOUT: &'static str = "All of one task.";
    const EFFECT: Effect = Effect::Looks;
    const EXAMPLE: &'static str = OF_TASK.example;
    const REQUIRED: &'static [&'static str] = OF_TASK.required;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        let team = desk.open(self.team_name.as_deref())?;
        let task = team.tasks().get(number(&self.task_id)?)?;
        let mut body = entry(&task)?;
        let (some, next) = part(&task.description, self.description_offset, LONGEST_TEXT);
        body["description"] = some.into();
        let more = next.map(|next| format!("The description goes on: description_offset={next}."));
        Ok(Answer::object(&body)?.noting(more))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ClaimTask {
    team_name: Option<String>,
    /// Default: the first free one
    task_id: Option<TaskNumber>,
    #[serde(default = "lease")]
    minutes: u64,
}

fn lease() -> u64 {
    DEFAULT_LEASE.as_secs() / 60
}

impl Call for ClaimTask {
    const NAME: &'static str = "claim_task";
    const ABOUT: &'static str =
        "Take a task for some minutes; claim it again, or send a heartbeat, to keep it.";
    const EFFECT: Effect = Effect::Changes;
    const EXAMPLE: &'static str = r#"{"task_id": "3", "minutes": 30}"#;
    const CORE: bool = true;

    fn run(self, desk: &Desk, _: &Stop) -> Result<Answer, Trouble> {
        if !(1..=7 * 24 * 60).contains(&self.minutes) {
            return Err(Trouble::argument("minutes must be 1 to 10080"));
        }
        let team = desk.open(self.team_name.as_deref())?;
        let who = desk.actor(&team)?;
        let (tasks, lease) = (team.tasks(), Duration::from_secs(self.minutes * 60));
        let claimed = match &self.task_id {
            Some(id) => tasks.claim(&who, number(id)?, lease)?,
            None => tasks.claim_next(&who, lease)?,
        };
        Ok(Answer::object(&entry(&claimed.task)?)?.noting(claimed.warnings))
    }
}

fn number(id: &TaskNumber) -> Result<TaskId, Trouble> {
    TaskId::parse(&id.0).map_err(|error| Trouble::argument(error.to_string()).about(&id.0))
}

fn numbers(ids: Option<Vec<TaskNumber>>) -> Result<Vec<TaskId>, Trouble> {
    ids.unwrap_or_default().iter().map(number).collect()
}

fn raw(value: &Value) -> Result<Box<RawValue>, Trouble> {
    to_raw_value(value).map_err(|error| Trouble::new(error.to_string()))
}

fn brief(id: TaskId, status: &str, warnings: Vec<String>) -> Result<Answer, Trouble> {
    Ok(Answer::object(&json!({ "id": id, "status": status }))?.noting(warnings))
}

/// A task as clients know it, and when it can begin.
fn entry(task: &TaskView) -> Result<Value, Trouble> {
    let mut entry = squeezed(to_value(task)?, BUDGET);
    if task.active_form.is_none() {
        entry["activeForm"] = "".into();
    }
    Ok(entry)
}
