//! Asking a daemon.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use atm_store::{Holder, State};

use super::{Answer, Ask, LONGEST, PROTOCOL, Question, socket};
use crate::error::{DaemonError, Doing as _};
use crate::lock::holder;
use crate::status::Status;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one may take to end.
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked whether it did.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Who asks the daemon of a state folder.
#[derive(Debug)]
pub struct Client<'a> {
    state: &'a State,
    build: &'a str,
}

impl<'a> Client<'a> {
    /// A client of this build.
    pub fn new(state: &'a State, build: &'a str) -> Self {
        Self { state, build }
    }

    /// How the daemon does.
    pub fn status(&self) -> Result<Status, DaemonError> {
        let answer = self.ask(Ask::Status)?;
        serde_json::from_value(answer.answer).map_err(|error| DaemonError::Unreadable(error.to_string()))
    }

    /// Ends the daemon, and waits until it has ended.
    pub fn stop(&self) -> Result<(), DaemonError> {
        self.ask(Ask::Stop)?;
        let deadline = Instant::now() + STOPS_WITHIN;
        while let Holder::Process(pid) = holder(self.state) {
            if Instant::now() > deadline {
                return Err(DaemonError::Silent { pid });
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Asks something else.
    pub fn ask(&self, ask: Ask) -> Result<Answer, DaemonError> {
        let Holder::Process(pid) = holder(self.state) else { return Err(DaemonError::NotRunning) };
        let question = Question { atm: PROTOCOL, build: self.build.to_owned(), ask };
        let text = serde_json::to_string(&question).unwrap_or_default() + "\n";
        let (send, received) = mpsc::channel();
        let state = self.state.clone();
        // One that hangs may not even take a call.
        let asks = thread::Builder::new().spawn(move || send.send(call(&state, &text)));
        asks.doing("begin a thread to ask at", self.state.daemon())?;
        let line = match received.recv_timeout(PATIENCE) {
            Ok(Ok(line)) if !line.is_empty() => line,
            Ok(_) if holder(self.state) == Holder::Nobody => return Err(DaemonError::NotRunning),
            Ok(_) | Err(_) => return Err(DaemonError::Silent { pid }),
        };
        let answer: Answer =
            serde_json::from_str(&line).map_err(|error| DaemonError::Unreadable(error.to_string()))?;
        match answer.error {
            Some(error) => Err(DaemonError::Refused(error)),
            None => Ok(answer),
        }
    }
}

/// Asks until there is an answer: it may have the lock and not listen yet, and one that is flooded may close a line.
fn call(state: &State, text: &str) -> std::io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match call_once(state, text) {
            Ok(line) if !line.is_empty() => return Ok(line),
            // It ended: there will be no answer.
            answer if Instant::now() >= deadline || holder(state) == Holder::Nobody => return answer,
            _ => thread::sleep(LOOK_EVERY),
        }
    }
}

fn call_once(state: &State, text: &str) -> std::io::Result<String> {
    let mut stream = socket::connect(state)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    let mut line = String::new();
    BufReader::new(Read::take(&stream as &UnixStream, 16 * LONGEST)).read_line(&mut line)?;
    Ok(line)
}
