//! The files of the page, in the binary.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response};

const FILES: [(&str, &str, &str); 3] = [
    ("atm.css", "text/css; charset=utf-8", include_str!("../assets/atm.css")),
    ("atm.js", "text/javascript; charset=utf-8", include_str!("../assets/atm.js")),
    ("atm.svg", "image/svg+xml", include_str!("../assets/atm.svg")),
];

pub(super) async fn send(Path(name): Path<String>) -> Response<Body> {
    let Some((_, kind, text)) = FILES.iter().find(|(file, ..)| *file == name) else {
        return super::nothing_here().await;
    };
    let mut response = Response::new(Body::from(*text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
