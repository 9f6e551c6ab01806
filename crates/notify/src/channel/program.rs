//! Running a program, bounded in time, with words as data.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_clients::ear::Ear;
use rustix::process::{Pid, Signal, kill_process_group};

use super::Failed;

/// A program that tells somebody something ends soon.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long what it wrote is waited for after its end: what it started may still have its streams.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// At most this much of what it writes is kept.
const KEPT: usize = 16 * 1024;

/// Runs `command` with `input`; gives what it wrote, or why it failed.
pub(super) fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, Failed> {
    run_within(command, input, PATIENCE)
}

fn run_within(command: &mut Command, input: &[u8], patience: Duration) -> Result<Vec<u8>, Failed> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = try_run(command, input, patience).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failed::new(format!("there is no program {name:?}")),
        _ => Failed::new(format!("{name}: {error}")),
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().chars().take(300).collect();
    Err(Failed { why: format!("{name} ended with {}", output.status), said })
}

fn try_run(command: &mut Command, input: &[u8], patience: Duration) -> io::Result<Output> {
    // In a group of its own, so that what it starts ends with it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let input = input.to_vec();
    // One that does not read must not hold us up; that it did not want it all is its own matter.
    let told = thread::Builder::new().spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    if let Err(error) = told {
        end(&mut child);
        return Err(error);
    }
    let (stdout, stderr) = (Ear::on(child.stdout.take(), KEPT), Ear::on(child.stderr.take(), KEPT));
    let deadline = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            end(&mut child);
            return Err(io::Error::other(format!("it took longer than {} s", patience.as_secs())));
        }
        thread::sleep(LOOK);
    };
    let until = Instant::now() + LAST_WORDS;
    let heard = |stream: &Ear| stream.words(until.saturating_duration_since(Instant::now()));
    Ok(Output { status, stdout: heard(&stdout), stderr: heard(&stderr) })
}

fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_that_fails_says_so() {
        assert_eq!(run(&mut sh("cat"), b"a\nb").unwrap(), b"a\nb");
        assert!(run(&mut sh("exit 0"), &vec![b'x'; 200_000]).is_ok(), "it need not read");
        let failed = run(&mut sh("echo no >&2; exit 3"), b"").unwrap_err();
        assert_eq!(failed, Failed { why: "sh ended with exit status: 3".into(), said: "no".into() });
        let none = run(&mut Command::new("no-such-program-of-ours"), b"").unwrap_err();
        assert_eq!(none.why, "there is no program \"no-such-program-of-ours\"");
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", pid.display());
        // On a busy machine it takes a while to begin.
        let mut patience = Duration::from_millis(500);
        let started = loop {
            let slow = run_within(&mut sh(&script), b"", patience).unwrap_err();
            assert!(slow.why.contains("longer"), "{slow:?}");
            match std::fs::read_to_string(&pid) {
                Ok(started) => break started,
                Err(_) => patience *= 2,
            }
        };
        let stat = format!("/proc/{}/stat", started.trim());
        // A killed process may be left for its new parent to collect.
        let is_over = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_over() {
            assert!(Instant::now() < deadline, "it goes on");
            thread::yield_now();
        }
    }
}
