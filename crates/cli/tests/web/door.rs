//! Who comes in.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use atm_support::{TestEnv, wait_until};
use rstest::rstest;
use serde_json::json;

use crate::ATM;
use crate::server::{Server, run, team};

#[rstest]
#[case("GET", "/")]
#[case("GET", "/api/v1/teams")]
#[case("GET", "/api/v1/events")]
#[case("POST", "/api/v1/messages")]
#[case("GET", "/openapi.json")]
#[case("GET", "/metrics")]
#[case("GET", "/healthz")]
#[case("GET", "/assets/atm.css")]
#[case("GET", "/nowhere")]
fn without_a_key_there_is_401_and_nothing_else(#[case] method: &str, #[case] path: &str) {
    let server = Server::new();
    let said = server.ask(method, path, &[], "");
    assert_eq!((said.status, said.code().as_str()), (401, "no_token"), "{said:?}");
    assert!(!said.body.contains("alice"), "{said:?}");
    assert_eq!(said.header("content-type"), Some("application/problem+json"));
    let person = server.ask(method, path, &["Accept: text/html"], "");
    assert_eq!(person.status, 401);
}

#[test]
fn the_printed_address_lets_one_browser_in_once() {
    let server = Server::new();
    let said = server.ask("GET", &format!("/?token={}", server.one_time), &[], "");
    assert_eq!((said.status, said.header("location")), (303, Some("/")), "{said:?}");
    let cookie = said.header("set-cookie").unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    // Nothing of the token goes further: not in the address, to other pages, or into a cache.
    assert_eq!(
        (said.header("referrer-policy"), said.header("cache-control")),
        (Some("no-referrer"), Some("no-store"))
    );
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(server.ask("GET", "/", &[&cookie], "").status, 200);
    // Who has stolen it comes too late.
    let thief = server.ask("GET", &format!("/?token={}", server.one_time), &[], "");
    assert_eq!(thief.status, 401, "{thief:?}");
    assert!(thief.header("set-cookie").is_none());
    // It is no token for programs, nor is theirs an entrance.
    assert_eq!(
        server.ask("GET", "/", &[&format!("Authorization: Bearer {}", server.one_time)], "").status,
        401
    );
    assert_eq!(server.ask("GET", &format!("/?token={}", server.token), &[], "").status, 401);
}

