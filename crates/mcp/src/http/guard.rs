//! Who may call: requests that are meant for this address, from no foreign page, with the token.
//!
//! A pure decision over a request's head, so that it is tested in a table.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use hyper::{StatusCode, Uri};

/// The names of this machine for itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The parameter of the address that may carry the token instead of the header.
const PARAMETER: &str = "token=";

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Its `Host` is not this machine's own name: a page may have had its name resolved to us.
    Host,
    /// It was made by a page of another machine.
    Origin,
    /// It has no token, or another one.
    Token,
    /// Its body is too large.
    Body,
    /// Its body does not come.
    Slow,
    /// So many sessions are in use.
    Sessions,
    /// There is nothing at this path.
    Path,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Body => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Sessions => StatusCode::TOO_MANY_REQUESTS,
            Self::Path => StatusCode::NOT_FOUND,
        }
    }

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Host => "foreign_host",
            Self::Origin => "foreign_origin",
            Self::Token => "no_token",
            Self::Body => "too_large",
            Self::Slow => "too_slow",
            Self::Sessions => "too_many_sessions",
            Self::Path => "not_found",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Host => "the Host header must name this machine: localhost, 127.0.0.1 or [::1]",
            Self::Origin => "requests of pages from other machines are refused",
            Self::Token => "send the token that the server printed: Authorization: Bearer TOKEN",
            Self::Body => "the request's body is too large",
            Self::Slow => "the request's body did not come in time",
            Self::Sessions => "all sessions are in use; end one, or try again later",
            Self::Path => "there is nothing here; the server is at /mcp",
        }
    }
}

/// Whether a request may pass, by its address and headers. Of a header that comes twice each one counts: which one a
/// browser or a proxy went by is not known.
pub(super) fn check(uri: &Uri, headers: &HeaderMap, token: &str) -> Result<(), Refusal> {
    let texts = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
    let is_own_host = |host: &str| is_own_name(without_port(host));
    // An address in full names a host of its own.
    let addressed = uri.authority().is_none_or(|authority| is_own_host(authority.as_str()));
    if !headers.contains_key(HOST) || !addressed || !texts(HOST).all(is_own_host) {
        return Err(Refusal::Host);
    }
    if !texts(ORIGIN).all(is_own_page) {
        return Err(Refusal::Origin);
    }
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let bearer = text(AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let parameter = || uri.query()?.split('&').find_map(|part| part.strip_prefix(PARAMETER));
    match bearer.or_else(parameter) {
        Some(given) if is_same(given.as_bytes(), token.as_bytes()) => Ok(()),
        _ => Err(Refusal::Token),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_own_name(name: &str) -> bool {
    OWN_NAMES.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn is_own_page(origin: &str) -> bool {
    origin.strip_prefix("http://").is_some_and(|host| is_own_name(without_port(host)))
}

/// Compares in a time that does not tell where they differ.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    let differs = |(a, b): (&u8, &u8)| a ^ b;
    given.len() == wanted.len() && given.iter().zip(wanted).map(differs).fold(0, |all, one| all | one) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn checked(target: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        check(&target.parse().unwrap(), &map, TOKEN)
    }

    fn with_query(query: Option<&str>) -> String {
        query.map_or_else(|| "/mcp".to_owned(), |query| format!("/mcp?{query}"))
    }

    #[test]
    fn only_who_means_this_machine_and_has_the_token_passes() {
        let host = ("host", "127.0.0.1:8080");
        let good = ("authorization", "Bearer 0123456789abcdef");
        for (query, headers, expected) in [
            (None, vec![host, good], Ok(())),
            (None, vec![("host", "localhost"), good], Ok(())),
            (None, vec![("host", "[::1]:9"), good], Ok(())),
            (None, vec![("host", "LOCALHOST:9"), ("authorization", "bearer  0123456789abcdef")], Ok(())),
            (Some("token=0123456789abcdef"), vec![host], Ok(())),
            (Some("a=b&token=0123456789abcdef"), vec![host], Ok(())),
            (None, vec![host, good, ("origin", "http://localhost:3000")], Ok(())),
            (None, vec![host], Err(Refusal::Token)),
            (None, vec![host, ("authorization", "Bearer 0123456789abcdee")], Err(Refusal::Token)),
            (None, vec![host, ("authorization", "Bearer 0123456789abcde")], Err(Refusal::Token)),
            (None, vec![host, ("authorization", "Bearer")], Err(Refusal::Token)),
            (None, vec![host, ("authorization", "Basic 0123456789abcdef")], Err(Refusal::Token)),
            (Some("token="), vec![host], Err(Refusal::Token)),
            (Some("xtoken=0123456789abcdef"), vec![host], Err(Refusal::Token)),
            // The header counts, if there is one.
            (Some("token=0123456789abcdef"), vec![host, ("authorization", "Bearer x")], Err(Refusal::Token)),
            (None, vec![good], Err(Refusal::Host)),
            (None, vec![("host", "evil.example"), good], Err(Refusal::Host)),
            (None, vec![("host", "localhost.evil.example:80"), good], Err(Refusal::Host)),
            (None, vec![host, good, ("origin", "http://evil.example")], Err(Refusal::Origin)),
            (None, vec![host, good, ("origin", "https://localhost")], Err(Refusal::Origin)),
            (None, vec![host, good, ("origin", "null")], Err(Refusal::Origin)),
        ] {
            assert_eq!(checked(&with_query(query), &headers), expected, "{query:?} {headers:?}");
        }
    }

    #[test]
    fn every_header_counts_and_so_does_an_address_in_full() {
        let host = ("host", "127.0.0.1:8080");
        let good = ("authorization", "Bearer 0123456789abcdef");
        let (own, foreign) = (("origin", "http://localhost:3000"), ("origin", "http://evil.example"));
        for (target, headers, expected) in [
            ("/mcp", vec![host, host, good, own, own], Ok(())),
            ("/mcp", vec![host, ("host", "evil.example"), good], Err(Refusal::Host)),
            ("/mcp", vec![("host", "evil.example"), host, good], Err(Refusal::Host)),
            ("/mcp", vec![host, good, own, foreign], Err(Refusal::Origin)),
            ("/mcp", vec![host, good, foreign, own], Err(Refusal::Origin)),
            ("http://127.0.0.1:8080/mcp", vec![host, good], Ok(())),
            ("http://[::1]:8080/mcp", vec![host, good], Ok(())),
            ("http://evil.example/mcp", vec![host, good], Err(Refusal::Host)),
            ("http://evil.example:8080/mcp", vec![host, good], Err(Refusal::Host)),
            ("http://localhost@evil.example/mcp", vec![host, good], Err(Refusal::Host)),
            ("http://evil.example@localhost/mcp", vec![host, good], Err(Refusal::Host)),
            ("http://127.0.0.1/mcp", vec![good], Err(Refusal::Host)),
        ] {
            assert_eq!(checked(target, &headers), expected, "{target} {headers:?}");
        }
    }
}
