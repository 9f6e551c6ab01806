//! Looking: everything that changes nothing.

use std::slice;

use atm_ledger::Stats;
use atm_office::mail::inbox::Filter;
use atm_office::office::USER;
use atm_office::people::teams::TeamBrief;
use atm_office::protocol::plan::PlanState;
use atm_office::tasks::TaskFilter;
use atm_office::trail::history::{Remembered, Search, Trace};
use atm_office::trail::track::Track;
use atm_wire::stamp::parse_duration;
use atm_wire::task::{Status, TaskId};
use atm_wire::{MemberName, Stamp, TeamName};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::IntoParams;

use super::exchange::{Answer, Asked, Part, json, json_tagged};
use super::paging::{Page, Wanted, limit_of, page, place_of};
use crate::app::{App, Fault};
use crate::problem::Problem;
use crate::settings::Settings;

/// In so many parts rates are counted.
const PARTS: usize = 48;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfTeam {
    /// The team; it may be left out where it is clear
    team: Option<String>,
    /// Where the page begins: `next` of the one before
    cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    limit: Option<usize>,
}

impl OfTeam {
    fn wanted(&self) -> Result<Wanted, Problem> {
        Wanted::new(self.limit, self.cursor.as_deref())
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paged {
    /// Where the page begins: `next` of the one before
    cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    limit: Option<usize>,
}

/// A time in a parameter: a moment, or how long ago.
pub(super) fn time(name: &str, text: Option<&str>, now: Stamp) -> Result<Option<Stamp>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let ago = parse_duration(text).map(|span| now.saturating_sub(span));
    let wrong = || {
        Problem::bad_request(format!("{name} must be a time like 2026-11-15T10:00:00Z, or how long ago: 2h"))
    };
    ago.or_else(|_| Stamp::parse(text)).map(Some).map_err(|_| wrong())
}

/// The teams
#[utoipa::path(get, path = "/api/v1/teams", tag = "look", params(Paged),
    responses((status = 200, description = "The teams", body = ref("#/components/schemas/page-of-team-view"))))]
pub(super) async fn teams(State(app): State<App>, Asked(asked): Asked<Paged>) -> Answer {
    let wanted = Wanted::new(asked.limit, asked.cursor.as_deref())?;
    let teams = app.run(|settings| Ok(settings.office().teams()?)).await?;
    let teams: Vec<Value> = teams.iter().map(TeamBrief::document).collect();
    json(&page(teams, &wanted, |team| team["name"].as_str().unwrap_or_default().to_owned()))
}

/// The team in one look: members, what waits, what needs attention, tasks
#[utoipa::path(get, path = "/api/v1/teams/{team}", tag = "look", params(("team" = String, Path, description = "The team")),
    responses((status = 200, description = "The picture", body = ref("#/components/schemas/picture"))))]
pub(super) async fn team(State(app): State<App>, Part(team): Part) -> Answer {
    let picture = app.run(move |settings| {
        let team = settings.team(Some(&team))?;
        let mut picture = settings.office().picture(&team, &MemberName::parse(USER)?)?;
        settings.office().put_sessions_beside(slice::from_mut(&mut picture));
        Ok(picture)
    });
    let picture = picture.await?;
    json_tagged(&picture, &picture.essence())
}

/// The members of a team, with their presence and the evidence for it
#[utoipa::path(get, path = "/api/v1/members", tag = "look", params(OfTeam),
    responses((status = 200, description = "The members", body = ref("#/components/schemas/page-of-member-view"))))]
