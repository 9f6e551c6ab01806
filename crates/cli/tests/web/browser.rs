//! Chromium, driven by `chromedriver` over the `WebDriver` protocol: JSON over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use atm_support::wait_until;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::Server;

/// Flags of a headless browser that does nothing unasked: no first run, no updates, no background traffic.
const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// A browser with one window; ends with the test.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Removed with it.
    profile: TempDir,
}

/// Where `cargo xtask setup` puts things.
pub(crate) fn tools() -> PathBuf {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("test-tools").join("web");
    assert!(tools.join("installed").exists(), "run `cargo xtask setup` first");
    tools
}

impl Browser {
    pub(crate) fn new() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.by_ref().find_map(|line| {
            let line = line.unwrap();
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self { driver, port: port.unwrap(), session: String::new(), profile };
        let folder = format!("--user-data-dir={}", browser.profile.path().display());
        let args: Vec<&str> = FLAGS.into_iter().chain([folder.as_str()]).collect();
        let options = json!({ "capabilities": { "alwaysMatch": { "browserName": "chrome", "goog:chromeOptions": { "args": args } } } });
        let made = browser.call("POST", "/session", &options);
        made["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        browser
    }

    /// A browser that came in by the printed address.
    pub(crate) fn let_in(server: &Server) -> Self {
        let browser = Self::new();
        browser.open(&format!("http://{}/?token={}", server.host, server.one_time));
        assert_eq!(browser.eval("return location.search"), "", "the token is gone from the address");
        browser
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", self.port, body.len()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes).unwrap();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert!(answer["value"]["error"].is_null(), "{method} {path}: {}", answer["value"]);
        answer["value"].clone()
    }

    fn of_session(&self, method: &str, path: &str, body: &Value) -> Value {
        self.call(method, &format!("/session/{}{path}", self.session), body)
    }

    pub(crate) fn open(&self, url: &str) {
        self.of_session("POST", "/url", &json!({ "url": url }));
    }

    /// The value of a function's body.
    pub(crate) fn eval(&self, script: &str) -> Value {
        self.of_session("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The value that a function's body gives to its last argument, `done`.
    pub(crate) fn eval_later(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.of_session("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    pub(crate) fn wait_for(&self, what: &str, script: &str) {
        wait_until(what, || self.eval(script) == true);
    }

    /// Waits until the page hears of news as they come.
    pub(crate) fn wait_until_live(&self) {
        self.wait_for("the page is live", "return document.querySelector('#link')?.dataset.state === 'live'");
    }

    /// Presses keys, one after the other.
    pub(crate) fn press(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
            })
            .collect();
        self.of_session(
            "POST",
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": strokes }] }),
        );
    }

    pub(crate) fn devtools(&self, command: &str, params: &Value) -> Value {
        self.of_session("POST", "/goog/cdp/execute", &json!({ "cmd": command, "params": params }))
    }

    /// A window of this size, light or dark.
    pub(crate) fn look_like(&self, width: u32, scheme: &str) {
        self.look_like_window(width, 900, scheme);
    }

    pub(crate) fn look_like_window(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", &media);
    }

    /// Keeps what is seen as a picture.
    pub(crate) fn picture(&self, file: &Path) {
        let shot = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, decode(shot["data"].as_str().unwrap())).unwrap();
    }
}

/// Base 64.
fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let bits =
            four.iter().enumerate().fold(0u32, |bits, (at, digit)| bits | u32::from(*digit) << (18 - 6 * at));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // A browser that hangs is ended with its driver.
            let quit = || -> std::io::Result<()> {
                let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
                stream.set_read_timeout(Some(Duration::from_secs(10)))?;
                write!(
                    stream,
                    "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    self.session
                )?;
                stream.read_to_end(&mut Vec::new()).map(drop)
            };
            let _ = quit();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
