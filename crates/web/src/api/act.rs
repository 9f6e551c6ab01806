//! Acting: each call does what its command does, and says which one that is in its first line.

use std::time::Duration;

use atm_office::mail::read::Confirmed;
use atm_office::mail::send::{Letter, SendOptions};
use atm_office::office::USER;
use atm_office::protocol::person::Person;
use atm_office::protocol::plan::PlanAnswer;
use atm_office::protocol::shutdown::Dialect;
use atm_office::sessions::{Recipient, Sender};
use atm_office::tasks::{Completion, TaskChange, TaskPlan};
use atm_office::view::mute;
use atm_upkeep::archive::{self, Rule};
use atm_wire::MemberName;
use atm_wire::message::Priority;
use atm_wire::stamp::parse_duration;
use atm_wire::task::{DEFAULT_LEASE, Status, TaskId};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::exchange::{Answer, Given, Part, created, json};
use super::look::task_id;
use crate::app::{App, Fault};
use crate::problem::Problem;

/// As whom people who came by the token decide for the lead.
const PERSON: &str = "web";
/// Longer than anybody waits.
const LONGEST_SPAN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Who acts: as with `--as`, or the person who came by the token.
fn actor(named: Option<&str>) -> Result<MemberName, Fault> {
    Ok(MemberName::parse(named.filter(|name| !name.is_empty()).unwrap_or(USER))?)
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn span(name: &str, text: Option<&str>) -> Result<Option<Duration>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let span = parse_duration(text).map_err(|error| Problem::bad_request(format!("{name}: {error}")))?;
    Ok(Some(span.min(LONGEST_SPAN)))
}

/// How urgent a message is.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Urgency {
    High,
    Normal,
    Low,
}

impl From<Urgency> for Priority {
    fn from(urgency: Urgency) -> Self {
        match urgency {
            Urgency::High => Self::High,
            Urgency::Normal => Self::Normal,
            Urgency::Low => Self::Low,
        }
    }
}

/// A message to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMessage {
    /// The sender's team
    team: Option<String>,
    /// The sender; `user` unless said
    r#as: Option<String>,
    /// NAME or NAME@TEAM; or a session, by its name, its folder or an alias
    to: String,
    text: String,
    summary: Option<String>,
    priority: Option<Urgency>,
    /// How long it may take to be acknowledged: 10m, 1h
    ack_by: Option<String>,
}

/// Sends a message (`atm send`)
#[utoipa::path(post, path = "/api/v1/messages", tag = "act", request_body = NewMessage,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(super) async fn send(State(app): State<App>, Given(new): Given<NewMessage>) -> Answer {
    let ack_by = span("ack_by", new.ack_by.as_deref())?;
    let sent = app.run(move |settings| {
        let named = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
        let sender = Sender {
            team: settings.team(new.team.as_deref()),
            names_team: named(&new.team),
            is_named: named(&new.r#as),
            session: None,
        };
        let to = new.to.parse::<Recipient>()?.within(&settings.cwd, None);
        let route = settings.office().route(sender, to, false)?;
        let letter = Letter {
            summary: given(new.summary),
            priority: new.priority.map_or(Priority::Normal, Into::into),
            ack_by,
            ..route.letter(new.text)
        };
        let options = SendOptions { known_sender: true, ..SendOptions::default() };
        Ok(route.team.send(&actor(new.r#as.as_deref())?, &letter, options)?)
    });
    created(&sent.await?)
}

/// An answer to a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewReply {
    team: Option<String>,
    /// Whose inbox the message is in; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
    text: String,
    summary: Option<String>,
    priority: Option<Urgency>,
}

/// Answers a message (`atm reply`)
#[utoipa::path(post, path = "/api/v1/replies", tag = "act", request_body = NewReply,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(super) async fn reply(State(app): State<App>, Given(new): Given<NewReply>) -> Answer {
    let sent = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let from = actor(new.r#as.as_deref())?;
        let letter = |to| Letter {
            summary: given(new.summary),
            priority: new.priority.map_or(Priority::Normal, Into::into),
            ..Letter::new(to, new.text)
        };
        Ok(settings.office().team(&team)?.reply(&from, &new.id, letter, SendOptions::default())?)
    });
    created(&sent.await?)
}

/// An acknowledgment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAck {
    team: Option<String>,
    /// Its recipient; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
    /// What to add
    text: Option<String>,
}

/// Tells a message's sender that it arrived, once (`atm ack`)
#[utoipa::path(post, path = "/api/v1/acks", tag = "act", request_body = NewAck,
    responses((status = 201, description = "What became of it", body = ref("#/components/schemas/sent"))))]