pub(super) async fn members(State(app): State<App>, Asked(asked): Asked<OfTeam>) -> Answer {
    let wanted = asked.wanted()?;
    let members = app.run(move |settings| {
        let team = settings.team(asked.team.as_deref())?;
        Ok(settings.office().members(&team)?)
    });
    json(&page(members.await?, &wanted, |member| member.name.clone()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Mail {
    /// The team; it may be left out where it is clear
    team: Option<String>,
    /// Only what is not read
    #[serde(default)]
    unread: bool,
    /// Only what waits
    #[serde(default)]
    pending: bool,
    /// Only from this sender
    from: Option<String>,
    /// Only of this type
    r#type: Option<String>,
    /// Only sent then or later: a time, or how long ago
    since: Option<String>,
    /// Only sent then or earlier
    until: Option<String>,
    /// Where the page begins: `next` of the one before
    cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    limit: Option<usize>,
}

/// A member's mail, newest first; looking marks nothing as read
#[utoipa::path(get, path = "/api/v1/inboxes/{name}", tag = "look",
    params(("name" = String, Path, description = "Whose"), Mail),
    responses((status = 200, description = "The mail", body = ref("#/components/schemas/page-of-message"))))]
pub(super) async fn inbox(State(app): State<App>, Part(name): Part, Asked(asked): Asked<Mail>) -> Answer {
    let wanted = Wanted::new(asked.limit, asked.cursor.as_deref())?;
    let look = app.run(move |settings| {
        let (office, now) = (settings.office(), settings.office().now());
        let team = settings.team(asked.team.as_deref())?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let filter = Filter {
            unread: asked.unread,
            pending: asked.pending,
            from: given(asked.from),
            r#type: given(asked.r#type),
            since: time("since", asked.since.as_deref(), now)?,
            until: time("until", asked.until.as_deref(), now)?,
            last: None,
        };
        Ok(office.inbox(&team, &MemberName::parse(&name)?, &filter)?)
    });
    let mut look = look.await?;
    look.messages.reverse();
    let found = page(look.messages, &wanted, |message| message.id.clone());
    json(&Page { warnings: look.warnings, ..found })
}

/// A message with all that is known of it.
#[derive(Debug, Serialize)]
pub(crate) struct MessageDetails {
    pub(crate) message: Remembered,
    /// Its stages, with evidence.
    pub(crate) track: Track,
    /// The conversation that it is of, oldest first.
    pub(crate) thread: Vec<Remembered>,
}

/// A message by its id or a part of it, with what became of it.
pub(crate) fn message_details(
    settings: &Settings,
    team: Option<&str>,
    id: &str,
) -> Result<MessageDetails, Fault> {
    let office = settings.office();
    let team = team.filter(|team| !team.is_empty()).map(|team| settings.team(Some(team))).transpose()?;
    let track = office.track(team.as_ref(), id)?;
    let home = TeamName::parse(&track.message.team)?;
    let thread = office.thread(Some(&home), &track.message.id)?;
    let is_it = |message: &&Remembered| message.id == track.message.id && message.to == track.message.to;
    let message = thread
        .iter()
        .find(is_it)
        .cloned()
        .ok_or_else(|| atm_office::OfficeError::NotRecorded { id: id.to_owned() })?;
    Ok(MessageDetails { message, track, thread })
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct InTeam {
    /// The team; it may be left out where it is clear
    team: Option<String>,
}

/// A message: its text, its stages with evidence, its thread
#[utoipa::path(get, path = "/api/v1/messages/{id}", tag = "look",
    params(("id" = String, Path, description = "Its id, or six characters of its start or end"), InTeam),
    responses((status = 200, description = "The message", body = ref("#/components/schemas/message-details"))))]
pub(super) async fn message(State(app): State<App>, Part(id): Part, Asked(asked): Asked<InTeam>) -> Answer {
    json(&app.run(move |settings| message_details(settings, asked.team.as_deref(), &id)).await?)
}

/// Filters of the history. They stack.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct History {
    /// Only in this team
    pub(crate) team: Option<String>,
    /// Words that all have to be there; "…" is a phrase
    pub(crate) q: Option<String>,
    /// Only from this sender
    pub(crate) from: Option<String>,
    /// Only for this recipient
    pub(crate) to: Option<String>,
    /// Only of this type
    pub(crate) r#type: Option<String>,
    /// Only sent then or later: a time, or how long ago
    pub(crate) since: Option<String>,
    /// Only sent then or earlier
    pub(crate) until: Option<String>,
    /// Where the page begins: `next` of the one before
    pub(crate) cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    pub(crate) limit: Option<usize>,
}

