//! `atm wake`: by each client's own way, once for each mail, and nobody who is awake.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, thread};

use serde_json::{Value, json};

use crate::panes::Stage;
use crate::scene::{Answer, World};

/// A world in which `codex` is a stand-in that writes down its arguments: the real one wants an account and a terminal.
struct Codex {
    world: World,
    folder: PathBuf,
}

impl Codex {
    /// With bob, who has a conversation, said that he is idle, and has mail from alice.
    fn new(script: &str) -> Self {
        let world = World::with_team();
        let folder = world.home().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let program = folder.join("codex");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        world.ok(&["member", "set", "bob", "--wake", "codex", "--session", "s-1"]);
        world.ok(&["--as", "bob", "idle"]);
        world.ok(&["--as", "alice", "send", "bob", "the $(secret) plan"]);
        Self { world, folder }
    }

    fn logging() -> Self {
        Self::new("printf '%s|' \"$@\" >> \"$HOME/codex.log\"; echo >> \"$HOME/codex.log\"")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.world.command(args);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.clone()].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(folders).unwrap());
        command
    }

    fn wake(&self, more: &[&str]) -> Answer {
        let args = [&["wake", "bob", "--json"], more].concat();
        Answer::of(&self.world, &self.command(&args).output().unwrap())
    }

    fn log(&self) -> String {
        fs::read_to_string(self.world.home().join("codex.log")).unwrap_or_default()
    }
}

fn document(answer: &Answer) -> Value {
    assert_eq!(answer.code, Some(0), "{answer:?}");
    serde_json::from_str(&answer.stdout).unwrap()
}

fn refused(answer: &Answer, exit: i32, code: &str) -> String {
    let error = answer.error();
    assert_eq!((answer.code, error["code"].as_str()), (Some(exit), Some(code)), "{answer:?}");
    error["message"].as_str().unwrap().to_owned()
}

/// The evidence of bob's first message.
fn evidence(world: &World) -> String {
    let id = world.json(&["inbox", "bob"])[0]["id"].as_str().unwrap().to_owned();
    world.json(&["track", &id])["stages"].to_string()
}

#[test]
fn codex_is_told_once_for_each_mail_and_nothing_of_what_it_says() {
    let codex = Codex::logging();
    let woken = document(&codex.wake(&["--dry-run"]));
    assert_eq!((&woken["woken"], &woken["evidence"]), (&json!(true), &Value::Null));
    assert_eq!(codex.log(), "", "a dry run does nothing");

    let woken = document(&codex.wake(&[]));
    assert_eq!(
        (&woken["way"], &woken["woken"], &woken["unread"]),
        (&json!("codex"), &json!(true), &json!(1))
    );
    let line = "You have 1 unread message from alice. \
                Read your mail, with `atm read` if it does not come by itself.";
    assert_eq!(codex.log(), format!("queue|--thread|s-1|--message|{line}|\n"));
    assert!(evidence(&codex.world).contains("woken by codex queue; not confirmed"));
    let stage = &codex.world.json(&["inbox", "bob"])[0]["id"];
    assert_eq!(codex.world.json(&["track", stage.as_str().unwrap()])["stage"], "written", "that is no stage");

    for _ in 0..3 {
        assert_eq!(document(&codex.wake(&[]))["woken"], false);
    }
    codex.world.ok(&["send", "bob", "second"]);
    assert_eq!(document(&codex.wake(&[]))["unread"], 2);
    assert_eq!(codex.log().lines().count(), 2);
}

#[test]
fn of_eight_that_wake_at_once_one_does() {
    let codex = Codex::logging();
    let woken: Vec<bool> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..8).map(|_| scope.spawn(|| document(&codex.wake(&[]))["woken"] == true)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(woken.iter().filter(|woken| **woken).count(), 1, "{woken:?}");
    assert_eq!(codex.log().lines().count(), 1);
}

#[test]
fn who_has_read_is_not_woken_and_who_works_neither() {
    let codex = Codex::logging();
    codex.world.ok(&["--as", "bob", "heartbeat"]);
    refused(&codex.wake(&[]), 4, "busy_member");
    codex.world.ok(&["--as", "bob", "idle"]);
    codex.world.ok(&["--as", "bob", "read"]);
    assert_eq!(document(&codex.wake(&[]))["why"], "it has read all its mail");
    codex.world.ok(&["send", "bob", "second"]);
    refused(&codex.wake(&[]), 4, "busy_member");
    assert_eq!(codex.log(), "");
}

