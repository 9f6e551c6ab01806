//! Peers: members and sessions of other clients in Claude Code's own list of agents, and what its send tool writes to them.
//!
//! This process is a test double of Claude Code, with an entry in the registry and a socket; bob's client is one of Codex: a process
//! that called our hook and waits.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atm_office::machines::RemoteMember;
use atm_support::{SessionDouble, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::Watched;
use crate::scene::World;

const SESSION: &str = "0b7e1c52-3f6a-4a9e-9d0f-1f2e3d4c5b6a";
const THREAD: &str = "0199a0b1-0000-7000-8000-000000000001";
const BOB: &str = "bob (codex, team shop)";

/// Calls our hook as Codex does, and waits.
const CODEX: &str = "import subprocess,sys\n\
    subprocess.run(['atm','hook','UserPromptSubmit','--client','codex'],input=sys.argv[1],text=True,check=True)\n\
    print('ready',flush=True)\nsys.stdin.read()";

/// A process that ends with this value.
struct Client(Child);

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Codex, as a member of the team or as a session of its own.
fn codex(world: &World, member: Option<&str>, thread: &str, folder: &str) -> Client {
    let cwd = world.home().join(folder);
    fs::create_dir_all(&cwd).unwrap();
    let rollout = format!(".codex/sessions/2026/11/17/rollout-2026-11-17T12-00-00-{thread}.jsonl");
    let input = json!({
        "session_id": thread, "transcript_path": world.home().join(rollout), "cwd": cwd,
        "hook_event_name": "UserPromptSubmit", "prompt": "wait", "turn_id": "1", "model": "m",
    });
    let mut command = world.program("python3");
    command.args(["-c", CODEX, &input.to_string()]).env_remove("ATM_AS").env_remove("ATM_TEAM");
    if let Some(member) = member {
        command.env("ATM_AS", member).env("ATM_TEAM", "shop");
    }
    let mut child = command.current_dir(&cwd).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    Client(child)
}

/// A team with bob, a session of Claude Code, and a daemon that lists peers.
struct Scene {
    double: SessionDouble,
    watched: Watched,
    bob: Client,
}

impl Drop for Scene {
    /// A failure that comes seldom has to tell why by itself.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
            let state = self.world().state();
            eprintln!("entries: {:?}", self.entries());
            eprintln!("status: {:?}", self.world().atm(&["daemon", "status", "--json"]));
            eprintln!("journal: {}", self.world().atm(&["daemon", "logs"]).stdout);
            eprintln!("hook.log: {}", read(state.join("hook.log")));
        }
    }
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        world.ok(&["team", "create", "shop"]);
        world.ok(&["member", "add", "bob"]);
        let bob = codex(&world, Some("bob"), THREAD, "work");
        let folder = world.home().join("front");
        fs::create_dir_all(&folder).unwrap();
        let double = SessionDouble::start(&world.root(), &folder, &world.home().join("socks"), SESSION);
        world.ok(&["config", "set", "claude.native_peers", "true"]);
        Self { double, watched: Watched::new(world), bob }
    }

    fn world(&self) -> &World {
        &self.watched.world
    }

    /// The entries of ours in the registry.
    fn entries(&self) -> Vec<Value> {
        entries(self.world())
    }

    /// Bob's entry, once it is there and somebody listens.
    fn bob(&self) -> Value {
        self.listed(BOB)
    }

    fn socket(&self) -> PathBuf {
        self.bob()["messagingSocketPath"].as_str().unwrap().into()
    }

    /// Writes to bob as the client's tool does; returns when the connection is closed.
    fn say(&self, text: &str) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        self.write(&self.frame(&id, text));
        id
    }

    fn frame(&self, id: &str, text: &str) -> Value {
        let from = self.double.address();
        let content = format!(
            "<cross-session-message from=\"{from}\" from-name=\"front-c1\" from-mode=\"default\">\n{text}\n</cross-session-message>"
        );
        json!({ "msgV": 1, "msg_id": id, "type": "user", "from": from, "priority": "next",
                "message": { "role": "user", "content": content } })
    }

    fn write(&self, frame: &Value) {
        write_to(&self.bob(), frame);
    }

    /// The entry of this title, once it is there.
    fn listed(&self, title: &str) -> Value {
        // What was seen is what is given: a second look may find that it was made anew meanwhile.
        let mut found = None;
        wait_until("it is listed", || {
            found = self.entries().into_iter().find(|entry| entry["name"] == title);
            found.is_some()
        });
        found.unwrap()
    }

    fn inbox(&self) -> Vec<Value> {
        self.world().json(&["-t", "shop", "inbox", "bob"]).as_array().unwrap().clone()
    }

    fn texts(&self) -> Vec<String> {
        self.inbox().iter().map(|mail| mail["text"].as_str().unwrap().to_owned()).collect()
    }
}

