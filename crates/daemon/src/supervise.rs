//! A program that is kept running beside the daemon, and ends with it.
//!
//! Its standard input is a pipe whose other end is here and nowhere else. A daemon that is killed closes it, whatever else it
//! could not do, so a program that reads its input to the end knows that nobody keeps it any more.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The first rest after an end, and the longest.
const RESTS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// One that ran for so long has not failed at its start.
const GOOD_FOR: Duration = Duration::from_secs(60);
/// How often it is looked whether it runs.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long it may take to end in order.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before it is started again, after so many ends at its start in a row.
fn rest(failures: u32) -> Duration {
    RESTS.0.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(RESTS.1)
}

/// A program that is kept running for as long as this lives.
#[derive(Debug)]
pub struct Supervised {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Supervised {
    /// Keeps a program running; `command` is asked anew for each start, and says why where there is none.
    pub fn start(
        name: &'static str,
        command: impl Fn() -> Result<Command, String> + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread =
            thread::Builder::new().name(name.to_owned()).spawn(move || keep(name, command, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It has no panic of its own to tell of.
            let _ = thread.join();
        }
    }
}

fn keep(name: &str, command: impl Fn() -> Result<Command, String>, stopped: &Receiver<()>) {
    let mut failures = 0;
    loop {
        let begun = Instant::now();
        let ended = match start(&command) {
            Ok(child) => match watch(child, stopped) {
                Some(status) => status,
                None => return,
            },
            Err(why) => why,
        };
        failures = if begun.elapsed() >= GOOD_FOR { 1 } else { failures + 1 };
        let rest = rest(failures);
        tracing::warn!(
            name,
            ended,
            rest_ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX),
            "is started again"
        );
        if !matches!(stopped.recv_timeout(rest), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}

fn start(command: &impl Fn() -> Result<Command, String>) -> Result<Child, String> {
    let mut command = command()?;
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| format!("cannot be started: {error}"))
}

/// Waits for its end, and says how it ended; `None` if it was ended because of a stop.
fn watch(mut child: Child, stopped: &Receiver<()>) -> Option<String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.to_string()),
            Ok(None) => {}
            Err(error) => return Some(error.to_string()),
        }
        if !matches!(stopped.recv_timeout(LOOK_EVERY), Err(RecvTimeoutError::Timeout)) {
            end(child);
            return None;
        }
    }
}

/// Ends it in order, and if it does not, at once.
fn end(mut child: Child) {
    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    let until = Instant::now() + PATIENCE;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn rests_grow_and_have_a_limit() {
        let seconds: Vec<u64> = (1..=9).map(|failures| rest(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(rest(u32::MAX), RESTS.1);
    }

    fn lines(file: &Path) -> usize {
        fs::read_to_string(file).map_or(0, |text| text.lines().count())
    }

    #[test]
    fn it_is_started_again_and_ends_with_its_keeper() {
        let folder = tempfile::tempdir().unwrap();
        let (started, ended) = (folder.path().join("started"), folder.path().join("ended"));
        let script = format!(
            "trap 'echo >> {}; exit 0' TERM; echo >> {}; [ $(wc -l < {}) -lt 2 ] && exit 3; while :; do sleep 0.01; done",
            ended.display(),
            started.display(),
            started.display()
        );
        let command = move || {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            Ok(command)
        };
        let kept = Supervised::start("kept", command).unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while lines(&started) < 2 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(lines(&started), 2);
        drop(kept);
        assert_eq!((lines(&started), lines(&ended)), (2, 1));
    }

    #[test]
    fn its_input_ends_with_its_keeper_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (started, ended) = (folder.path().join("started"), folder.path().join("ended"));
        let script = format!("echo >> {}; cat; echo >> {}", started.display(), ended.display());
        let command = move || {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            Ok(command)
        };
        let mut child = start(&command).unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while lines(&started) < 1 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((lines(&started), lines(&ended)), (1, 0));
        // As the system does it for a keeper that is killed.
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(lines(&ended), 1);
    }
}
