//! Who may call: requests that are meant for this server, from no foreign page, with the token or a session.
//!
//! A pure decision over a request's head, so that it is tested in a table.

use std::net::IpAddr;

use atm_wire::Stamp;
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use axum::http::{Method, StatusCode, Uri};

use crate::problem::Problem;
use crate::session::{self, Keys};

/// The names of this machine for itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// The parameter of the address that carries the token that is good once.
const PARAMETER: &str = "token=";
/// From where a browser says that a request comes.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// A browser that fetches ahead says so.
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its `Host` is not a name of this server: a page may have had its name resolved to us.
    Host,
    /// It was made by a page of somebody else.
    Origin,
    /// It has neither the token nor a session.
    Token,
    /// Its address was used before, or too late.
    Entrance,
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let (status, code, detail) = match refusal {
            Refusal::Host => (
                StatusCode::FORBIDDEN,
                "foreign_host",
                "the Host header must name this server: localhost, 127.0.0.1, [::1], or a name given with --host",
            ),
            Refusal::Origin => {
                (StatusCode::FORBIDDEN, "foreign_origin", "requests of other pages than our own are refused")
            }
            Refusal::Token => (
                StatusCode::UNAUTHORIZED,
                "no_token",
                "open the address that `atm web` printed, which is good once, or send the token of web.token in the state \
                 folder: Authorization: Bearer TOKEN",
            ),
            // The same code as above: programs know it.
            Refusal::Entrance => (
                StatusCode::UNAUTHORIZED,
                "no_token",
                "this address was opened before, or later than 10 minutes after it was printed, or belongs to a server that has \
                 ended: start `atm web` again and open the address that it prints",
            ),
        };
        Self::new(status, code, detail)
    }
}

/// How somebody came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A program, with the token.
    Bearer,
    /// A browser, with a session.
    Session,
    /// A browser, with the token that is good once, which has been used up now.
    OneTime,
}

/// The names under which a server is meant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Its port; a Host without one is meant for another server.
    pub(crate) port: u16,
    /// Names that were said at the start, with any port: a proxy has its own.
    pub(crate) hosts: Vec<String>,
    /// It can be reached from other machines, by any of this machine's addresses. An address cannot be rebound, a name can.
    pub(crate) by_address: bool,
}

impl Names {
    fn has(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        let is_own_port = port.unwrap_or(80) == self.port;
        let is = |own: &str| own.eq_ignore_ascii_case(name);
        let is_address = || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        self.hosts.iter().any(|own| is(own))
            || is_own_port && (OWN_NAMES.iter().any(|own| is(own)) || self.by_address && is_address())
    }
}

/// A request's head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl Head<'_> {
    /// Every value of a header: which one of two a browser or a proxy went by is not known.
    fn all(&self, name: HeaderName) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
    }

    fn one(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap_or_default())
    }

    /// Whether somebody opens the page, by a link or by hand: that shows it to them, and to nobody else.
    fn opens_page(&self) -> bool {
        self.method == Method::GET && self.one(FETCH_MODE) == Some("navigate")
    }
}

/// Whether a request may pass, and by which way. Uses up the token that is good once.
pub(crate) fn check(head: Head<'_>, names: &Names, keys: &Keys, now: Stamp) -> Result<Way, Refusal> {
    let hosts = head.all(HOST);
    // An address in full names a host of its own.
    let addressed = head.uri.authority().is_none_or(|authority| names.has(authority.as_str()));
    if hosts.is_empty() || !addressed || !hosts.iter().all(|host| names.has(host)) {
        return Err(Refusal::Host);
    }
    if !head.all(ORIGIN).iter().all(|origin| is_own_page(origin, hosts[0])) {
        return Err(Refusal::Origin);
    }
    let is_own_site = |site: &&str| matches!(*site, "same-origin" | "none");
    if !head.all(FETCH_SITE).iter().all(is_own_site) && !head.opens_page() {
        return Err(Refusal::Origin);
    }
    if let Some(value) = head.one(AUTHORIZATION) {
        let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let fits = token.is_some_and(|(_, token)| keys.is_token(token.trim()));
        return if fits { Ok(Way::Bearer) } else { Err(Refusal::Token) };
    }
    let one_time = one_time(head.uri).filter(|_| head.method == Method::GET);
    let is_ahead = head.headers.contains_key(PURPOSE);
    if !is_ahead && one_time.is_some_and(|given| keys.exchange(given, now)) {
        return Ok(Way::OneTime);
    }
    // Who has a session may open the address again: from a bookmark, or from the browser's history.
    let cookies = head.all(COOKIE);
    let mut cookies =
        cookies.iter().flat_map(|line| line.split(';')).filter_map(|part| part.trim().split_once('='));
    if !cookies.any(|(name, value)| name == session::COOKIE && keys.is_session(value, now)) {
        return Err(if one_time.is_some() { Refusal::Entrance } else { Refusal::Token });
    }
    // A browser says from which page a change comes; what does not is none, and has the token.
    let says_origin = head.headers.contains_key(ORIGIN) || head.one(FETCH_SITE) == Some("same-origin");
    if !matches!(*head.method, Method::GET | Method::HEAD) && !says_origin {
        return Err(Refusal::Origin);
    }
    Ok(Way::Session)
}

