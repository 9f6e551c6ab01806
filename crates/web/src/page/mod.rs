//! The page for people: rendered here, live by one small script, readable without it.
//!
//! Each handler looks, and renders what it found. What the script shows later is the same page again, fetched when the log has news.

mod assets;
mod home;
mod keys;
mod layout;
mod mail;
mod message;
mod needs;
mod parts;
mod plans;
mod search;
mod stats;
mod tasks;
mod team;
mod trouble;

use atm_office::Office;
use atm_office::office::USER;
use atm_office::watch::Since;
use atm_wire::{MemberName, Stamp, TeamName};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use maud::Markup;

use crate::app::{App, Fault};
use crate::problem::Problem;
use crate::settings::Settings;
use layout::Shell;

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/", get(home::show))
        .route("/teams/{team}", get(team::show))
        .route("/teams/{team}/inboxes/{name}", get(mail::show))
        .route("/teams/{team}/tasks", get(tasks::show))
        .route("/teams/{team}/plans", get(plans::show))
        .route("/messages/{id}", get(message::show))
        .route("/search", get(search::show))
        .route("/trouble", get(trouble::show))
        .route("/stats", get(stats::show))
        .route("/keys", get(show_keys))
        .route("/assets/{name}", get(assets::send))
}

/// What a page is made from: the office, and when and where in the log it was looked at.
pub(super) struct View<'a> {
    settings: &'a Settings,
    now: Stamp,
    cursor: String,
    teams: Vec<TeamName>,
    user: MemberName,
}

impl<'a> View<'a> {
    fn new(settings: &'a Settings) -> Result<Self, Fault> {
        let office = settings.office();
        // Before anything is read: what happens from here on is news to the page.
        let (_, cursor) = office.events_after(&Since::Now)?;
        let (now, teams) = (office.now(), office.team_names()?);
        Ok(Self { settings, now, cursor: cursor.to_string(), teams, user: MemberName::parse(USER)? })
    }

    fn office(&self) -> &'a Office {
        self.settings.office()
    }

    /// A page; `at` is where it stands among the pages of its team, or among those about everything.
    fn page(&self, at: &str, title: &str, team: Option<&TeamName>, main: &Markup) -> Response<Body> {
        let shell = Shell {
            title,
            at,
            team,
            teams: &self.teams,
            cursor: self.cursor.clone(),
            as_of: self.now,
            read_only: self.settings.read_only,
        };
        shell.page(main)
    }
}

/// Looks and renders, in a thread of its own.
async fn render(
    app: &App,
    make: impl FnOnce(&View<'_>) -> Result<Response<Body>, Fault> + Send + 'static,
) -> Response<Body> {
    let rendered = app.run(move |settings| make(&View::new(settings)?)).await;
    rendered.unwrap_or_else(|found| problem(&found))
}

/// The team of a path.
fn team_of(view: &View<'_>, Path(named): Path<String>) -> Result<TeamName, Fault> {
    Ok(view.settings.team(Some(&named))?)
}

async fn show_keys(State(app): State<App>) -> Response<Body> {
    render(&app, |view| Ok(view.page("/keys", "Keys", None, &keys::list()))).await
}

/// A problem, for people.
pub(crate) fn problem(problem: &Problem) -> Response<Body> {
    let title = problem.status.canonical_reason().unwrap_or("Error");
    layout::plain(problem.status, title, &problem.words(), problem.hint.as_deref())
}

/// The address is there, for another method.
pub(crate) async fn not_so() -> Response<Body> {
    let detail = "this address does not take that method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail).into_response()
}

pub(crate) async fn nothing_here() -> Response<Body> {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here").into_response()
}
