//! A server at work, and a small client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use atm_support::TestEnv;
use serde_json::Value;

use crate::ATM;

/// A world with a server that ends with the test.
pub(crate) struct Server {
    pub(crate) world: TestEnv,
    child: Option<Child>,
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    pub(crate) one_time: String,
    pub(crate) token: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        self.head.lines().find(line).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A team of a lead, alice, and bob, who is off.
pub(crate) fn team() -> TestEnv {
    let world = TestEnv::new();
    run(&world, &["team", "create", "dev"]);
    run(&world, &["member", "add", "alice"]);
    run(&world, &["member", "add", "bob", "--inactive"]);
    world
}

/// A command that must succeed, and its output.
pub(crate) fn run(world: &TestEnv, args: &[&str]) -> String {
    let Output { status, stdout, stderr } = world.atm(ATM).args(args).output().unwrap();
    assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The JSON answer of a command.
pub(crate) fn json(world: &TestEnv, args: &[&str]) -> Value {
    serde_json::from_str(&run(world, &[args, &["--json"]].concat())).unwrap()
}

impl Server {
    /// A server in a world with a team.
    pub(crate) fn new() -> Self {
        Self::of(team(), &[])
    }

    pub(crate) fn of(world: TestEnv, args: &[&str]) -> Self {
        let (child, host, one_time) = begin(&world, args);
        let token = std::fs::read_to_string(world.state().join("web.token")).unwrap().trim().to_owned();
        Self { world, child: Some(child), host, one_time, token }
    }

    /// One that somebody else has started.
    pub(crate) fn at(world: TestEnv, host: &str, one_time: &str) -> Self {
        let token = std::fs::read_to_string(world.state().join("web.token")).unwrap().trim().to_owned();
        Self { world, child: None, host: host.to_owned(), one_time: one_time.to_owned(), token }
    }

    /// Ends it, orderly; gives the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let mut child = self.child.take().unwrap();
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap().code()
    }

    /// The same server again, on the same port.
    pub(crate) fn begin_again(&mut self) {
        let port = self.host.rsplit_once(':').unwrap().1.to_owned();
        let (child, host, one_time) = begin(&self.world, &["--port", &port]);
        (self.child, self.host, self.one_time) = (Some(child), host, one_time);
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        run(&self.world, args)
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        json(&self.world, args)
    }

    /// A connection on which this head was sent.
    pub(crate) fn connect(&self, method: &str, path: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = if headers.iter().any(|line| line.starts_with("Host:")) {
            String::new()
        } else {
            format!("Host: {}\r\n", self.host)
        };
        let lines = [headers, &[""]].concat().join("\r\n");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{lines}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        // It may answer and close before it has all of it.
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body.as_bytes());
        stream
    }

    /// A request with these headers, and no token unless they have it.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Said {
        let mut bytes = Vec::new();
        let _ = self.connect(method, path, headers, body).read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Said { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    pub(crate) fn get(&self, path: &str) -> Said {
        self.ask("GET", path, &[&self.bearer()], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Said {
        self.ask("POST", path, &[&self.bearer(), "Content-Type: application/json"], &body.to_string())
    }

    /// A session, as a browser gets it; uses up the address that was printed.
    pub(crate) fn session(&self) -> String {
        let said = self.ask("GET", &format!("/?token={}", self.one_time), &[], "");
        assert_eq!((said.status, said.header("location")), (303, Some("/")), "{said:?}");
        let cookie = said.header("set-cookie").unwrap().split(';').next().unwrap();
        format!("Cookie: {cookie}")
    }
}

/// Starts a server, and reads where it is.
fn begin(world: &TestEnv, args: &[&str]) -> (Child, String, String) {
    let mut child =
        world.atm(ATM).arg("web").args(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let (host, one_time) = url.trim().trim_start_matches("http://").split_once("/?token=").unwrap();
    (child, host.to_owned(), one_time.to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
