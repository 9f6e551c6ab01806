//! What comes in and goes out: parameters, bodies and answers, with our own words for what is wrong with them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;

/// The largest body of a request; the largest message is smaller.
const LARGEST_BODY: usize = 4 * 1024 * 1024;
/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The answer of a handler.
pub(crate) type Answer = Result<Response<Body>, Problem>;

/// The parameters behind `?`.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let parsed = Query::try_from_uri(&parts.uri);
        let Query(parsed) = parsed.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(parsed))
    }
}

/// The variable part of a path.
#[derive(Debug)]
pub(crate) struct Part(pub(crate) String);

impl FromRequestParts<App> for Part {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let found = Path::from_request_parts(parts, app).await;
        let Path(part) = found.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(part))
    }
}

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, _: &App) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        if !is_json {
            let detail = "the body must be JSON, with Content-Type: application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail));
        }
        given_json(request.into_body()).await.map(Self)
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Reads a body that is JSON, as far as it may be large and slow.
pub(crate) async fn given_json<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let body = tokio::time::timeout(BODY_TIME, Limited::new(body, LARGEST_BODY).collect());
    let bytes = match body.await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let detail = "the body has more than 4 MiB";
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
        }
        Ok(Err(_)) => return Err(Problem::bad_request("the body broke off")),
        Err(_) => {
            let detail = "the body did not come in time";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail));
        }
    };
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(format!("the body: {error}")))
}

/// JSON as an answer.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    answer(StatusCode::OK, "application/json", to_bytes(value)?)
}

/// JSON of something that was made.
pub(crate) fn created(value: &impl Serialize) -> Answer {
    answer(StatusCode::CREATED, "application/json", to_bytes(value)?)
}

/// JSON whose tag is of `essence`: of what makes two answers different.
pub(crate) fn json_tagged(value: &impl Serialize, essence: &str) -> Answer {
    let mut response = json(value)?;
    if let Some(tag) = crate::finish::tag_of(essence.as_bytes()) {
        response.headers_mut().insert(axum::http::header::ETAG, tag);
    }
    Ok(response)
}

fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(value)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string()))
}

/// An answer of some type.
#[expect(clippy::unnecessary_wraps, reason = "the last expression of handlers")]
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Answer {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