pub(super) async fn ack(State(app): State<App>, Given(new): Given<NewAck>) -> Answer {
    let sent = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let who = actor(new.r#as.as_deref())?;
        Ok(settings.office().ack(&team, &who, &new.id, given(new.text), SendOptions::default())?)
    });
    created(&sent.await?)
}

/// What was read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRead {
    team: Option<String>,
    /// Whose inbox the messages are in; `user` unless said
    r#as: Option<String>,
    /// The messages that were shown, by their whole ids: what came meanwhile stays unread
    ids: Vec<String>,
}

/// What was marked.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MarkedRead {
    /// How many messages were unread, and are read now.
    marked: usize,
    warnings: Vec<String>,
}

/// Marks mail as read that was shown to its recipient (`atm read`)
#[utoipa::path(post, path = "/api/v1/reads", tag = "act", request_body = NewRead,
    responses((status = 200, description = "What was marked", body = MarkedRead)))]
pub(super) async fn read(State(app): State<App>, Given(new): Given<NewRead>) -> Answer {
    let confirmed = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        Ok(team.mark_shown(&actor(new.r#as.as_deref())?, &new.ids, PERSON)?)
    });
    let Confirmed { marked, warnings } = confirmed.await?;
    json(&MarkedRead { marked, warnings })
}

/// What to take back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewRecall {
    team: Option<String>,
    /// Its sender; `user` unless said
    r#as: Option<String>,
    /// The message: its id, or six characters of its start or end
    id: String,
}

/// Takes a message back that nobody has read (`atm recall`)
#[utoipa::path(post, path = "/api/v1/recalls", tag = "act", request_body = NewRecall,
    responses((status = 201, description = "What was taken back", body = ref("#/components/schemas/recalled"))))]
pub(super) async fn recall(State(app): State<App>, Given(new): Given<NewRecall>) -> Answer {
    let recalled = app.run(move |settings| {
        let team = new.team.as_deref().filter(|team| !team.is_empty());
        let team = team.map(|team| settings.team(Some(team))).transpose()?;
        Ok(settings.office().recall(team.as_ref(), &actor(new.r#as.as_deref())?, &new.id)?)
    });
    created(&recalled.await?)
}

/// A new task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTask {
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
pub(super) async fn create_task(State(app): State<App>, Given(new): Given<NewTask>) -> Answer {
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
pub(super) struct ChangedTask {
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
pub(super) async fn change_task(
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
pub(super) struct NewClaim {
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
pub(super) async fn claim(State(app): State<App>, Given(new): Given<NewClaim>) -> Answer {
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

/// A decision about a plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanDecision {
    team: Option<String>,
    approved: bool,
    /// What to change or to mind
    feedback: Option<String>,
    /// The mode that the member goes on in
    permission_mode: Option<String>,
}

/// Decides about a plan, for the lead; recorded as `user via web` (`atm plan approve`, `atm plan reject`)
#[utoipa::path(post, path = "/api/v1/plans/{request}", tag = "act",
    params(("request" = String, Path, description = "The request's id")), request_body = PlanDecision,
    responses((status = 201, description = "What became of the answer", body = ref("#/components/schemas/sent"))))]
pub(super) async fn decide_plan(
    State(app): State<App>,
    Part(request): Part,
    Given(new): Given<PlanDecision>,
) -> Answer {
    let feedback = given(new.feedback);
    if !new.approved && feedback.is_none() {
        return Err(Problem::bad_request("feedback is missing: what has to change"));
    }
    let answer = PlanAnswer { approved: new.approved, feedback, permission_mode: given(new.permission_mode) };
    let sent = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        Ok(team.decide_plan_for_lead(Person::via(PERSON), &request, &answer)?)
    });
    created(&sent.await?)
}

/// Whom to ask to end.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShutdownRequest {
    team: Option<String>,
    name: String,
    reason: Option<String>,
}

/// Asks a member to end, for the lead; recorded as `user via web` (`atm shutdown request`)
#[utoipa::path(post, path = "/api/v1/shutdowns", tag = "act", request_body = ShutdownRequest,
    responses((status = 201, description = "The request", body = ref("#/components/schemas/asked"))))]
pub(super) async fn request_shutdown(State(app): State<App>, Given(new): Given<ShutdownRequest>) -> Answer {
    let asked = app.run(move |settings| {
        let mut team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let name = MemberName::parse(&new.name)?;
        Ok(team.request_shutdown_for_lead(Person::via(PERSON), &name, given(new.reason))?)
    });
    created(&asked.await?)
}

