//! Running `tmux`, without a shell and not for longer than it should take.

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use atm_office::people::pane::PaneError;

/// A server that works answers within milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// What tmux said.
pub(super) enum Said {
    /// Its output.
    Done(String),
    /// There is no server.
    NoServer,
    /// It failed, and said why.
    No(String),
}

/// Runs tmux to its end.
pub(super) fn tmux(args: &[OsString]) -> Result<Said, PaneError> {
    let mut child = Command::new("tmux")
        .args(args)
        // Which server is meant is said by the arguments alone.
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PaneError::NoTmux)?;
    let Some((output, errors)) = wait(&mut child) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(PaneError::Slow { command: verb(args), waited: PATIENCE });
    };
    let status = child.wait().map_err(PaneError::NoTmux)?;
    if status.success() {
        return Ok(Said::Done(output));
    }
    let why = errors.trim();
    let gone = ["no server running", "error connecting to", "server exited", "lost server"];
    if gone.iter().any(|words| why.starts_with(words)) {
        return Ok(Said::NoServer);
    }
    Ok(Said::No(if why.is_empty() { format!("ended with {status}") } else { why.to_owned() }))
}

/// All that it says until it ends; `None` if it does not.
fn wait(child: &mut Child) -> Option<(String, String)> {
    let output = listen(child.stdout.take());
    let errors = listen(child.stderr.take());
    Some((output.recv_timeout(PATIENCE).ok()?, errors.recv_timeout(PATIENCE).ok()?))
}

fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (said, heard) = mpsc::channel();
    // Where the system has no thread, it is as if nothing had been said.
    let _ = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = said.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    heard
}

/// The command among the arguments, for an error.
pub(super) fn verb(args: &[OsString]) -> String {
    // The server's option and its value come first.
    args.get(2).map(|verb| verb.to_string_lossy().into_owned()).unwrap_or_default()
}