#[test]
fn the_token_of_programs_is_in_a_file_for_its_owner_alone() {
    let server = Server::new();
    let mode = fs::metadata(server.world.state().join("web.token")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(server.get("/api/v1/teams").status, 200);
}

#[test]
fn pages_of_others_and_rebound_names_are_refused() {
    let server = Server::new();
    let (cookie, bearer) = (server.session(), server.bearer());
    let letter = json!({ "to": "alice", "text": "evil" }).to_string();
    let kind = "Content-Type: application/json";
    let own = format!("Origin: http://{}", server.host);
    for (headers, status) in [
        (vec![cookie.as_str(), kind, "Origin: http://evil.example"], 403),
        (vec![&cookie, kind, "Origin: null"], 403),
        (vec![&cookie, kind, "Origin: http://127.0.0.1:1"], 403),
        (vec![&cookie, kind], 403),
        (vec![&cookie, kind, &own, "Sec-Fetch-Site: cross-site"], 403),
        (vec![&bearer, kind, "Origin: http://evil.example"], 403),
        (vec![&bearer, kind, "Host: evil.example"], 403),
        (vec![&bearer, "Content-Type: text/plain"], 415),
        (vec![&cookie, "Content-Type: text/plain", &own], 415),
    ] {
        let said = server.ask("POST", "/api/v1/messages", &headers, &letter);
        assert_eq!(said.status, status, "{headers:?}: {said:?}");
    }
    let rebound = server.ask("GET", "/", &[&cookie, "Host: evil.example"], "");
    assert_eq!((rebound.status, rebound.code().as_str()), (403, "foreign_host"));
    assert_eq!(server.json(&["inbox", "alice"]), json!([]), "nothing was sent");
    let sent = server.ask("POST", "/api/v1/messages", &[&cookie, kind, &own], &letter);
    assert_eq!(sent.status, 201, "{sent:?}");
}

/// Every address is held against Host and Origin, those of streams and of agents' clients too.
#[rstest]
#[case("GET", "/api/v1/events")]
#[case("POST", "/mcp")]
#[case("GET", "/mcp")]
#[case("GET", "/assets/atm.js")]
#[case("POST", "/api/v1/entrances")]
#[case("OPTIONS", "/api/v1/messages")]
fn no_address_answers_a_rebound_name_or_a_foreign_page(#[case] method: &str, #[case] path: &str) {
    let server = Server::new();
    let bearer = server.bearer();
    for (header, code) in [
        ("Host: evil.example", "foreign_host"),
        ("Origin: http://evil.example", "foreign_origin"),
        ("Sec-Fetch-Site: cross-site", "foreign_origin"),
    ] {
        let said = server.ask(method, path, &[&bearer, header], "");
        assert_eq!((said.status, said.code().as_str()), (403, code), "{header}: {said:?}");
        assert_eq!(said.header("access-control-allow-origin"), None);
    }
}

/// Paths that lead out of what is served, odd names and methods: refused, and nothing of them is echoed as markup.
#[rstest]
#[case("/assets/../../../../etc/passwd", 404)]
#[case("/assets/..%2f..%2f..%2fetc%2fpasswd", 404)]
#[case("/teams/..%2f..%2fetc", 400)]
#[case("/teams/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 400)]
#[case("/teams/dev/inboxes/..%2f..%2fconfig", 400)]
#[case("/api/v1/inboxes/%00", 400)]
#[case("/messages/%3Cscript%3Ealert(1)%3C%2Fscript%3E", 404)]
#[case("/search?since=%3Cscript%3E", 400)]
#[case("//evil.example/", 404)]
fn odd_paths_lead_nowhere(#[case] path: &str, #[case] status: u16) {
    let server = Server::new();
    for accept in ["Accept: text/html", "Accept: application/json"] {
        let said = server.ask("GET", path, &[&server.bearer(), accept], "");
        assert_eq!(said.status, status, "{said:?}");
        assert!(!said.body.contains("root:") && !said.body.contains("<script>alert"), "{said:?}");
    }
}

/// Who says nothing, or very slowly, does not keep a place for long; others are served meanwhile.
#[test]
fn slow_connections_are_closed_and_hold_nobody_up() {
    let server = Server::new();
    let mut silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(&server.host).unwrap()).collect();
    let mut slow = TcpStream::connect(&server.host).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nX-").unwrap();
    assert_eq!(server.get("/api/v1/teams").status, 200);
    silent.push(slow);
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut said = Vec::new();
        // Closed, with a word about it or without; a time-out of ours would be an error.
        let read = stream.read_to_end(&mut said);
        assert!(read.is_ok() || read.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    }
    assert_eq!(server.get("/api/v1/teams").status, 200);
}

