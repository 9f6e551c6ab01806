//! The control socket: both sides may be of other versions, and what is ordered is done.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::{env, thread};

use atm_support::wait_until;
use serde_json::{Value, json};

use super::Watched;
use crate::scene::World;

/// A daemon of another version: it has the lock, and gives each question the same answer. The questions come out here; it
/// ends after a `stop`.
fn another_version(world: &World, answer: Value) -> mpsc::Receiver<Value> {
    let folder = world.state().join("daemon");
    fs::create_dir_all(&folder).unwrap();
    let mut lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    write!(lock, "{}", std::process::id()).unwrap();
    let listener = UnixListener::bind(folder.join("socket")).unwrap();
    let (send, questions) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            let question: Value = serde_json::from_str(&line).unwrap();
            writeln!(stream, "{answer}").unwrap();
            let is_over = question["ask"] == "stop";
            let _ = send.send(question);
            if is_over {
                break;
            }
        }
        drop(lock);
    });
    questions
}

#[test]
fn a_daemon_of_another_version_is_asked_and_stopped_and_both_say_who_they_are() {
    let world = World::with_team();
    let status =
        json!({ "pid": 7, "version": "9.9.9", "build": "9.9.9 later", "moods": ["calm"], "teams": 3 });
    let answer = json!({ "atm": 9, "build": "9.9.9 later", "answer": status, "more": 1 });
    let questions = another_version(&world, answer);
    let asked = world.atm(&["--json", "daemon", "status"]);
    let said: Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!(
        (&said["running"], &said["sameBuild"], &said["teams"]),
        (&json!(true), &json!(false), &json!(3))
    );
    let shown = world.atm(&["daemon", "status"]);
    assert!(shown.stderr.contains("another build") && shown.stderr.contains("9.9.9 later"), "{shown:?}");
    assert_eq!(shown.code, Some(0), "what it does not say of itself has not failed: {shown:?}");
    assert_eq!(world.json(&["daemon", "stop"]), json!({ "stopped": true }));
    let questions: Vec<Value> = questions.iter().collect();
    let asks: Vec<&str> = questions.iter().filter_map(|question| question["ask"].as_str()).collect();
    assert_eq!(asks, ["status", "status", "stop"]);
    for question in &questions {
        let build = question["build"].as_str().unwrap();
        assert!(question["atm"] == 1 && build.contains(env!("CARGO_PKG_VERSION")), "{question}");
    }
}

#[test]
fn a_daemon_that_does_not_understand_is_told_from_one_that_hangs() {
    for answer in [json!({ "atm": 0, "error": "no such question" }), json!("what?")] {
        let world = World::with_team();
        let _questions = another_version(&world, answer);
        let asked = world.atm(&["--json", "daemon", "status"]);
        assert_eq!(
            (asked.code, asked.error()["code"].as_str()),
            (Some(6), Some("daemon_answer")),
            "{asked:?}"
        );
        world.ok(&["send", "bob", "hello"]);
    }
}

/// A world in which bob is woken by a program that runs this.
struct Woken {
    watched: Watched,
    calls: std::path::PathBuf,
}

