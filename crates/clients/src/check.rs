//! Asking a client itself whether what we set up in it works.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::settings::SERVER;

/// How long a client may take to start our server and report.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to end.
const FAREWELL: Duration = Duration::from_secs(3);
/// Words of a client that says that something is wrong.
const BAD: [&str; 6] = ["fail", "disconnected", "disabled", "error", "not connected", "pending"];

/// How a client is asked.
#[derive(Debug)]
pub enum SelfCheck {
    /// Not at all.
    Impossible,
    /// A command of it starts the servers and lists them, a line each.
    List {
        /// Its arguments.
        args: &'static [&'static str],
        /// What the user should know about a line.
        explain: fn(&str) -> Option<&'static str>,
    },
    /// A program of it answers requests, a line of JSON each.
    Dialogue {
        /// Its arguments.
        args: &'static [&'static str],
        /// The requests, for this working folder.
        requests: fn(&Path) -> String,
        /// What an answer says.
        read: fn(&Value) -> Option<Said>,
    },
}

/// What one answer of a client is about, and what it says.
#[derive(Debug)]
pub enum Said {
    /// Our server.
    OfServer(String),
    /// Our hooks.
    OfHooks(String),
}

/// What a client reports.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Whether our server works; nothing, if the client cannot be asked.
    pub works: Option<bool>,
    /// What it said of the server.
    pub server: String,
    /// What it said of the hooks, where it can be asked.
    pub hooks: String,
}

impl SelfCheck {
    /// Asks the client whose program this is. Exit codes lie: what counts is what it says of us.
    pub fn ask(&self, program: &Path, cwd: &Path) -> Report {
        let said = match self {
            Self::Impossible => return Report::default(),
            Self::List { args, explain } => {
                list(Command::new(program).args(*args).current_dir(cwd), *explain)
            }
            Self::Dialogue { args, requests, read } => {
                converse(Command::new(program).args(*args).current_dir(cwd), &requests(cwd), *read)
            }
        };
        match said {
            Ok(report) => Report { works: Some(is_connected(&report.server)), ..report },
            Err(why) => Report { works: Some(false), server: why, hooks: String::new() },
        }
    }
}

fn is_connected(said: &str) -> bool {
    let said = said.to_lowercase();
    said.contains("connected") && !BAD.iter().any(|word| said.contains(word))
}

/// The line about us.
fn list(command: &mut Command, explain: fn(&str) -> Option<&'static str>) -> Result<Report, String> {
    let mut child = start(command)?;
    let said = lines(&mut child);
    let deadline = Instant::now() + PATIENCE;
    let mut found = None;
    while let Ok(line) = said.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        let line = without_colours(&line);
        let is_us = |word: &str| word.trim_end_matches(':') == SERVER;
        if found.is_none() && line.split_whitespace().any(is_us) {
            found = Some(line.trim().to_owned());
        }
    }
    end(child);
    let mut server = found.ok_or_else(|| format!("it does not list the server `{SERVER}`"))?;
    if let Some(why) = explain(&server) {
        server = format!("{server}: {why}");
    }
    Ok(Report { server, ..Report::default() })
}

/// Sends requests, and reads answers until both server and hooks were spoken of.
fn converse(
    command: &mut Command,
    requests: &str,
    read: fn(&Value) -> Option<Said>,
) -> Result<Report, String> {
    let mut child = start(command)?;
    let said = lines(&mut child);
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // If it has ended already, what it said before counts.
        let _ = stdin.write_all(requests.as_bytes()).and_then(|()| stdin.flush());
    }
    let deadline = Instant::now() + PATIENCE;
    let (mut server, mut hooks) = (None, None);
    while server.is_none() || hooks.is_none() {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(line) = said.recv_timeout(left) else { break };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        match read(&message) {
            Some(Said::OfServer(said)) => server = Some(said),
            Some(Said::OfHooks(said)) => hooks = Some(said),
            None => {}
        }
    }
    drop(stdin);
    end(child);
    let server = server.ok_or("it did not answer in time")?;
    Ok(Report { server, hooks: hooks.unwrap_or_default(), works: None })
}

fn start(command: &mut Command) -> Result<Child, String> {
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    streams.spawn().map_err(|error| error.to_string())
}

/// The lines of both streams, as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (say, said) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>),
    ];
    for stream in streams.into_iter().flatten() {
        let say = say.clone();
        // Where the system has no thread, nothing is heard.
        let _ = thread::Builder::new().spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    break;
                }
            }
        });
    }
    said
}

/// Its input is at an end, so it ends by itself, with all that it started; if not, it is ended.
fn end(mut child: Child) {
    drop(child.stdin.take());
    let deadline = Instant::now() + FAREWELL;
    while Instant::now() < deadline {
        if matches!(child.try_wait(), Ok(Some(_))) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';' || c == '?');
        rest = rest.get(1..).unwrap_or_default();
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_counts() {
        for (said, works) in [
            ("✔ Connected", true),
            ("connected, 2 tools", true),
            ("✘ Failed to connect", false),
            ("Disconnected", false),
            ("Connected (pending approval)", false),
            ("Disabled", false),
            ("", false),
        ] {
            assert_eq!(is_connected(said), works, "{said}");
        }
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(without_colours("\u{1b}[32m✓\u{1b}[0m atm \u{1b}[1;31mbad"), "✓ atm bad");
        assert_eq!(without_colours("\u{1b}["), "");
    }
}
