//! Mail that leaves through a local port: it is read when its answer was written, and a client that is gone takes none.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use atm_support::wait_until;
use serde_json::json;

use super::http::Served;
use crate::scene::World;

/// As many calls of one client may wait for mail.
const WAITERS: u64 = 8;

fn poll(id: u64, timeout: u64) -> String {
    let params = json!({ "name": "poll_inbox", "arguments": { "timeout_ms": timeout } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn unread(world: &World) -> usize {
    world.json(&["inbox", "bob", "--unread"]).as_array().unwrap().len()
}

/// Asks, and waits until the answer begins.
fn begin(server: &Served, session: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nMcp-Session-Id: {session}\r\nContent-Length: {}\r\n\r\n{body}",
        server.host,
        server.token,
        body.len()
    )
    .unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    stream
}

/// They waited on, and took the mail that came later: it was marked as read and recorded as seen.
#[test]
fn who_is_gone_waits_no_more_and_takes_no_mail() {
    let world = World::with_team();
    let server = Served::new(&world);
    let session = server.greet();
    let named = format!("Mcp-Session-Id: {session}\nMCP-Protocol-Version: 2025-06-18\n");
    let started = Instant::now();
    let gone: Vec<TcpStream> =
        (0..WAITERS).map(|number| begin(&server, &session, &poll(10 + number, 30000))).collect();
    let mut id = 100;
    let mut ask = |timeout| {
        id += 1;
        server.post(&named, poll(id, timeout).as_bytes()).body
    };
    wait_until("all places are taken", || ask(1).contains("calls wait already"));
    drop(gone);
    wait_until("their places are free", || !ask(1).contains("calls wait already"));
    assert!(started.elapsed() < Duration::from_secs(20), "their time was not over");
    world.ok(&["-t", "dev", "--as", "alice", "send", "bob", "for who is there"]);
    assert_eq!(unread(&world), 1);
    let answer = ask(30000);
    assert!(answer.contains("for who is there"), "{answer}");
    wait_until("it is marked behind the answer", || unread(&world) == 0);
    assert!(!ask(1).contains("for who is there"), "it is handed over once");
}

#[test]
fn the_next_call_of_the_same_client_finds_marked_what_it_got() {
    let world = World::with_team();
    let server = Served::new(&world);
    let session = server.greet();
    let named = format!("Mcp-Session-Id: {session}\nMCP-Protocol-Version: 2025-06-18\n");
    for round in 0..10 {
        world.ok(&["-t", "dev", "--as", "alice", "send", "bob", &format!("mail {round}.")]);
        let answer = server.post(&named, poll(10 + 2 * round, 30000).as_bytes()).body;
        assert!(answer.contains(&format!("mail {round}.")), "{answer}");
        let answer = server.post(&named, poll(11 + 2 * round, 1).as_bytes()).body;
        assert!(!answer.contains("mail "), "{answer}");
    }
}
