//! `atm daemon start`

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_daemon::control::Client;
use atm_daemon::{DaemonError, Holder, holder};
use atm_store::State;
use serde_json::json;

use crate::context::Context;
use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::settings::Autostart;
use crate::version;

/// How long a daemon may take until it serves.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it does.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(super) fn run(context: &mut Context) -> Result<i32, Failure> {
    let state = context.office.state().clone();
    if let Holder::Process(pid) = holder(&state)
        && let Some(code) = found(context, &state, pid)?
    {
        return Ok(code);
    }
    let waiting = context.out.waiting("waiting for the daemon to serve");
    let mut child = spawn(context, &state)?;
    let build = version::build();
    let client = Client::new(&state, &build);
    let deadline = Instant::now() + PATIENCE;
    let pid = loop {
        if let Holder::Process(_) = holder(&state)
            && let Ok(status) = client.status()
        {
            break status.pid;
        }
        let ended = child.try_wait().ok().flatten();
        if let (Some(ended), Holder::Nobody) = (ended, holder(&state)) {
            return Err(DaemonError::DidNotStart(why(&state, &ended.to_string())).into());
        }
        if Instant::now() > deadline {
            return Err(DaemonError::Silent { pid: child.id() }.into());
        }
        thread::sleep(LOOK_EVERY);
    };
    drop(waiting);
    tell(context, pid, true)
}

/// The answer if a daemon holds the lock, or none if it ended meanwhile: a killed process holds its lock for a moment. It is
/// the one that is wanted only if it watches the same tree.
fn found(context: &mut Context, state: &State, pid: u32) -> Result<Option<i32>, Failure> {
    let build = version::build();
    let wanted = context.office.root().path().to_owned();
    match Client::new(state, &build).status() {
        Ok(status) if !is_same_place(&status.root, &wanted) => {
            Err(DaemonError::OtherRoot { pid: status.pid, watches: status.root, wanted }.into())
        }
        Ok(status) => tell(context, status.pid, false).map(Some),
        Err(DaemonError::NotRunning) => Ok(None),
        // One that hangs has the lock all the same, and `status` says that it does not answer.
        Err(_) => tell(context, pid, false).map(Some),
    }
}

fn is_same_place(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

fn tell(context: &mut Context, pid: u32, started: bool) -> Result<i32, Failure> {
    if context.out.json {
        context.out.document(&json!({ "pid": pid, "started": started }))?;
    } else if started {
        context.out.note(format!("the daemon runs (process {pid})"))?;
    } else {
        context.out.note(format!("the daemon runs already (process {pid})"))?;
    }
    Ok(0)
}

/// Starts one if the settings want that and none runs. Nobody waits for it, and nobody hears of it if that fails.
pub(crate) fn start_if_wanted(context: &Context) {
    start_if(context, |wanted| wanted == Autostart::Always);
}

/// The same for what shows all teams for longer.
pub(crate) fn start_with_ui(context: &Context) {
    start_if(context, |wanted| matches!(wanted, Autostart::Always | Autostart::WithUi));
}

fn start_if(context: &Context, is_wanted: impl Fn(Autostart) -> bool) {
    let state = context.office.state();
    if is_wanted(context.settings.autostart.value) && state.path().is_dir() && holder(state) == Holder::Nobody
    {
        let _ = spawn(context, state);
    }
}

fn spawn(context: &Context, state: &State) -> Result<Child, Failure> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::new(ExitCode::Io, "daemon_start", format!("cannot {what}: {error}"))
    };
    let program = env::current_exe().map_err(|error| failed("find this program", &error))?;
    state.daemon_lock().map_err(|error| Failure::from(DaemonError::from(error)))?;
    let last_words = last_words(state);
    let words = fs::File::create(&last_words).map_err(|cause| {
        Failure::from(DaemonError::Io { doing: "write", path: last_words.clone(), cause })
    })?;
    let mut command = Command::new(program);
    command.arg("--root").arg(context.office.root().path()).arg("--state").arg(state.path());
    command.args(["daemon", "run", "--detached"]);
    // Who asks and in which team is no business of one that is there for all.
    command.env_remove("ATM_TEAM").env_remove("ATM_AS");
    command.current_dir(state.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(words);
    command.spawn().map_err(|error| failed("start it", &error))
}

/// What a daemon said before it could write its journal, or when it panicked.
fn last_words(state: &State) -> std::path::PathBuf {
    state.daemon().join("stderr.log")
}

fn why(state: &State, ended: &str) -> String {
    let words = fs::read_to_string(last_words(state)).unwrap_or_default();
    let words = words.trim().trim_start_matches("error: ");
    if words.is_empty() { ended.to_owned() } else { words.to_owned() }
}