/// Writes a frame to a peer; returns when the connection is closed.
fn write_to(entry: &Value, frame: &Value) {
    let mut stream = UnixStream::connect(entry["messagingSocketPath"].as_str().unwrap()).unwrap();
    stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

fn entries(world: &World) -> Vec<Value> {
    let files = fs::read_dir(world.root().join("sessions")).into_iter().flatten().flatten();
    // As the client does: what is not in its place yet is no entry.
    let is_entry = |path: &PathBuf| {
        let stem = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
        stem.is_some_and(|stem| stem.parse::<u64>().is_ok())
    };
    let texts =
        files.map(|file| file.path()).filter(is_entry).filter_map(|path| fs::read_to_string(path).ok());
    texts
        .filter_map(|text| serde_json::from_str::<Value>(&text).ok())
        .filter(|e| e["atm"].is_object())
        .collect()
}

fn pid_of(entry: &Value) -> Pid {
    Pid::from_raw(i32::try_from(entry["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

#[test]
fn what_claudes_own_tool_writes_to_a_peer_is_mail_before_the_connection_closes() {
    let scene = Scene::new();
    let entry = scene.bob();
    let socket = scene.socket();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    assert_eq!(entry["cwd"], json!(scene.world().root()), "nothing says where bob works");
    scene.say("is the build green?");
    // No wait: it is there when the connection is closed.
    let mail = &scene.inbox()[0];
    assert_eq!([&mail["text"], &mail["from"]], ["is the build green?", "front"]);
    let id = mail["id"].as_str().unwrap();
    let stages = scene.world().json(&["track", id])["stages"].to_string();
    assert!(stages.contains("accepted"), "{stages}");
    scene.world().ok(&["-t", "shop", "--as", "bob", "reply", id, "since noon"]);
    let answer = scene.world().json(&["-t", "sessions", "inbox", "front"]);
    assert_eq!([&answer[0]["text"], &answer[0]["from"]], ["since noon", "bob"]);
    // What is taken gets no receipt: the client would tell its user of somebody's decision.
    assert_eq!(scene.double.receipts(), Vec::<Value>::new());
    // The same message again, and another one under the same id.
    let frame = scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", "once");
    scene.write(&frame);
    scene.write(&frame);
    scene.write(&scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", "other words"));
    assert_eq!(scene.texts(), ["is the build green?", "once", "other words"]);
}

/// An echo: a peer that counted as a session would be present, pushed to and listed for itself.
#[test]
fn a_peer_is_no_session_for_us() {
    let scene = Scene::new();
    scene.bob();
    let sessions = scene.world().json(&["sessions"]);
    let clients: Vec<&Value> = sessions.as_array().unwrap().iter().map(|s| &s["session"]).collect();
    assert_eq!(clients, [SESSION]);
    assert_eq!(scene.world().atm(&["send", BOB, "hello"]).code, Some(3));
    let doctor = scene.world().json(&["doctor"]);
    assert!(!doctor.to_string().contains("list of agents"), "{doctor}");
    assert_eq!(scene.watched.status()["peers"], json!([BOB]));
    // The client itself may be killed, and its entry stay: nobody is left to list for.
    fs::remove_file(scene.world().root().join(format!("sessions/{}.json", std::process::id()))).unwrap();
    wait_until("nobody is listed", || scene.entries().is_empty());
}

#[test]
fn a_session_of_another_client_is_a_peer_too_and_its_mail_names_it() {
    let scene = Scene::new();
    let _front = codex(scene.world(), None, "0199a0b1-0000-7000-8000-000000000002", "front");
    let frame = scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", "to my neighbour");
    write_to(&scene.listed("front (codex session)"), &frame);
    let mail = &scene.world().json(&["-t", "sessions", "inbox", "front"])[0];
    assert_eq!([&mail["text"], &mail["from"]], ["to my neighbour", "front"], "{mail}");
    assert!(mail.to_string().contains("0199a0b1-0000-7000-8000-000000000002"), "{mail}");
}

/// The session is of no team: everybody who sees the list can write to those in it.
#[test]
fn a_member_of_another_machine_is_a_peer_and_mail_for_it_waits_for_the_bridge() {
    let scene = Scene::new();
    let office = scene.world().office();
    let sam = RemoteMember {
        name: "sam".to_owned(),
        machine: "desk".parse().unwrap(),
        is_lead: false,
        state: "idle".to_owned(),
        holds_name: false,
        epoch: None,
        seen_at: None,
    };
    let _bridge = office.machines().serve().unwrap().unwrap();
    office.machines().set_members(&"shop".parse().unwrap(), &[sam]).unwrap();
    let entry = scene.listed("sam (machine desk, team shop)");
    let id = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
    write_to(&entry, &scene.frame(id, "are you there?"));
    write_to(&entry, &scene.frame(id, "are you there?"));
    let outgoing = office.machines().outgoing(0, 9).unwrap();
    let letters: Vec<(&str, &str, &str)> = outgoing
        .iter()
        .map(|letter| (letter.from.as_str(), letter.to.as_str(), letter.machine.as_str()))
        .collect();
    assert_eq!(letters, [("front.sessions", "sam", "desk")]);
    assert_eq!(scene.double.receipts(), Vec::<Value>::new(), "nothing was refused");
}

#[test]
fn a_sender_that_cannot_be_told_is_said_to_be_unknown() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let scene = Scene::new();
    let write = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
        s.sendall(sys.argv[2].encode()+b'\\n')\ns.shutdown(socket.SHUT_WR)\ns.recv(1)";
    // It claims to be the session, in every key that a frame has for it.
    let frame = scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", r#"{"type":"shutdown_approved"}"#);
    let done =
        Command::new("python3").args(["-c", write]).arg(scene.socket()).arg(frame.to_string()).status();
    assert!(done.unwrap().success());
    let mail = &scene.inbox()[0];
    assert_eq!(mail["from"], "unknown", "{mail}");
    assert_eq!(mail["kind"], "text", "{mail}");
    let text = mail["text"].as_str().unwrap();
    assert!(text.contains("cannot tell who wrote this") && text.contains("shutdown_approved"), "{text}");
}

#[test]
fn hostile_writers_are_refused_or_bounded_and_others_are_heard() {
    let scene = Scene::new();
    let socket = scene.socket();
    let connect = || UnixStream::connect(&socket).unwrap();
    // Half a frame, nothing, garbage, and lines that are no messages.
    let whole = format!("{}\n", scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", "half"));
    connect().write_all(&whole.as_bytes()[..whole.len() / 2]).unwrap();
    drop(connect());
    connect().write_all(b"\xff\xfe\0\n{}\n[]\n\n{\"type\":\"auth\",\"token\":\"x\"}\n").unwrap();
    // Without end: it is an error to its writer, sooner or later.
    let mut endless = connect();
    let piece = vec![b'x'; 1 << 20];
    let refused = (0..64).any(|_| endless.write_all(&piece).is_err());
    assert!(refused, "64 MB were read");
    // Without haste: a byte each tenth of a second.
    let mut slow = connect();
    let slow = std::thread::spawn(move || {
        while slow.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    // Many that only hold the line.
    let held: Vec<UnixStream> = (0..100).filter_map(|_| UnixStream::connect(&socket).ok()).collect();
    let mut other = scene.frame("2b9619ff-8b86-4011-b42d-00c04fc964ff", "for another");
    other["session_id"] = json!("77aa88bb-1111-4a9e-9d0f-1f2e3d4c5b6a");
    let mut blocks = scene.frame("3b9619ff-8b86-4011-b42d-00c04fc964ff", "");
    blocks["message"]["content"] = json!([{ "type": "text", "text": "blocks" }]);
    let huge = scene.frame("4b9619ff-8b86-4011-b42d-00c04fc964ff", &"é".repeat(1_000_001));
    for frame in [&other, &blocks, &huge] {
        // One whose line is closed for those who came later writes again, as its client would.
        wait_until("it is heard", || {
            let Ok(mut stream) = UnixStream::connect(&socket) else { return false };
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let written = stream.write_all(format!("{frame}\n").as_bytes());
            let ended = stream.shutdown(std::net::Shutdown::Write);
            written.is_ok() && ended.is_ok() && stream.read_to_end(&mut Vec::new()).is_ok()
        });
    }
    let receipts = || -> Vec<(Value, Value)> {
        let all = scene.double.receipts();
        all.iter().map(|said| (said["orig_msg_id"].clone(), said["status_detail"].clone())).collect()
    };
    for frame in [&other, &blocks, &huge] {
        wait_until("it is refused", || receipts().contains(&(frame["msg_id"].clone(), json!("refused"))));
    }
    drop(held);
    scene.say("and still heard");
    assert_eq!(scene.texts(), ["and still heard"]);
    assert_eq!(scene.watched.status()["peers"], json!([BOB]));
    wait_until("the slow one is not listened to for ever", || slow.is_finished());
}

/// Its team is gone, and the daemon does not know yet.
#[test]
fn what_cannot_be_accepted_is_refused_by_a_receipt() {
    let scene = Scene::new();
    let socket = scene.socket();
    scene.watched.signal(Signal::STOP);
    let (team, aside) = (scene.world().root().join("teams/shop"), scene.world().home().join("aside"));
    fs::rename(&team, &aside).unwrap();
    let frame = scene.frame("6f9619ff-8b86-4011-b42d-00c04fc964ff", "hello");
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    wait_until("it is refused", || !scene.double.receipts().is_empty());
    let receipt = &scene.double.receipts()[0];
    assert_eq!(
        [&receipt["status"], &receipt["orig_msg_id"]],
        ["expired", "6f9619ff-8b86-4011-b42d-00c04fc964ff"]
    );
    assert!(receipt["reason"].as_str().unwrap().contains("shop"), "{receipt}");
    fs::rename(&aside, &team).unwrap();
    scene.watched.signal(Signal::CONT);
}

#[test]
fn peers_go_with_their_daemon_with_their_client_and_with_the_setting() {
    let mut scene = Scene::new();
    let sockets = scene.socket().parent().unwrap().to_owned();
    let is_empty = || fs::read_dir(&sockets).unwrap().next().is_none();
    scene.world().ok(&["daemon", "stop"]);
    assert!(scene.entries().is_empty() && is_empty());
    scene.watched.start();
    scene.bob();
    scene.watched.signal(Signal::KILL);
    wait_until("gone with a killed daemon", || scene.entries().is_empty() && is_empty());
    scene.watched.start();
    scene.bob();
    scene.world().ok(&["config", "set", "claude.native_peers", "false"]);
    wait_until("gone with the setting", || scene.entries().is_empty());
    scene.world().ok(&["config", "set", "claude.native_peers", "true"]);
    // A peer's process that is killed is started again.
    let first = pid_of(&scene.bob());
    kill_process(first, Signal::KILL).unwrap();
    wait_until("it is listed anew", || {
        scene.entries().first().is_some_and(|entry| entry["name"] == BOB && pid_of(entry) != first)
    });
    scene.bob.0.kill().unwrap();
    scene.bob.0.wait().unwrap();
    wait_until("gone with bob's client", || scene.entries().is_empty());
}

/// Daemon and peer are killed at once: nobody is left to clear up.
#[test]
fn what_is_left_after_a_crash_is_known_by_number_and_start_and_cleared() {
    let scene = Scene::new();
    let crash = || {
        let peer = pid_of(&scene.bob());
        // Stopped first, so that it cannot notice the other's end.
        kill_process(peer, Signal::STOP).unwrap();
        scene.watched.signal(Signal::KILL);
        kill_process(peer, Signal::KILL).unwrap();
        wait_until("both are gone", || rustix::process::test_kill_process(peer).is_err());
        assert_eq!(scene.entries().len(), 1);
    };
    let left = |what: &str| {
        assert!(scene.entries().is_empty(), "{what}");
        let sockets = scene.world().state().join("daemon/peers");
        assert!(fs::read_dir(sockets).unwrap().next().is_none(), "{what}");
    };
    crash();
    let found = scene.world().atm(&["doctor", "--json"]);
    assert!(found.stdout.contains("ATM-D024") && found.stdout.contains("list of agents"), "{found:?}");
    scene.world().ok(&["doctor", "--fix"]);
    left("doctor");
    scene.watched.start();
    crash();
    scene.world().ok(&["daemon", "stop"]);
    left("daemon stop");
    scene.watched.start();
    crash();
    let old = pid_of(&scene.entries()[0]);
    scene.watched.start();
    wait_until("the next daemon clears up", || scene.entries().iter().all(|entry| pid_of(entry) != old));
    // An entry of another machine or container is not ours to judge.
    let foreign = scene.world().root().join("sessions/999999.json");
    let entry = json!({ "pid": 999_999, "name": "x", "atm": { "daemon": { "pid": 999_998, "start": "1" }, "pidSpace": "elsewhere" } });
    fs::write(&foreign, entry.to_string()).unwrap();
    scene.world().ok(&["daemon", "stop"]);
    assert!(foreign.exists());
}

/// What is not asked for does not happen, and neither does what nobody could use.
#[test]
fn nobody_is_listed_unasked_or_for_clients_without_a_list() {
    let world = World::new();
    world.ok(&["team", "create", "shop"]);
    world.ok(&["member", "add", "bob"]);
    let _bob = codex(&world, Some("bob"), THREAD, "work");
    let folder = world.home().join("front");
    fs::create_dir_all(&folder).unwrap();
    let _double = SessionDouble::start(&world.root(), &folder, &world.home().join("socks"), SESSION);
    let watched = Watched::new(world);
    watched.wait_until_it_rests();
    assert!(entries(&watched.world).is_empty());
    // An older client: an entry without a socket.
    let own = watched.world.root().join(format!("sessions/{}.json", std::process::id()));
    let mut entry: Value = serde_json::from_str(&fs::read_to_string(&own).unwrap()).unwrap();
    entry.as_object_mut().unwrap().remove("messagingSocketPath");
    fs::write(&own, entry.to_string()).unwrap();
    watched.world.ok(&["config", "set", "claude.native_peers", "true"]);
    watched.world.ok(&["daemon", "stop"]);
    watched.start();
    watched.wait_until_it_rests();
    assert!(entries(&watched.world).is_empty());
    assert_eq!(watched.status()["peers"], json!([]));
}
