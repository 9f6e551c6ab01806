//! Codex: its own command puts a line into an idle terminal.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_wire::{MemberName, TeamName};

use super::way::{Hearer, Way};
use super::{WakeError, is_session};
use crate::error::OfficeError;
use crate::office::Office;
use crate::spawn::SpawnError;

const PROGRAM: &str = "codex";
/// It hands a line over and ends.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// `codex queue`.
#[derive(Debug)]
pub(super) struct Codex<'a> {
    pub(super) office: &'a Office,
    pub(super) team: &'a TeamName,
    pub(super) name: &'a MemberName,
    pub(super) session: &'a str,
}

impl Way for Codex<'_> {
    fn check_idle(&self) -> Result<Hearer, OfficeError> {
        let rests = self.office.conversation_rests(self.team, self.name, self.session);
        if rests || self.office.said_it_is_idle(self.team, self.name)? {
            return Ok(Hearer::Agent);
        }
        let why = "its last word was not that it is idle, nor do its client's hooks tell so".to_owned();
        Err(WakeError::Busy { who: format!("{}@{}", self.name, self.team), why }.into())
    }

    fn wake(&self, line: &str) -> Result<&'static str, OfficeError> {
        let failed = |why: String| WakeError::Failed {
            who: format!("{}@{}", self.name, self.team),
            way: "codex queue",
            why,
        };
        if !is_session(self.session) {
            return Err(WakeError::BadSession(self.session.to_owned()).into());
        }
        let child = Command::new(PROGRAM)
            .args(["queue", "--thread", self.session, "--message", line])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SpawnError::NoProgram { program: PROGRAM.to_owned() }.into());
            }
            Err(error) => return Err(failed(error.to_string()).into()),
        };
        match end_of(&mut child).map_err(|error| failed(error.to_string()))? {
            Some(status) if status.success() => Ok("codex queue"),
            Some(status) => Err(failed(format!("{status}: {}", last_words(&mut child))).into()),
            None => Err(failed(format!("it took longer than {} s", PATIENCE.as_secs())).into()),
        }
    }
}

/// How it ended; `None` if it did not, and had to be ended.
fn end_of(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// The beginning of what it complained of.
fn last_words(child: &mut Child) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(300).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).trim().to_owned()
}
