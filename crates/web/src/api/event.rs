//! `GET /api/v1/events`: what happens, as it is recorded.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa::IntoParams;

use super::exchange::{Answer, Asked, answer};
use crate::app::App;
use crate::feed;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only this team
    team: Option<String>,
    /// Begin behind this cursor; `start`, with the first event; `now`. Last-Event-ID counts before it
    since: Option<String>,
}

/// What happens, as server-sent events: every event of the log behind a cursor, once and in order
///
/// `id` of each event is its cursor. A cursor of a log that is lost gives an event `reset`.
#[utoipa::path(get, path = "/api/v1/events", tag = "look", params(Which),
    responses((status = 200, description = "A stream; data of each event is an `event`", content_type = "text/event-stream",
        body = String)))]
pub(super) async fn events(State(app): State<App>, headers: HeaderMap, asked: Asked<Which>) -> Answer {
    let Asked(Which { team, since }) = asked;
    let last = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let begin = feed::since(last.filter(|last| !last.is_empty()).or(since.as_deref()));
    let team = match team.filter(|team| !team.is_empty()) {
        Some(named) => Some(app.run(move |settings| Ok(settings.team(Some(&named))?)).await?.to_string()),
        None => None,
    };
    let stream = feed::stream(&app, begin, team);
    let mut response = answer(StatusCode::OK, "text/event-stream", Body::new(stream))?;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
