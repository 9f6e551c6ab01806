//! `OpenCode`: its server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{evidence, refused};
use crate::scene::{ATM, World};

/// Stands in for `OpenCode`'s server, which wants a model: it answers what the real one was seen to answer (1.18), and
/// writes down what it is told. Who is busy it tells only of the folder that it is asked about.
struct Server {
    process: Child,
    port: String,
}

const SERVER: &str = r#"
import http.server, json, os, subprocess, sys, urllib.parse
home, atm = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.send_response(status); self.end_headers(); self.wfile.write(body.encode())
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/session/status":
            known = url.path.startswith("/session/ses_")
            return self.answer(200 if known else 404, json.dumps({"directory": "/home/user/a b"}))
        if os.path.exists(home + "/read-now"):
            subprocess.run([atm, "--as", "bob", "read"], stdout=open("/dev/null", "w"), check=True)
        asked = urllib.parse.parse_qs(url.query).get("directory") == ["/home/user/a b"]
        self.answer(200, open(home + "/status").read() if asked else "{}")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        open(home + "/asked", "a").write(self.path + " " + body + "\n")
        self.answer(500 if os.path.exists(home + "/broken") else 204, "")
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
        // With the environment that `atm` needs to find this world.
        let mut python = Command::new("python3");
        python.envs(world.command(&["read"]).get_envs().filter_map(|(key, value)| Some((key, value?))));
        python.args(["-c", SERVER]).arg(world.home()).arg(ATM).stdout(Stdio::piped());
        let mut process = python.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, port: port.trim().to_owned() }
    }
}

/// A world with such a server, bob in a conversation there, and mail for him.
fn scene() -> (World, Server) {
    let world = World::with_team();
    let server = Server::start(&world);
    let url = format!("http://127.0.0.1:{}", server.port);
    world.ok(&["member", "set", "bob", "--wake", "opencode", "--session", "ses_1", "--server", &url]);
    world.ok(&["--as", "alice", "send", "bob", "hello"]);
    (world, server)
}

fn asked(world: &World) -> String {
    fs::read_to_string(world.home().join("asked")).unwrap_or_default()
}

#[test]
fn it_is_told_by_its_server_once_for_each_mail() {
    let (world, _server) = scene();
    fs::write(world.home().join("status"), r#"{"ses_2":{"type":"busy"}}"#).unwrap();
    assert_eq!(world.json(&["wake", "bob"])["woken"], true);
    let said = asked(&world);
    assert!(said.starts_with("/session/ses_1/prompt_async {\"parts\":[{"), "{said}");
    assert!(said.contains("1 unread message from alice") && !said.contains("hello"), "{said}");
    assert!(evidence(&world).contains("woken by the server of OpenCode; not confirmed"));
    assert_eq!(world.json(&["wake", "bob"])["woken"], false);
    assert_eq!(asked(&world).lines().count(), 1);
}

/// The server calls nobody busy who works in another folder than its own, unless it is asked about that folder.
#[test]
fn one_that_is_busy_in_its_folder_is_left_alone() {
    let (world, _server) = scene();
    for state in ["busy", "retry"] {
        let status = format!(r#"{{"ses_1":{{"type":"{state}"}}}}"#);
        fs::write(world.home().join("status"), status).unwrap();
        let why = refused(&world.atm(&["wake", "bob", "--json"]), 4, "busy_member");
        assert!(why.contains(state), "{why}");
    }
    assert_eq!(asked(&world), "");
    fs::write(world.home().join("status"), r#"{"ses_1":{"type":"idle"}}"#).unwrap();
    assert_eq!(world.json(&["wake", "bob"])["woken"], true, "to be left alone is not to be woken");
}

#[test]
fn one_that_reads_while_it_is_looked_at_is_not_woken() {
    let (world, _server) = scene();
    fs::write(world.home().join("read-now"), "").unwrap();
    let woken = world.json(&["wake", "bob"]);
    assert_eq!((&woken["woken"], &woken["why"]), (&json!(false), &json!("it has just read its mail")));
    assert_eq!(asked(&world), "");
    assert!(!evidence(&world).contains("woken"));
}

#[test]
fn what_does_not_work_is_told_and_is_among_the_evidence() {
    let (world, server) = scene();
    fs::write(world.home().join("broken"), "").unwrap();
    let why = refused(&world.atm(&["wake", "bob", "--json"]), 7, "not_woken");
    assert!(why.contains("500"), "{why}");
    assert!(evidence(&world).contains("not woken: "));
    world.ok(&["--as", "bob", "read"]);

    world.ok(&["member", "set", "bob", "--session", "unknown"]);
    world.ok(&["send", "bob", "second"]);
    let why = refused(&world.atm(&["wake", "bob", "--json"]), 7, "not_woken");
    assert!(why.contains("404"), "{why}");
    drop(server);
    refused(&world.atm(&["wake", "bob", "--json"]), 7, "not_woken");
}
