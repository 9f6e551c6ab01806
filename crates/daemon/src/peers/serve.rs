//! What the process of a peer does: it listens, takes mail, and is gone without a trace.

use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use atm_clients::claude::peer::{self, Entry, Process};
use atm_office::Office;
use atm_store::{LockTimes, PeerEntry, bounded_log, private_folder};

use super::Assignment;
use super::door::Door;
use crate::error::{DaemonError, Doing};

/// A sender waits five seconds for the end of its connection: by then its message has to be accepted.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// At the end, what came in is taken to its end for so long.
const LAST_MESSAGES: Duration = Duration::from_secs(4);

/// Listens for a peer, until `input` ends or the office's waits do. What goes wrong is in the log of hooks, too: nobody
/// reads what this process says.
pub fn serve(
    office: &Office,
    assignment: &Assignment,
    input: impl Read + Send + 'static,
) -> Result<(), DaemonError> {
    let served = try_serve(office, assignment, input);
    if let Err(error) = &served {
        let line = format!("{} peer {}: {error}", office.now(), assignment.peer.title);
        let _ = bounded_log::note(&office.state().hook_log(), &line);
    }
    served
}

fn try_serve(
    office: &Office,
    assignment: &Assignment,
    input: impl Read + Send + 'static,
) -> Result<(), DaemonError> {
    let times = LockTimes { wait: LOCK_PATIENCE, ..office.lock_times() };
    // What is accepted for another machine is carried by a bridge: the sender has not to wait until it is there.
    let office = office.clone().with_lock_times(times).with_machine_patience(Duration::ZERO);
    let pid = u64::from(std::process::id());
    let process = Process { pid, start: office.probe().started(pid).unwrap_or_default() };
    let (listener, socket) = listen(&office, pid)?;
    let door = Arc::new(Door::new(office.clone(), assignment.peer.clone(), &socket.0));
    let entry = list(&office, assignment, &process, &socket)?;
    let opened = Arc::clone(&door);
    thread::Builder::new()
        .name("door".to_owned())
        .spawn(move || opened.open(&listener))
        .doing("begin a thread for", &socket.0)?;
    let hub = office.hub().clone();
    let ends = move || {
        let mut input = input;
        let _ = io::copy(&mut input, &mut io::sink());
        // Who started us has ended, or wants us to.
        hub.shut_down();
    };
    thread::Builder::new().name("end".to_owned()).spawn(ends).doing("begin a thread for", &socket.0)?;
    office.hub().wait_for_end();
    // Nobody new first; then those that are here.
    drop(entry);
    door.close(LAST_MESSAGES);
    Ok(())
}

/// A file that goes with this value.
struct Own(PathBuf);

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The entry in the registry, for as long as it lives.
struct Listed {
    entry: PeerEntry,
    text: String,
}

impl Drop for Listed {
    fn drop(&mut self) {
        // What cannot be taken away now is found by number and start.
        let _ = self.entry.remove_if(|text| text == self.text);
    }
}

fn listen(office: &Office, pid: u64) -> Result<(UnixListener, Own), DaemonError> {
    let folder = office.state().peer_sockets();
    private_folder(&folder)?;
    let path = folder.join(format!("{pid}.sock"));
    // Only one of the same number can have left it.
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).doing("remove", &path)?;
    }
    let listener = UnixListener::bind(&path).doing("listen at", &path)?;
    let own = Own(path);
    fs::set_permissions(&own.0, Permissions::from_mode(0o600)).doing("set the mode of", &own.0)?;
    Ok((listener, own))
}

fn list(
    office: &Office,
    Assignment { peer, daemon }: &Assignment,
    process: &Process,
    socket: &Own,
) -> Result<Listed, DaemonError> {
    let root = office.root().path();
    let text = Entry {
        process,
        daemon,
        pid_space: &office.probe().pid_space(),
        id: &peer.id,
        name: &peer.title,
        cwd: peer.folder.as_deref().unwrap_or(root),
        began: office.now().as_millis(),
        socket: &socket.0,
    }
    .render();
    let entry = PeerEntry::at(peer::file(root, process.pid));
    entry.write(&text)?;
    Ok(Listed { entry, text })
}
