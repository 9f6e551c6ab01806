//! A client in a terminal of its own: a private tmux server, which ends with this value.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::patience::wait_for;

/// A large process takes its time to die on a busy machine.
const GONE: Duration = Duration::from_secs(30);

pub(in crate::clients) struct Terminal {
    server: String,
    /// Where it is, if not in the server's first pane.
    pane: Option<String>,
    /// The client; `None` once it was killed.
    process: Option<Pid>,
}

impl Terminal {
    /// Runs the program with these variables and no others.
    pub(in crate::clients) fn start(
        name: &str,
        folder: &Path,
        environment: &[(&str, OsString)],
        words: &[OsString],
    ) -> Result<Self> {
        let mut terminal =
            Self { server: format!("atm-clients-{}-{name}", std::process::id()), pane: None, process: None };
        let mut command = terminal.tmux();
        // A client that ends leaves its last words on the screen.
        command.args([
            "-f",
            "/dev/null",
            "start-server",
            ";",
            "set-option",
            "-g",
            "remain-on-exit",
            "on",
            ";",
        ]);
        command.args(["new-session", "-d", "-x", "150", "-y", "50", "-c"]).arg(folder).args(["env", "-i"]);
        for (name, value) in environment {
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value);
            command.arg(pair);
        }
        let output = command.args(words).output().context("needs tmux")?;
        ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr).trim());
        let process = terminal.ask(&["display-message", "-p", "#{pane_pid}"])?;
        terminal.process = Some(Pid::from_raw(process.trim().parse().context("tmux names no process")?));
        Ok(terminal)
    }

    /// A server with a pane that only waits, for a client that atm starts there with these variables.
    pub(in crate::clients) fn wait(
        name: &str,
        folder: &Path,
        environment: &[(&str, OsString)],
    ) -> Result<Self> {
        let terminal =
            Self { server: format!("atm-clients-{}-{name}", std::process::id()), pane: None, process: None };
        let mut command = terminal.tmux();
        // New panes get the variables that the server was started with.
        command.env_clear().envs(std::env::var_os("TMUX_TMPDIR").map(|folder| ("TMUX_TMPDIR", folder)));
        command.envs(environment.iter().map(|(name, value)| (*name, value)));
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "-c"]).arg(folder);
        let output = command.arg("cat").output().context("needs tmux")?;
        ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(terminal)
    }

    pub(in crate::clients) fn socket(&self) -> Result<String> {
        Ok(self.ask(&["display-message", "-p", "#{socket_path}"])?.trim().to_owned())
    }

    /// Takes the client that atm says it has started for this one's own.
    pub(in crate::clients) fn adopt(&mut self, answer: &Value) -> Result<()> {
        let process = answer["pid"].as_i64().and_then(|process| i32::try_from(process).ok());
        self.process = Some(Pid::from_raw(process.context("atm names no process")?));
        self.pane = answer["pane"].as_str().map(ToOwned::to_owned);
        Ok(())
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").args(["-L", &self.server]).stdin(Stdio::null());
        command
    }

    fn ask<S: AsRef<OsStr>>(&self, words: &[S]) -> Result<String> {
        let output = self.tmux().args(words).output().context("needs tmux")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The last lines on the screen.
    pub(in crate::clients) fn screen(&self) -> String {
        let mut words = vec!["capture-pane", "-p"];
        words.extend(self.pane.iter().flat_map(|pane| ["-t", pane]));
        let screen = self.ask(&words).unwrap_or_default();
        let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(12)..].join(" / ")
    }

    pub(in crate::clients) fn is_running(&self) -> bool {
        self.process.is_some_and(is_alive)
    }

    /// Types a line at the client's prompt.
    pub(in crate::clients) fn enter(&self, line: &str) -> Result<()> {
        self.ask(&["send-keys", "-l", line])?;
        wait_for(&format!("{line} on the screen"), GONE, || Ok(self.screen().contains(line)))?;
        self.ask(&["send-keys", "Enter"]).map(drop)
    }

    /// Presses a key.
    pub(in crate::clients) fn press(&self, key: &str) -> Result<()> {
        self.ask(&["send-keys", key]).map(drop)
    }

    /// Waits until the client has ended by itself.
    pub(in crate::clients) fn await_end(&self) -> Result<()> {
        wait_for("the end of the client", GONE, || Ok(!self.is_running())).with_context(|| self.screen())
    }

    /// Kills the client, as a crash would; returns when it is gone.
    pub(in crate::clients) fn kill(&mut self) -> Result<()> {
        let Some(process) = self.process else { return Ok(()) };
        // Gone already is what we want.
        let _ = kill(process, Signal::SIGKILL);
        wait_for("the killed client is gone", GONE, || Ok(!is_alive(process)))?;
        self.process = None;
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Not by `kill`, which gives up when the user interrupts.
        if let Some(process) = self.process {
            let _ = kill(process, Signal::SIGKILL);
            let deadline = Instant::now() + GONE;
            while is_alive(process) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
        }
        let _ = self.ask(&["kill-server"]);
    }
}

/// A process that waits for its parent to take notice of its end is not.
fn is_alive(process: Pid) -> bool {
    let state = || Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output();
    kill(process, None).is_ok() && !state().is_ok_and(|state| state.stdout.trim_ascii().starts_with(b"Z"))
}