impl History {
    /// A page of what fits, newest first: searched for, if there are words, else all of it.
    pub(crate) fn find(&self, settings: &Settings) -> Result<Page<Remembered>, Fault> {
        let (limit, before) = (limit_of(self.limit)?, place_of(self.cursor.as_deref())?);
        let (office, now) = (settings.office(), settings.office().now());
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let remembered = |team: String| office.choose_remembered_team(&team, &settings.cwd);
        let team = given(&self.team).map(remembered).transpose()?;
        let (from, to, r#type) = (given(&self.from), given(&self.to), given(&self.r#type));
        let since = time("since", self.since.as_deref(), now)?;
        let until = time("until", self.until.as_deref(), now)?;
        let found = if let Some(words) = given(&self.q) {
            let search = Search { words, from, to, r#type, since, until, limit, ..Search::default() };
            office.search_page(&search, team.as_ref(), before)?
        } else {
            let teams = team.into_iter().collect();
            let trace = Trace { teams, from, to, r#type, since, until, limit, ..Trace::default() };
            office.trace_page(&trace, before)?
        };
        Ok(found.into())
    }
}

/// Searches everything ever sent or seen, newest first
#[utoipa::path(get, path = "/api/v1/search", tag = "look", params(History),
    responses((status = 200, description = "What fits", body = ref("#/components/schemas/page-of-remembered"))))]
pub(super) async fn search(State(app): State<App>, Asked(asked): Asked<History>) -> Answer {
    if asked.q.as_deref().is_none_or(|words| words.trim().is_empty()) {
        return Err(Problem::bad_request("q is missing: the words to search for"));
    }
    json(&app.run(move |settings| asked.find(settings)).await?)
}

/// The trace: what was sent to whom, when, and how far it came, newest first
#[utoipa::path(get, path = "/api/v1/log", tag = "look", params(History),
    responses((status = 200, description = "What fits", body = ref("#/components/schemas/page-of-remembered"))))]
pub(super) async fn log(State(app): State<App>, Asked(asked): Asked<History>) -> Answer {
    json(&app.run(move |settings| asked.find(settings)).await?)
}

#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Window {
    /// Only this team
    pub(crate) team: Option<String>,
    /// Since when: a time, or how long ago; a day unless said
    pub(crate) since: Option<String>,
}

impl Window {
    pub(crate) fn count(&self, settings: &Settings) -> Result<Stats, Fault> {
        let (office, now) = (settings.office(), settings.office().now());
        let team = self.team.as_deref().filter(|team| !team.is_empty());
        let teams: Vec<TeamName> = team
            .map(|team| office.choose_remembered_team(team, &settings.cwd))
            .transpose()?
            .into_iter()
            .collect();
        let since =
            time("since", Some(self.since.as_deref().filter(|s| !s.is_empty()).unwrap_or("1d")), now)?;
        Ok(office.stats(&teams, since.unwrap_or(now), PARTS)?)
    }
}

/// Rates and waiting times
#[utoipa::path(get, path = "/api/v1/stats", tag = "look", params(Window),
    responses((status = 200, description = "The numbers", body = ref("#/components/schemas/stats"))))]
pub(super) async fn stats(State(app): State<App>, Asked(asked): Asked<Window>) -> Answer {
    let stats = app.run(move |settings| asked.count(settings)).await?;
    let mut document = serde_json::to_value(&stats).unwrap_or_default();
    for (key, time) in [("since", stats.since), ("until", stats.until)] {
        document[key] = Stamp::from_millis(time).to_string().into();
    }
    json(&document)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// The team; it may be left out where it is clear
    team: Option<String>,
    /// Only those that are as far as this: `pending`, `in_progress`, `completed`
    status: Option<String>,
    /// Only those of this owner
    owner: Option<String>,
    /// Only those that wait for others, or only those that do not
    blocked: Option<bool>,
    /// Only those that anybody could claim now
    #[serde(default)]
    ready: bool,
    /// Where the page begins: `next` of the one before
    cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    limit: Option<usize>,
}

