//! A command of a client: as data, and run.

use std::fmt;
use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::ear::Ear;
use crate::shell;

/// How often a command that runs is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long what a command said is waited for after its end: what it started may have its streams for ever.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How much of that is kept, in bytes.
const KEPT: usize = 300;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The program's name, which is looked for on the path.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
}

impl CommandLine {
    /// A call of `program`.
    pub(crate) fn new(program: &'static str, args: &[&str]) -> Self {
        Self { program, args: args.iter().map(ToString::to_string).collect() }
    }
}

/// As a shell would take it.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [self.program].into_iter().chain(self.args.iter().map(String::as_str));
        f.write_str(&shell::join(words))
    }
}

/// Why a command did not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no such program.
    #[error("there is no program {0:?}")]
    NoProgram(&'static str),
    /// It could not be started or waited for.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It failed, and this is the beginning of what it said about it.
    #[error("{0}: {1}")]
    Failed(ExitStatus, String),
    /// It did not end, and was ended.
    #[error("it took longer than {} s", .0.as_secs())]
    Slow(Duration),
}

impl CommandLine {
    /// Runs it, with nothing on its input, for at most as long as `patience`.
    pub fn run(&self, patience: Duration) -> Result<(), CommandError> {
        let child = Command::new(self.program)
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => CommandError::NoProgram(self.program),
            _ => error.into(),
        })?;
        let stderr = Ear::on(child.stderr.take(), KEPT);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    let said = stderr.words(LAST_WORDS);
                    return Err(CommandError::Failed(
                        status,
                        String::from_utf8_lossy(&said).trim().to_owned(),
                    ));
                }
                None => thread::sleep(LOOK),
            }
        }
        child.kill()?;
        child.wait()?;
        Err(CommandError::Slow(patience))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_well_badly_late_or_was_never_there() {
        let sh = |script: &str| CommandLine::new("sh", &["-c", script]);
        let patience = Duration::from_secs(30);
        assert!(sh("exit 0").run(patience).is_ok());
        let failed = sh("echo no such thread >&2; exit 3").run(patience).unwrap_err();
        assert!(
            matches!(&failed, CommandError::Failed(status, said)
            if status.code() == Some(3) && said == "no such thread"),
            "{failed}"
        );
        let slow = sh("exec sleep 600").run(Duration::from_millis(50)).unwrap_err();
        assert!(matches!(slow, CommandError::Slow(_)), "{slow}");
        let none = CommandLine::new("no-such-program-of-ours", &[]).run(patience).unwrap_err();
        assert!(matches!(none, CommandError::NoProgram(_)), "{none}");
    }

    /// One that it started may keep its streams open, and it may say more than a pipe holds.
    #[test]
    fn nothing_that_a_command_leaves_open_or_says_holds_anybody_up() {
        let sh = |script: &str| CommandLine::new("sh", &["-c", script]);
        let patience = Duration::from_secs(60);
        let begun = Instant::now();
        let failed = sh("sleep 300 & echo $! >&2; exit 3").run(patience).unwrap_err();
        assert!(begun.elapsed() < patience, "it does not wait for the other one");
        let CommandError::Failed(status, said) = &failed else { panic!("{failed}") };
        assert_eq!(status.code(), Some(3));
        assert!(Command::new("kill").arg(said).status().unwrap().success(), "its words are known: {said}");
        let much = "i=0; while [ $i -lt 2000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done";
        let failed = sh(&format!("{much}; exit 4")).run(patience).unwrap_err();
        let CommandError::Failed(status, said) = &failed else { panic!("{failed}") };
        assert!(status.code() == Some(4) && said.starts_with("0123456789"), "{failed}");
    }
}