impl Woken {
    fn new(script: &str) -> Self {
        let world = World::with_team();
        let folder = world.home().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("codex");
        let calls = world.home().join("calls");
        fs::write(&program, format!("#!/bin/sh\necho called >> {}\n{script}\n", calls.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        world.ok(&["member", "set", "bob", "--wake", "codex", "--session", "s-1"]);
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([folder].into_iter().chain(env::split_paths(&path))).unwrap();
        let started = world.command(&["daemon", "start"]).env("PATH", path).output().unwrap();
        assert!(started.status.success(), "{started:?}");
        let watched = Watched { world };
        watched.wait_until_it_rests();
        Self { watched, calls }
    }

    /// Asks the daemon something.
    fn ask(&self, question: &Value) -> Value {
        let mut stream = UnixStream::connect(self.watched.folder().join("socket")).unwrap();
        writeln!(stream, "{question}").unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["answer"].take()
    }

    fn calls(&self) -> usize {
        fs::read_to_string(&self.calls).unwrap_or_default().lines().count()
    }
}

/// That a program was started shows in no file: only somebody who is told to look finds it.
#[test]
fn chores_are_run_when_that_is_ordered() {
    let woken = Woken::new("");
    let world = &woken.watched.world;
    world.ok(&["--as", "bob", "idle"]);
    world.ok(&["member", "set", "bob", "--active", "false"]);
    world.ok(&["send", "bob", "for later"]);
    woken.watched.wait_until_it_rests();
    wait_until("its chores are done", || {
        let next = woken.watched.status()["next"].as_str().map(ToOwned::to_owned);
        // Nothing for a minute.
        next.is_none_or(|next| atm_wire::Stamp::parse(&next).unwrap().as_millis() > now() + 60_000)
    });
    let mut member = super::bob(world);
    assert_eq!(woken.calls(), 0);
    for (team, expected) in [(json!("nobody"), 0), (json!("dev"), 1), (Value::Null, 1)] {
        let answer = woken.ask(&json!({ "atm": 1, "ask": "tend", "team": team }));
        assert_eq!(answer, json!({ "ordered": true }));
        wait_until("it is done", || woken.calls() >= expected);
    }
    woken.watched.wait_until_it_rests();
    member.kill().unwrap();
    member.wait().unwrap();
    assert_eq!(woken.calls(), 1, "once");
}

/// Who listens keeps its place over the end of a daemon: the next one goes on behind it.
#[test]
fn who_listens_goes_on_at_its_place_with_the_next_daemon() {
    let watched = Watched::new(World::with_team());
    watched.wait_until_it_rests();
    let listen = |since: Option<&str>| {
        let mut stream = UnixStream::connect(watched.folder().join("socket")).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        writeln!(stream, "{}", json!({ "atm": 1, "ask": "events", "since": since })).unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.map(|line| serde_json::from_str::<Value>(&line).unwrap())
    };
    let is_text = |event: &Value, text: &str| event["event"] == "message" && event["text"] == text;
    let mut heard = listen(None);
    heard.next().unwrap();
    watched.world.ok(&["send", "bob", "one"]);
    let one = heard.find(|event| is_text(event, "one")).unwrap();
    let place = one["cursor"].as_str().unwrap().to_owned();
    watched.signal(rustix::process::Signal::KILL);
    assert_eq!(heard.find(|event| is_text(event, "two")), None, "the line ends with it");
    watched.world.ok(&["send", "bob", "two"]);
    wait_until("the next one serves", || watched.start()["started"].is_boolean());
    let mut heard = listen(Some(&place));
    assert_eq!(heard.next().unwrap()["answer"]["cursor"], json!(place));
    watched.world.ok(&["send", "bob", "three"]);
    let mut texts = Vec::new();
    for event in heard.filter(|event| event["event"] == "message") {
        texts.push(event["text"].as_str().unwrap().to_owned());
        if texts.last().is_some_and(|text| text == "three") {
            break;
        }
    }
    assert_eq!(texts, ["two", "three"]);
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

#[test]
fn a_stop_waits_for_the_step_that_is_under_way_and_no_other_is_taken() {
    let woken = Woken::new("until [ -e \"$HOME/go\" ]; do sleep 0.01; done");
    let world = &woken.watched.world;
    world.ok(&["--as", "bob", "idle"]);
    world.ok(&["send", "bob", "hello"]);
    wait_until("the step is under way", || woken.calls() == 1);
    assert_eq!(woken.ask(&json!({ "atm": 1, "ask": "stop" })), json!({ "stopping": true }));
    let stop = world.start(&["daemon", "stop"]);
    let status = woken.watched.status();
    assert_eq!((&status["running"], status["busy"].is_string()), (&json!(true), true), "{status}");
    fs::write(world.home().join("go"), "").unwrap();
    assert_eq!(stop.finish().code, Some(0));
    assert_eq!(woken.watched.last_words()["stopped"]["why"], "it was told to stop");
    let tended = world.json(&["tend"]);
    assert_eq!(tended[0]["steps"], json!([]), "the step was carried out, and that is known");
    assert_eq!(woken.calls(), 1);
}