#[test]
fn every_answer_keeps_browsers_careful() {
    let server = Server::new();
    for path in ["/", "/api/v1/teams", "/assets/atm.js", "/nowhere"] {
        let said = server.get(path);
        let policy = said.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(said.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
    let page = server.get("/").body;
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains("onclick"), "{page}");
    assert_eq!(page.matches("<script").count(), 1, "one file, nothing inline");
}

#[test]
fn what_changes_something_is_refused_when_it_is_read_only() {
    let server = Server::of(team(), &["--read-only"]);
    let said = server.post("/api/v1/messages", &json!({ "to": "alice", "text": "x" }));
    assert_eq!((said.status, said.code().as_str()), (403, "read_only"));
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_large_body_and_many_guesses_are_cut_off() {
    let server = Server::new();
    let large =
        server.post("/api/v1/messages", &json!({ "to": "alice", "text": "x".repeat(5 * 1024 * 1024) }));
    assert_eq!((large.status, large.code().as_str()), (413, "too_large"));
    let guesses = (0..200)
        .map(|number| server.ask("GET", "/", &[&format!("Authorization: Bearer {number}")], "").status);
    let refused: Vec<u16> = guesses.collect();
    assert!(refused.contains(&401) && refused.contains(&429), "{refused:?}");
    assert_eq!(server.get("/api/v1/teams").status, 200, "who has the token is not held up by who has not");
}

#[test]
fn another_address_needs_a_word_and_a_taken_port_is_said() {
    let server = Server::new();
    let world = TestEnv::new();
    let refused = world.atm(ATM).args(["web", "--bind", "0.0.0.0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("can be reached from other machines") && said.contains("--allow-remote"), "{said}");
    let port = server.host.rsplit_once(':').unwrap().1;
    let taken = world.atm(ATM).args(["web", "--port", port]).output().unwrap();
    assert_eq!(taken.status.code(), Some(7), "{}", String::from_utf8_lossy(&taken.stderr));
}

/// With a port in the settings the daemon serves, and `atm web` lets one more browser in there.
#[test]
fn the_daemon_serves_it_where_the_settings_say_so() {
    let server = Server::new();
    let port = server.host.rsplit_once(':').unwrap().1.to_owned();
    let world = server.world.clone();
    drop(server);
    run(&world, &["config", "set", "web.port", &port]);
    run(&world, &["config", "set", "web.read_only", "true"]);
    run(&world, &["daemon", "start"]);
    let found = wait_for_daemon(&world);
    let (address, one_time) = found.split_once("?token=").unwrap();
    assert_eq!(address, format!("http://127.0.0.1:{port}/"));
    let dashboard = Server::at(world.clone(), &format!("127.0.0.1:{port}"), one_time);
    let cookie = dashboard.session();
    assert_eq!(dashboard.ask("GET", "/", &[&cookie], "").status, 200);
    assert_eq!(
        dashboard.post("/api/v1/messages", &json!({ "to": "alice", "text": "x" })).code(),
        "read_only"
    );
    run(&world, &["daemon", "stop"]);
}

/// The address that `atm web` gives while a daemon serves.
fn wait_for_daemon(world: &TestEnv) -> String {
    let mut found = String::new();
    wait_until("the daemon serves", || {
        let said = world.atm(ATM).args(["web", "--for", "1ms"]).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.lines().next().unwrap_or_default().clone_into(&mut found);
        said.contains("the daemon serves it")
    });
    found
}

#[test]
fn agents_clients_speak_mcp_with_the_same_token() {
    let server = Server::new();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    let headers = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    let bearer = server.bearer();
    let said = server.ask("POST", "/mcp", &[&[bearer.as_str()][..], &headers].concat(), &hello.to_string());
    assert_eq!(said.status, 200, "{said:?}");
    assert!(said.body.contains("serverInfo"), "{said:?}");
    let stranger = server.ask("POST", "/mcp", &headers, &hello.to_string());
    assert_eq!(stranger.status, 401);
    let page = server.ask(
        "POST",
        "/mcp",
        &[&[server.session().as_str()][..], &headers].concat(),
        &hello.to_string(),
    );
    assert_ne!(page.status, 200, "a page has no business there: {page:?}");
}

#[test]
fn a_session_outlives_the_server_which_ends_orderly() {
    let mut server = Server::new();
    let cookie = server.session();
    assert_eq!(server.end(), Some(0));
    server.begin_again();
    assert_eq!(server.ask("GET", "/", &[&cookie], "").status, 200);
    fs::remove_file(server.world.state().join("http.token")).unwrap();
    assert_eq!(server.end(), Some(0));
    server.begin_again();
    assert_eq!(server.ask("GET", "/", &[&cookie], "").status, 401, "new secret, no sessions");
}
