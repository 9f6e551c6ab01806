//! The stream of events: no gap and no repetition, over breaks and restarts.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;

use atm_support::wait_until;
use serde_json::Value;

use crate::server::{Server, run};

/// An event of a stream.
#[derive(Debug, Clone)]
struct Event {
    id: String,
    kind: String,
    data: Value,
}

struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(server: &Server, last: Option<&str>, query: &str) -> Self {
        let bearer = server.bearer();
        let last = last.map(|last| format!("Last-Event-ID: {last}"));
        let headers: Vec<&str> = [Some(bearer.as_str()), last.as_deref()].into_iter().flatten().collect();
        let stream = server.connect("GET", &format!("/api/v1/events{query}"), &headers, "");
        Self(BufReader::new(stream))
    }

    /// The next event. Chunks' sizes and comments stand between the lines and are no fields.
    fn next(&mut self) -> Event {
        let mut event = Event { id: String::new(), kind: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut event.id),
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                _ if event.data.is_null() => {}
                _ => return event,
            }
        }
    }

    /// Reads up to the message with this text; the texts of all messages on the way.
    fn until(&mut self, text: &str) -> (Vec<String>, String) {
        let mut texts = Vec::new();
        loop {
            let event = self.next();
            if event.kind == "message" {
                texts.push(event.data["text"].as_str().unwrap().to_owned());
            }
            if texts.last().is_some_and(|last| last == text) {
                return (texts, event.id);
            }
        }
    }
}

#[test]
fn a_reader_misses_nothing_and_gets_nothing_twice_over_a_restart() {
    let mut server = Server::new();
    let mut stream = Stream::open(&server, None, "");
    assert_eq!(stream.next().kind, "open");
    server.run(&["send", "alice", "one"]);
    let (texts, last) = stream.until("one");
    assert_eq!(texts, ["one"]);
    drop(stream);
    server.run(&["send", "alice", "two"]);
    let mut stream = Stream::open(&server, Some(&last), "");
    let (texts, last) = stream.until("two");
    assert_eq!(texts, ["two"]);
    assert_eq!(server.end(), Some(0), "an open stream does not hold up the end");
    server.run(&["send", "alice", "three"]);
    server.run(&["send", "alice", "four"]);
    server.begin_again();
    let mut stream = Stream::open(&server, Some(&last), "");
    let (texts, _) = stream.until("four");
    assert_eq!(texts, ["three", "four"]);
}

#[test]
fn a_cursor_of_a_lost_log_gives_a_reset() {
    let server = Server::new();
    server.run(&["send", "alice", "one"]);
    let lost = "00000000000000000000000000000000-10000000001-00000000000000000000000000000000";
    for cursor in [lost, "nonsense"] {
        let mut stream = Stream::open(&server, Some(cursor), "");
        let mut event = stream.next();
        if event.kind == "open" {
            event = stream.next();
        }
        assert_eq!(
            (event.kind.as_str(), &event.data["event"]),
            ("reset", &Value::from("reset")),
            "{event:?}"
        );
        server.run(&["send", "alice", cursor]);
        let (texts, _) = stream.until(cursor);
        assert_eq!(texts, [cursor], "it goes on from there");
    }
}

#[test]
fn what_other_programs_do_is_told_while_somebody_listens_and_teams_are_told_apart() {
    let server = Server::new();
    server.run(&["team", "create", "ops"]);
    server.run(&["send", "alice", "please", "-t", "dev"]);
    let mut stream = Stream::open(&server, None, "?team=dev");
    assert_eq!(stream.next().kind, "open");
    server.run(&["send", "team-lead", "elsewhere", "-t", "ops"]);
    // A client takes the mail, without a word to us.
    let inbox = server.world.root().join("teams/dev/inboxes/alice.json");
    let taken = std::fs::read_to_string(&inbox)
        .unwrap()
        .replace("\"read\": false", "\"read\": true")
        .replace("\"read\":false", "\"read\":true");
    std::fs::write(&inbox, taken).unwrap();
    loop {
        let event = stream.next();
        assert_ne!(event.data["team"], "ops", "{event:?}");
        if event.kind == "stage" && event.data["stage"] == "taken" {
            break;
        }
    }
}

#[test]
fn a_team_that_is_made_later_is_followed_too() {
    let server = Server::new();
    let mut stream = Stream::open(&server, None, "");
    assert_eq!(stream.next().kind, "open");
    server.run(&["team", "create", "late"]);
    server.run(&["send", "team-lead", "welcome", "-t", "late"]);
    let (texts, _) = stream.until("welcome");
    assert_eq!(texts, ["welcome"]);
}

/// The log is deleted while a stream is open: the stream says so, and goes on with the new one.
#[test]
fn a_log_that_is_lost_while_somebody_listens_gives_a_reset() {
    let server = Server::new();
    server.run(&["send", "alice", "before"]);
    let mut stream = Stream::open(&server, None, "");
    assert_eq!(stream.next().kind, "open");
    for entry in std::fs::read_dir(server.world.state()).unwrap().map(Result::unwrap) {
        if entry.file_name().to_string_lossy().contains(".db") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    server.run(&["send", "alice", "after"]);
    while stream.next().kind != "reset" {}
    // What it has up to there is to be asked for; from there on, nothing is missed.
    server.run(&["send", "alice", "later"]);
    stream.until("later");
    let log = server.get("/api/v1/log").json();
    let texts: Vec<&str> =
        log["items"].as_array().unwrap().iter().filter_map(|one| one["text"].as_str()).collect();
    assert_eq!(texts, ["later", "after", "before"]);
}

/// The same stream from the server of a daemon, over a restart of the daemon.
#[test]
fn a_reader_of_a_daemons_server_misses_nothing_over_its_restart() {
    let server = Server::new();
    let (host, world) = (server.host.clone(), server.world.clone());
    drop(server);
    let port = host.rsplit_once(':').unwrap().1;
    run(&world, &["config", "set", "web.port", port]);
    run(&world, &["daemon", "start"]);
    wait_until("the daemon serves", || TcpStream::connect(&host).is_ok());
    let server = Server::at(world.clone(), &host, "");
    let mut stream = Stream::open(&server, None, "");
    assert_eq!(stream.next().kind, "open");
    server.run(&["send", "alice", "one"]);
    let (texts, last) = stream.until("one");
    assert_eq!(texts, ["one"]);
    run(&world, &["daemon", "stop"]);
    server.run(&["send", "alice", "two"]);
    run(&world, &["daemon", "start"]);
    wait_until("the daemon serves again", || TcpStream::connect(&host).is_ok());
    server.run(&["send", "alice", "three"]);
    let mut stream = Stream::open(&server, Some(&last), "");
    assert_eq!(stream.until("three").0, ["two", "three"]);
    run(&world, &["daemon", "stop"]);
}