fn one_time(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|part| part.strip_prefix(PARAMETER))
}

/// The same address without the token.
pub(crate) fn without_token(uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default().split('&');
    let rest: Vec<&str> = query.filter(|part| !part.starts_with(PARAMETER) && !part.is_empty()).collect();
    // Two slashes at the start would name another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) }
}

fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, Some(port.parse().unwrap_or(0)))
        }
        _ => (host, None),
    }
}

/// A page of this very server: the same host and port. A proxy speaks TLS for us.
fn is_own_page(origin: &str, host: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| origin.strip_prefix(scheme).is_some_and(|page| page.eq_ignore_ascii_case(host)))
}

/// Compares in a time that does not tell where they differ.
pub(crate) fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    let differs = |(a, b): (&u8, &u8)| a ^ b;
    given.len() == wanted.len() && given.iter().zip(wanted).map(differs).fold(0, |all, one| all | one) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");

    struct Scene {
        keys: Keys,
        one_time: String,
        names: Names,
        now: Stamp,
    }

    impl Scene {
        fn new() -> Self {
            let keys = Keys::new("a".repeat(64), "b".repeat(64));
            let now = Stamp::from_millis(1_794_768_000_000);
            let one_time = keys.make_entrance(now);
            let names = Names { port: 8080, ..Names::default() };
            Self { keys, one_time, names, now }
        }

        fn check(
            &self,
            method: &Method,
            target: &str,
            headers: &[(&'static str, &str)],
        ) -> Result<Way, Refusal> {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            let uri = target.parse().unwrap();
            check(Head { method, uri: &uri, headers: &map }, &self.names, &self.keys, self.now)
        }
    }

    #[test]
    fn only_who_means_this_server_from_its_own_page_with_a_key_passes() {
        let scene = Scene::new();
        let cookie = format!("other=1; atm_session={}", scene.keys.open_session(scene.now));
        let (cookie, bearer) = (("cookie", cookie.as_str()), format!("Bearer {}", "a".repeat(64)));
        let bearer = ("authorization", bearer.as_str());
        let own = ("origin", "http://127.0.0.1:8080");
        let foreign = ("origin", "http://evil.example");
        let other_port = ("origin", "http://127.0.0.1:9090");
        let site = |value| ("sec-fetch-site", value);
        let (get, post) = (Method::GET, Method::POST);
        for (method, headers, expected) in [
            (&get, vec![HOST, bearer], Ok(Way::Bearer)),
            (&post, vec![HOST, bearer], Ok(Way::Bearer)),
            (&get, vec![("host", "localhost:8080"), cookie], Ok(Way::Session)),
            (&get, vec![("host", "[::1]:8080"), cookie], Ok(Way::Session)),
            (&get, vec![HOST, cookie, site("none")], Ok(Way::Session)),
            (&post, vec![HOST, cookie, own], Ok(Way::Session)),
            (&post, vec![HOST, cookie, site("same-origin")], Ok(Way::Session)),
            (&get, vec![HOST, cookie, site("same-site"), ("sec-fetch-mode", "navigate")], Ok(Way::Session)),
            // Without a key.
            (&get, vec![HOST], Err(Refusal::Token)),
            (&get, vec![HOST, ("cookie", "atm_session=1.2.3")], Err(Refusal::Token)),
            (&get, vec![HOST, ("authorization", "Bearer x"), cookie], Err(Refusal::Token)),
            (&get, vec![HOST, ("authorization", "Basic x")], Err(Refusal::Token)),
            // From elsewhere.
            (&post, vec![HOST, cookie], Err(Refusal::Origin)),
            (&post, vec![HOST, cookie, foreign], Err(Refusal::Origin)),
            (&post, vec![HOST, cookie, other_port], Err(Refusal::Origin)),
            (&post, vec![HOST, cookie, own, foreign], Err(Refusal::Origin)),
            (&post, vec![HOST, bearer, foreign], Err(Refusal::Origin)),
            (&post, vec![HOST, cookie, ("origin", "null")], Err(Refusal::Origin)),
            (&get, vec![HOST, cookie, site("cross-site")], Err(Refusal::Origin)),
            (&get, vec![HOST, cookie, site("same-site")], Err(Refusal::Origin)),
            (
                &post,
                vec![HOST, cookie, own, site("same-site"), ("sec-fetch-mode", "navigate")],
                Err(Refusal::Origin),
            ),
            // By another name.
            (&get, vec![bearer], Err(Refusal::Host)),
            (&get, vec![("host", "evil.example:8080"), bearer], Err(Refusal::Host)),
            (&get, vec![("host", "127.0.0.1:9090"), bearer], Err(Refusal::Host)),
            (&get, vec![("host", "127.0.0.1"), bearer], Err(Refusal::Host)),
            (&get, vec![("host", "192.0.2.7:8080"), bearer], Err(Refusal::Host)),
            (&get, vec![HOST, ("host", "evil.example"), bearer], Err(Refusal::Host)),
        ] {
            assert_eq!(scene.check(method, "/", &headers), expected, "{method} {headers:?}");
        }
        assert_eq!(scene.check(&get, "http://evil.example/", &[HOST, bearer]), Err(Refusal::Host));
    }

    #[test]
    fn a_name_that_was_given_and_an_address_of_a_server_for_others_pass() {
        let mut scene = Scene::new();
        let bearer = format!("Bearer {}", "a".repeat(64));
        let with_host =
            |host| [("host", host), ("authorization", bearer.as_str()), ("origin", "https://atm.example")];
        scene.names.hosts = vec!["atm.example".to_owned()];
        assert_eq!(scene.check(&Method::POST, "/", &with_host("atm.example")), Ok(Way::Bearer));
        assert_eq!(scene.check(&Method::POST, "/", &with_host("evil.example")), Err(Refusal::Host));
        scene.names.by_address = true;
        let headers = [("host", "192.0.2.7:8080"), ("authorization", bearer.as_str())];
        assert_eq!(scene.check(&Method::GET, "/", &headers), Ok(Way::Bearer));
        assert_eq!(scene.check(&Method::GET, "/", &[("host", "a.example:8080")]), Err(Refusal::Host));
    }

    #[test]
    fn the_address_that_is_printed_lets_in_once_in_time_and_not_ahead() {
        let mut scene = Scene::new();
        let target = format!("/?token={}", scene.one_time);
        let ahead = [HOST, ("sec-purpose", "prefetch")];
        assert_eq!(scene.check(&Method::GET, &target, &ahead), Err(Refusal::Entrance));
        assert_eq!(scene.check(&Method::POST, &target, &[HOST]), Err(Refusal::Token));
        assert_eq!(scene.check(&Method::GET, &target, &[HOST]), Ok(Way::OneTime));
        assert_eq!(scene.check(&Method::GET, &target, &[HOST]), Err(Refusal::Entrance));
        let session = format!("atm_session={}", scene.keys.open_session(scene.now));
        assert_eq!(scene.check(&Method::GET, &target, &[HOST, ("cookie", &session)]), Ok(Way::Session));
        let target = format!("/?token={}", scene.keys.make_entrance(scene.now));
        scene.now = scene.now.saturating_add(session::OPEN_FOR);
        assert_eq!(scene.check(&Method::GET, &target, &[HOST]), Err(Refusal::Entrance));
        let problem = Problem::from(Refusal::Entrance);
        let minutes = format!("{} minutes", session::OPEN_FOR.as_secs() / 60);
        assert!(problem.detail.contains(&minutes) && problem.detail.contains("start `atm web` again"));
        assert_eq!(problem.code, Problem::from(Refusal::Token).code);
    }

    #[test]
    fn the_token_is_taken_out_of_the_address() {
        for (given, expected) in [
            ("/?token=1", "/"),
            ("/a?x=1&token=2&y=3", "/a?x=1&y=3"),
            ("//evil.example?token=1", "/evil.example"),
        ] {
            assert_eq!(without_token(&given.parse().unwrap()), expected);
        }
    }
}