/// A member's decision about a request to end.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShutdownDecision {
    team: Option<String>,
    /// The member that was asked
    r#as: String,
    approved: bool,
    /// Why it stays
    reason: Option<String>,
}

/// Answers a request to end, as the member that was asked (`atm --as NAME shutdown approve`, `reject`)
#[utoipa::path(post, path = "/api/v1/shutdowns/{request}", tag = "act",
    params(("request" = String, Path, description = "The request's id")), request_body = ShutdownDecision,
    responses((status = 201, description = "What became of the answer", body = ref("#/components/schemas/sent"))))]
pub(super) async fn decide_shutdown(
    State(app): State<App>,
    Part(request): Part,
    Given(new): Given<ShutdownDecision>,
) -> Answer {
    let reason = given(new.reason);
    if !new.approved && reason.is_none() {
        return Err(Problem::bad_request("reason is missing: why it stays"));
    }
    let sent = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        let (who, request) = (MemberName::parse(&new.r#as)?, Some(request.as_str()));
        team.check_sender(&who)?;
        Ok(match reason.filter(|_| !new.approved) {
            Some(reason) => team.reject_shutdown(&who, request, reason, Dialect::Client)?,
            None => team.approve_shutdown(&who, request, Dialect::Client)?,
        })
    });
    created(&sent.await?)
}

/// Whom to wake.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewWake {
    team: Option<String>,
    name: String,
    /// Only say what would be done
    #[serde(default)]
    dry_run: bool,
}

/// Wakes a member for which mail came, by its client's own way (`atm wake`)
#[utoipa::path(post, path = "/api/v1/wakes", tag = "act", request_body = NewWake,
    responses((status = 200, description = "What was done", body = ref("#/components/schemas/woken"))))]
pub(super) async fn wake(State(app): State<App>, Given(new): Given<NewWake>) -> Answer {
    let woken = app.run(move |settings| {
        let team = settings.team(new.team.as_deref())?;
        let name = MemberName::parse(&new.name)?;
        Ok(settings.office().wake(&team, &name, &settings.ladder, new.dry_run)?)
    });
    json(&woken.await?)
}

/// What to hear nothing of for a while.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMute {
    team: Option<String>,
    /// A member's name, a task's number, or a message: its id, or six characters of its start or end
    what: String,
    /// For how long: 30m, 2h; a day unless said
    r#for: Option<String>,
    /// Hear of it again
    #[serde(default)]
    undo: bool,
}

/// Leaves something out of what needs attention, for a while (`atm mute`)
#[utoipa::path(post, path = "/api/v1/mutes", tag = "act", request_body = NewMute,
    responses((status = 200, description = "What is muted in the team", body = ref("#/components/schemas/mutes"))))]
pub(super) async fn mute(State(app): State<App>, Given(new): Given<NewMute>) -> Answer {
    let lasts = span("for", new.r#for.as_deref())?.unwrap_or(mute::USUAL);
    let muted = app.run(move |settings| {
        let team = settings.office().team(&settings.team(new.team.as_deref())?)?;
        if !new.undo {
            team.mute(&new.what, lasts)?;
        } else if team.unmute(&new.what)?.is_none() {
            let detail = format!("{} is not muted", new.what);
            return Err(Problem::new(StatusCode::NOT_FOUND, "not_muted", detail).into());
        }
        Ok(team.mutes()?)
    });
    json(&muted.await?)
}

/// Whose mail to archive.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewArchive {
    team: Option<String>,
    name: String,
    /// How many messages stay, the newest; none unless said
    #[serde(default)]
    keep: u32,
}

/// Moves mail that was read out of an inbox into the archive (`atm archive`)
#[utoipa::path(post, path = "/api/v1/archives", tag = "act", request_body = NewArchive,
    responses((status = 200, description = "What was done", body = ref("#/components/schemas/tended"))))]
pub(super) async fn archive(State(app): State<App>, Given(new): Given<NewArchive>) -> Answer {
    let tended = app.run(move |settings| {
        let office = settings.office();
        let name = MemberName::parse(&new.name)?;
        let team = office.team(&settings.team(new.team.as_deref())?)?;
        team.known_mailbox(&name)?;
        let rule = Rule { keep: new.keep as usize, older_than: None, force: false };
        Ok(archive::archive(office, team.name(), &name, &rule, &settings.upkeep, &mut |_, _| ())?)
    });
    json(&tended.await?)
}