#[test]
fn a_wake_that_fails_is_told_and_counts() {
    let codex = Codex::new("echo no such thread >&2; exit 1");
    let why = refused(&codex.wake(&[]), 7, "not_woken");
    assert!(why.contains("no such thread"), "{why}");
    assert!(evidence(&codex.world).contains("not woken: "));
    assert_eq!(document(&codex.wake(&[]))["woken"], false, "not before the next step of the ladder");

    let without = Codex::logging();
    fs::remove_file(without.folder.join("codex")).unwrap();
    let mut command = without.world.command(&["wake", "bob", "--json"]);
    let answer = Answer::of(&without.world, &command.env("PATH", &without.folder).output().unwrap());
    refused(&answer, 3, "no_such_program");
}

#[test]
fn the_ladder_is_in_the_settings() {
    let codex = Codex::logging();
    let settings = codex.world.home().join(".config/atm");
    fs::create_dir_all(&settings).unwrap();
    let set = |text: &str| fs::write(settings.join("config.toml"), text).unwrap();
    set("[wake]\nafter = [\"1h\"]\n");
    assert_eq!(document(&codex.wake(&[]))["woken"], false, "it has not waited long enough");
    set("[wake]\nafter = [\"0s\", \"0s\"]\n");
    let woken: Vec<bool> = (0..4).map(|_| document(&codex.wake(&[]))["woken"] == true).collect();
    assert_eq!(woken, [true, true, false, false]);
    set("[wake]\nafter = [\"soon\"]\n");
    refused(&codex.wake(&[]), 6, "bad_settings");
}

/// A server that answers as `OpenCode`'s does, and writes down what it is asked.
struct Server {
    process: Child,
    port: String,
}

const SERVER: &str = r#"
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status); self.end_headers(); self.wfile.write(body.encode())
    def do_GET(self):
        self.answer(200, open(sys.argv[1] + "/status").read())
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        open(sys.argv[1] + "/asked", "a").write(self.path + " " + body + "\n")
        self.answer(404 if "/unknown/" in self.path else 204, "")
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"#;

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(world: &World) -> Self {
        fs::write(world.home().join("status"), "{}").unwrap();
        let mut python = Command::new("python3");
        python.args(["-c", SERVER]).arg(world.home()).stdout(Stdio::piped());
        let mut process = python.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, port: port.trim().to_owned() }
    }
}

