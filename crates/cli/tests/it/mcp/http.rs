//! The server on a local port: who may call, and how much.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::World;

/// A server at work; ends with the test.
pub(super) struct Served {
    child: Child,
    pub(super) host: String,
    pub(super) token: String,
}

/// An answer's status, headers and body, as far as it came.
pub(super) struct Said {
    status: u16,
    head: String,
    pub(super) body: String,
}

impl Served {
    pub(super) fn new(world: &World) -> Self {
        Self::of(world, &["--as", "bob", "-t", "dev"])
    }

    /// A server that is started so.
    fn of(world: &World, args: &[&str]) -> Self {
        let args = [&["mcp", "--http", "127.0.0.1:0"], args].concat();
        let mut child = world.command(&args).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (host, token) = url.trim().trim_start_matches("http://").split_once("/mcp?token=").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        Self { child, host, token }
    }

    fn say(&self, head: &str, body: &[u8]) -> Said {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = body.len();
        let head = head.replace("HOST", &self.host).replace('\n', "\r\n");
        // It may answer and close before it has all of it.
        let _ = write!(stream, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Said { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(super) fn post(&self, more: &str, body: &[u8]) -> Said {
        let head = format!(
            "POST /mcp HTTP/1.1\nHost: HOST\nAuthorization: Bearer {}\nContent-Type: application/json\nAccept: \
             application/json, text/event-stream\n{more}",
            self.token
        );
        self.say(&head, body)
    }

    /// Begins a session; gives its id.
    pub(super) fn greet(&self) -> String {
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let said = self.post("", body.to_string().as_bytes());
        assert_eq!(said.status, 200, "{} {}", said.head, said.body);
        let id = said.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap_or_else(|| panic!("{}", said.head)).to_owned()
    }

    fn ping(&self, session: &str) -> u16 {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
        let more = format!("Mcp-Session-Id: {session}\nMCP-Protocol-Version: 2025-06-18\n");
        self.post(&more, body.to_string().as_bytes()).status
    }

    /// The most memory it ever had, in kilobytes.
    fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse().ok())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(said: &Said) -> String {
    let document: Value = serde_json::from_str(&said.body).unwrap_or_else(|_| panic!("{}", said.body));
    document["error"]["code"].as_str().unwrap().to_owned()
}

#[test]
fn without_the_token_there_is_nothing() {
    let world = World::with_team();
    let server = Served::new(&world);
    for path in ["/mcp", "/", "/other", "/mcp?token=", "/mcp?token=0000"] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let said = server.say(&format!("{method} {path} HTTP/1.1\nHost: HOST\n"), b"");
            assert_eq!((said.status, code(&said).as_str()), (401, "no_token"), "{method} {path}");
            assert!(said.head.to_lowercase().contains("www-authenticate: bearer"), "{}", said.head);
        }
    }
    let token = &server.token;
    let wrong =
        format!("POST /mcp HTTP/1.1\nHost: HOST\nAuthorization: Bearer {}\n", token.replace('a', "b"));
    assert_eq!(server.say(&wrong, b"").status, if token.contains('a') { 401 } else { 406 });
    let foreign = format!("POST /mcp HTTP/1.1\nHost: evil.example\nAuthorization: Bearer {token}\n");
    assert_eq!(code(&server.say(&foreign, b"")), "foreign_host");
    let said = server.post("Origin: http://evil.example\n", b"");
    assert_eq!((said.status, code(&said).as_str()), (403, "foreign_origin"));
    let elsewhere = format!("GET / HTTP/1.1\nHost: HOST\nAuthorization: Bearer {token}\n");
    assert_eq!(server.say(&elsewhere, b"").status, 404);
    assert_eq!(server.ping(&server.greet()), 200);
}

#[test]
fn the_token_is_kept_for_the_next_start() {
    let world = World::with_team();
    let first = Served::new(&world).token.clone();
    assert_eq!(Served::new(&world).token, first);
    std::fs::remove_file(world.state().join("http.token")).unwrap();
    assert_ne!(Served::new(&world).token, first);
}

/// One token opened every server of the same state folder.
#[test]
fn the_token_of_a_members_server_opens_no_other() {
    let world = World::with_team();
    let (bob, lead) = (Served::new(&world), Served::of(&world, &["--as", "team-lead@dev"]));
    let anybody = Served::of(&world, &[]);
    for (server, token) in
        [(&lead, &bob.token), (&anybody, &bob.token), (&bob, &lead.token), (&bob, &anybody.token)]
    {
        let said = server.say(&format!("GET /mcp?token={token} HTTP/1.1\nHost: HOST\n"), b"");
        assert_eq!((said.status, code(&said).as_str()), (401, "no_token"));
    }
    let secret = std::fs::read_to_string(world.state().join("http.token")).unwrap();
    assert_ne!(secret.trim(), bob.token);
    assert_eq!(Served::of(&world, &["--as", "bob@dev"]).token, bob.token, "it is the same server");
}

#[test]
fn who_names_another_host_as_well_is_refused() {
    let world = World::with_team();
    let server = Served::new(&world);
    let twice = server.post("Host: evil.example\n", b"");
    assert_eq!(code(&twice), "foreign_host");
    let token = &server.token;
    let full = format!("GET http://evil.example/mcp?token={token} HTTP/1.1\nHost: HOST\n");
    assert_eq!(code(&server.say(&full, b"")), "foreign_host");
    let origins = server.post("Origin: http://localhost\nOrigin: http://evil.example\n", b"");
    assert_eq!(code(&origins), "foreign_origin");
}

/// They kept everybody else out for half a minute.
#[test]
fn connections_without_the_token_make_room_and_end_soon() {
    let world = World::with_team();
    let server = Served::new(&world);
    let started = Instant::now();
    let mut half_open: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&server.host).unwrap()).collect();
    assert_eq!(server.ping(&server.greet()), 200);
    let mut last = half_open.pop().unwrap();
    last.write_all(b"POST /mcp HTTP/1.1\r\n").unwrap();
    last.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = last.read_to_end(&mut Vec::new());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_body_has_a_limit() {
    let world = World::with_team();
    let server = Served::new(&world);
    let said = server.post("", &vec![b' '; 5 * 1024 * 1024]);
    assert_eq!((said.status, code(&said).as_str()), (413, "too_large"));
}

/// They were kept without a limit: 2,000 took 16 to 114 MB.
#[test]
fn sessions_are_bounded_and_the_oldest_idle_one_goes() {
    let world = World::with_team();
    let server = Served::new(&world);
    let first = server.greet();
    let used = server.greet();
    for _ in 0..70 {
        server.greet();
        assert_eq!(server.ping(&used), 200, "who is at work stays");
    }
    assert_eq!(server.ping(&first), 404, "who is idle for longest went");
    let before = server.peak();
    for _ in 0..500 {
        server.greet();
    }
    if let (Some(before), Some(after)) = (before, server.peak()) {
        assert!(after < before + 8 * 1024, "{before} kB, then {after} kB");
    }
}