/// The shared task list
#[utoipa::path(get, path = "/api/v1/tasks", tag = "look", params(Which),
    responses((status = 200, description = "The tasks", body = ref("#/components/schemas/page-of-task-view"))))]
pub(super) async fn tasks(State(app): State<App>, Asked(asked): Asked<Which>) -> Answer {
    let wanted = Wanted::new(asked.limit, asked.cursor.as_deref())?;
    let listed = app.run(move |settings| {
        let team = settings.team(asked.team.as_deref())?;
        let filter = TaskFilter {
            status: asked.status.as_deref().filter(|status| !status.is_empty()).map(Status::parse),
            owner: asked.owner.filter(|owner| !owner.is_empty()),
            blocked: asked.blocked,
            ready: asked.ready,
        };
        Ok(settings.office().tasks(&team)?.list(&filter)?)
    });
    let listed = listed.await?;
    let found = page(listed.tasks, &wanted, |task| task.id.to_string());
    json(&Page { warnings: listed.warnings, ..found })
}

/// A task's number, from a path.
pub(super) fn task_id(text: &str) -> Result<TaskId, Problem> {
    TaskId::parse(text).map_err(|error| Problem::bad_request(error.to_string()))
}

/// One task
#[utoipa::path(get, path = "/api/v1/tasks/{id}", tag = "look",
    params(("id" = String, Path, description = "Its number"), InTeam),
    responses((status = 200, description = "The task", body = ref("#/components/schemas/task-view"))))]
pub(super) async fn task(State(app): State<App>, Part(id): Part, Asked(asked): Asked<InTeam>) -> Answer {
    let id = task_id(&id)?;
    let task = app.run(move |settings| {
        let team = settings.team(asked.team.as_deref())?;
        Ok(settings.office().tasks(&team)?.get(id)?)
    });
    json(&task.await?)
}

/// What waits for whom, and why
#[utoipa::path(get, path = "/api/v1/pending", tag = "look", params(OfTeam),
    responses((status = 200, description = "What waits, oldest first", body = ref("#/components/schemas/page-of-waiting"))))]
pub(super) async fn pending(State(app): State<App>, Asked(asked): Asked<OfTeam>) -> Answer {
    let wanted = asked.wanted()?;
    let look = app.run(move |settings| {
        let team = settings.team(asked.team.as_deref())?;
        Ok(settings.office().look_for_pending(&team)?)
    });
    let look = look.await?;
    let essence: Vec<String> = look
        .waiting
        .iter()
        .map(|waiting| format!("{} {:?} {}", waiting.message.id, waiting.why, waiting.message.stage))
        .collect();
    let found =
        page(look.waiting, &wanted, |waiting| format!("{}@{}", waiting.message.id, waiting.message.to));
    let steps = look.unknown.iter().map(atm_office::trail::pending::UnknownStep::words);
    let warnings = look.looked.unreadable.iter().cloned().chain(steps).collect();
    json_tagged(&Page { warnings, ..found }, &format!("{essence:?} {wanted:?}"))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Plans {
    /// The team; it may be left out where it is clear
    team: Option<String>,
    /// Only those that nobody has decided
    #[serde(default)]
    open: bool,
    /// Where the page begins: `next` of the one before
    cursor: Option<String>,
    /// So many entries at most, from 1 to 500; 50 unless said
    limit: Option<usize>,
}

/// The plans of a team, and what became of them, newest first
#[utoipa::path(get, path = "/api/v1/plans", tag = "look", params(Plans),
    responses((status = 200, description = "The plans", body = ref("#/components/schemas/page-of-plan"))))]
pub(super) async fn plans(State(app): State<App>, Asked(asked): Asked<Plans>) -> Answer {
    let wanted = Wanted::new(asked.limit, asked.cursor.as_deref())?;
    let plans = app.run(move |settings| {
        let team = settings.team(asked.team.as_deref())?;
        let mut plans = settings.office().plans(&team)?;
        plans.retain(|plan| !asked.open || plan.state == PlanState::Open);
        plans.reverse();
        Ok(plans)
    });
    json(&page(plans.await?, &wanted, |plan| plan.request.clone()))
}