#[test]
fn opencode_is_asked_by_its_server() {
    let world = World::with_team();
    let server = Server::start(&world);
    let url = format!("http://127.0.0.1:{}", server.port);
    world.ok(&["member", "set", "bob", "--wake", "opencode", "--session", "ses_1", "--server", &url]);
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    fs::write(world.home().join("status"), r#"{"ses_1":{"type":"busy"}}"#).unwrap();
    let why = refused(&world.atm(&["wake", "bob", "--json"]), 4, "busy_member");
    assert!(why.contains("busy"), "{why}");
    let asked = world.home().join("asked");
    assert!(!asked.exists());

    fs::write(world.home().join("status"), r#"{"ses_2":{"type":"busy"}}"#).unwrap();
    assert_eq!(world.json(&["wake", "bob"])["woken"], true);
    let said = fs::read_to_string(&asked).unwrap();
    assert!(said.starts_with("/session/ses_1/prompt_async {\"parts\":[{"), "{said}");
    assert!(said.contains("1 unread message from alice") && !said.contains("hello"), "{said}");
    assert!(evidence(&world).contains("woken by the server of OpenCode; not confirmed"));
    assert_eq!(world.json(&["wake", "bob"])["woken"], false);

    world.ok(&["member", "set", "bob", "--session", "unknown"]);
    world.ok(&["send", "bob", "second"]);
    let why = refused(&world.atm(&["wake", "bob", "--json"]), 7, "not_woken");
    assert!(why.contains("404"), "{why}");
    drop(server);
    world.ok(&["send", "bob", "third"]);
    refused(&world.atm(&["wake", "bob", "--json"]), 7, "not_woken");
}

#[test]
fn one_in_a_pane_gets_a_line_and_nudges_count() {
    let stage = Stage::new();
    let world = &stage.world;
    stage.script("bob", "stty -echo; echo ready; while read -r line; do echo \"got <$line>\"; done");
    stage.wait_for_screen("bob", "ready");
    world.ok(&["send", "bob", "first"]);
    let answer = world.atm(&["wake", "bob", "--json"]);
    assert_eq!(answer.code, Some(4), "it did not say that it is idle: {answer:?}");
    world.ok(&["--as", "bob", "idle"]);
    let woken = world.json(&["wake", "bob"]);
    assert_eq!((&woken["way"], &woken["woken"]), (&json!("pane"), &json!(true)));
    stage.wait_for_screen("bob", "got <You have 1 unread message from user.");
    assert_eq!(world.json(&["nudge", "bob"])["nudged"], false, "they share their memory");
}

#[test]
fn a_hook_that_waits_is_told_once_for_each_mail() {
    let world = World::with_team();
    let wait = ["--as", "bob", "wake", "wait", "--for", "30s"];
    let waiting = world.start(&wait);
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    let answer = waiting.finish();
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""));
    assert!(answer.stderr.starts_with("You have 1 unread message from alice."), "{answer:?}");
    assert!(evidence(&world).contains("woken by a hook of its client; not confirmed"));
    let again = world.atm(&["--as", "bob", "wake", "wait", "--for", "1ms"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "the woken turn runs the hook again");

    world.ok(&["send", "bob", "second"]);
    let codes: Vec<Option<i32>> = thread::scope(|scope| {
        let wait = || world.atm(&["--as", "bob", "wake", "wait", "--for", "1s"]).code;
        let all: Vec<_> = (0..8).map(|_| scope.spawn(wait)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == Some(2)).count(), 1, "{codes:?}");
    world.ok(&["send", "bob", "third"]);
    let told = world.atm(&["--as", "bob", "wake", "wait", "--json"]);
    let document: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((told.code, &document["name"]), (Some(2), &json!("bob")));
}

#[test]
fn who_wakes_by_itself_is_left_alone() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    for (way, why) in [("poll", "by itself"), ("rewake", "hook"), ("none", "not to be woken")] {
        world.ok(&["member", "set", "bob", "--wake", way]);
        let woken = world.json(&["wake", "bob"]);
        assert_eq!((&woken["way"], &woken["woken"]), (&json!(way), &json!(false)));
        assert!(woken["why"].as_str().unwrap().contains(why), "{woken}");
    }
    let all = world.json(&["wake", "--all", "--dry-run"]);
    let names: Vec<&str> = all.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["team-lead", "alice", "bob"]);
    assert!(all[1]["why"].as_str().unwrap().contains("nothing says how"), "{all}");
    assert!(world.ok(&["wake", "bob"]).contains("bob@dev was not woken: it is not to be woken"));
}

#[test]
fn what_is_refused() {
    let world = World::with_team();
    world.ok(&["send", "bob", "hello"]);
    let wake = |name: &str| world.atm(&["wake", name, "--json"]);
    refused(&wake("bob"), 4, "no_way");
    refused(&wake("bobb"), 3, "no_such_member");
    assert_eq!(world.atm(&["wake"]).code, Some(2));
    assert_eq!(world.atm(&["wake", "bob", "--all"]).code, Some(2));
    assert_eq!(world.atm(&["wake", "wait"]).code, Some(2), "whose mail has to be said");
    assert_eq!(world.atm(&["--as", "nobody", "wake", "wait"]).code, Some(3));
    let set = |key: &str, value: &str| world.atm(&["member", "set", "bob", key, value, "--json"]);
    assert_eq!(set("--wake", "trumpet").code, Some(2));
    refused(&set("--session", "../x"), 2, "bad_session");
    refused(&set("--server", "http://example.org:80"), 2, "bad_server");
    world.ok(&["member", "set", "bob", "--wake", "codex"]);
    let why = refused(&wake("bob"), 4, "not_known");
    assert!(why.contains("session"), "{why}");
    world.ok(&["member", "set", "bob", "--wake", "opencode", "--session", "s1"]);
    let why = refused(&wake("bob"), 4, "not_known");
    assert!(why.contains("server"), "{why}");
    world.ok(&["member", "set", "bob", "--wake", "pane"]);
    refused(&wake("bob"), 4, "not_started_here");
    world.ok(&["member", "set", "bob", "--active", "false"]);
    refused(&wake("bob"), 3, "off");
}
