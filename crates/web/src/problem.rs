//! What did not work: problem details (RFC 9457) with the codes of the command line.

use atm_office::{ErrorKind, OfficeError};
use atm_wire::{NameError, visible};
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;

/// The media type of problem details.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) hint: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), hint: None }
    }

    /// The request makes no sense.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "usage", detail)
    }

    /// What the office says, with its hint as a command.
    pub(crate) fn of(error: &OfficeError, words: fn(&atm_office::Hint) -> String) -> Self {
        let status = match error.kind() {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Refused if error.code() == "not_yours" => StatusCode::FORBIDDEN,
            ErrorKind::Refused => StatusCode::CONFLICT,
            ErrorKind::BadData => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Busy | ErrorKind::Interrupted => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Io => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let hint = error.hint().as_ref().map(words);
        Self { hint, ..Self::new(status, error.code(), error.to_string()) }
    }

    /// The words for people: nothing hides in them.
    pub(crate) fn words(&self) -> String {
        visible::lines(&self.detail).into_owned()
    }
}

impl From<NameError> for Problem {
    fn from(error: NameError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_name", error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let document = Document {
            r#type: format!("urn:atm:error:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            hint: self.hint.as_deref(),
        };
        // Strings and a number always serialise.
        let mut response = Response::new(Body::from(serde_json::to_vec(&document).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
