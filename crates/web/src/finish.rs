//! What every answer gets: headers that keep browsers careful, an entity tag, compression.

use std::io::Write;

use atm_wire::backup::hex;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderName, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};

/// Nothing runs or is loaded but our own files; nobody may frame the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Smaller answers are not compressed.
const SMALLEST: usize = 1_024;

/// What of a request the answer's form depends on.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    is_look: bool,
    known: Option<HeaderValue>,
    takes_gzip: bool,
}

impl Asked {
    pub(crate) fn of(method: &Method, headers: &HeaderMap) -> Self {
        let encodings =
            headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Self {
            is_look: matches!(*method, Method::GET | Method::HEAD),
            known: headers.get(IF_NONE_MATCH).cloned(),
            takes_gzip: encodings.split(',').any(|one| one.trim().split(';').next() == Some("gzip")),
        }
    }
}

/// Makes an answer ready to be sent. A stream stays as it is.
pub(crate) async fn finish(asked: Asked, mut response: Response<Body>) -> Response<Body> {
    protect(response.headers_mut());
    if response.body().size_hint().exact().is_none() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // A body in memory does not fail.
    let mut bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    if asked.is_look && head.status == StatusCode::OK {
        let tag = head.headers.get(ETAG).cloned().or_else(|| tag_of(&bytes));
        if let Some(tag) = tag {
            let is_known = asked.known.as_ref().is_some_and(|known| has_tag(known, &tag));
            head.headers.insert(ETAG, tag);
            if is_known {
                head.status = StatusCode::NOT_MODIFIED;
                head.headers.remove(CONTENT_TYPE);
                return Response::from_parts(head, Body::empty());
            }
        }
    }
    if asked.takes_gzip
        && bytes.len() >= SMALLEST
        && let Some(packed) = gzip(&bytes)
    {
        bytes = packed;
        head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    head.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(bytes))
}

fn protect(headers: &mut HeaderMap) {
    let same_origin = HeaderValue::from_static("same-origin");
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), same_origin.clone()),
        (HeaderName::from_static("cross-origin-resource-policy"), same_origin),
    ] {
        headers.insert(name, value);
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
}

/// A tag of what an answer says.
pub(crate) fn tag_of(bytes: &[u8]) -> Option<HeaderValue> {
    let hash = hex(&Sha256::digest(bytes));
    HeaderValue::from_str(&format!("W/\"{}\"", &hash[..24])).ok()
}

fn has_tag(known: &HeaderValue, tag: &HeaderValue) -> bool {
    let (Ok(known), Ok(tag)) = (known.to_str(), tag.to_str()) else { return false };
    let plain = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known.trim() == "*" || known.split(',').any(|one| plain(one) == plain(tag))
}

fn gzip(bytes: &Bytes) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_known_in_any_of_its_forms() {
        let value = |text: &str| HeaderValue::from_str(text).unwrap();
        let tag = tag_of(b"x").unwrap();
        let text = tag.to_str().unwrap();
        for (known, expected) in [
            (text.to_owned(), true),
            (format!("\"a\", {text}"), true),
            (text.trim_start_matches("W/").to_owned(), true),
            ("*".to_owned(), true),
            ("\"a\"".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(has_tag(&value(&known), &tag), expected, "{known}");
        }
        assert_ne!(tag_of(b"x"), tag_of(b"y"));
    }
}
