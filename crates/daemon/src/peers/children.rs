//! The processes of peers: started, watched and ended.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atm_clients::claude::peer::Process;
use atm_office::sessions::peers::Peer;

use super::{Assignment, PeerProgram};

/// How long a process may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often it is looked whether it did.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// A process that ends by itself is started again after this long, and later each time.
const FIRST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(5 * 60);
/// One that ran for so long failed for a new reason.
const SETTLED: Duration = Duration::from_secs(60);

/// The process of one peer.
#[derive(Debug)]
struct Running {
    peer: Peer,
    child: Child,
    since: Instant,
}

/// How often a peer's process has ended by itself, and until when it rests.
#[derive(Debug, Clone, Copy)]
struct Failed {
    times: u32,
    until: Instant,
}

/// All of them, by the peer's id.
#[derive(Debug)]
pub(super) struct Children {
    program: PeerProgram,
    /// Where they work.
    folder: PathBuf,
    daemon: Process,
    running: BTreeMap<String, Running>,
    failed: BTreeMap<String, Failed>,
}

impl Children {
    pub(super) fn new(program: PeerProgram, folder: &Path, daemon: Process) -> Self {
        let folder = folder.to_owned();
        Self { program, folder, daemon, running: BTreeMap::new(), failed: BTreeMap::new() }
    }

    /// What the peers are called whose processes run.
    pub(super) fn titles(&self) -> Vec<String> {
        let mut titles: Vec<String> =
            self.running.values().map(|running| running.peer.title.clone()).collect();
        titles.sort();
        titles
    }

    /// Starts those that are wanted and do not run, ends those that run and are not wanted; says what went wrong. `ended` is
    /// called when a process has ended.
    pub(super) fn set(&mut self, wanted: &[Peer], ended: impl Fn() + Clone + Send + 'static) -> Vec<String> {
        let mut troubles = self.notice_ends();
        let is_wanted = |running: &Running| wanted.contains(&running.peer);
        let unwanted: Vec<String> = self
            .running
            .iter()
            .filter(|(_, running)| !is_wanted(running))
            .map(|(id, _)| id.clone())
            .collect();
        let over: Vec<Running> = unwanted.iter().filter_map(|id| self.running.remove(id)).collect();
        end(over);
        let now = Instant::now();
        for peer in wanted {
            let rests = self.failed.get(&peer.id).is_some_and(|failed| failed.until > now);
            if self.running.contains_key(&peer.id) || rests {
                continue;
            }
            match self.start(peer, ended.clone()) {
                Ok(child) => {
                    let running = Running { peer: peer.clone(), child, since: now };
                    self.running.insert(peer.id.clone(), running);
                }
                Err(error) => {
                    self.fail(&peer.id, now);
                    troubles.push(format!("{} cannot be listed for Claude Code: {error}", peer.title));
                }
            }
        }
        self.failed.retain(|id, _| wanted.iter().any(|peer| peer.id == *id));
        troubles
    }

    /// When one that rests may be started again.
    pub(super) fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        self.failed.values().map(|failed| failed.until).filter(|until| *until > now).min()
    }

    /// Ends all.
    pub(super) fn end(&mut self) {
        end(std::mem::take(&mut self.running).into_values().collect());
    }

    /// Takes note of those that ended though nobody told them to.
    fn notice_ends(&mut self) -> Vec<String> {
        let mut troubles = Vec::new();
        let mut gone = Vec::new();
        for (id, running) in &mut self.running {
            if let Ok(Some(status)) = running.child.try_wait() {
                let title = &running.peer.title;
                troubles.push(format!("the process of {title} ended: {status}; hook.log may say why"));
                gone.push((id.clone(), running.since));
            }
        }
        let now = Instant::now();
        for (id, since) in gone {
            self.running.remove(&id);
            if since.elapsed() > SETTLED {
                self.failed.remove(&id);
            }
            self.fail(&id, now);
        }
        troubles
    }

    fn fail(&mut self, id: &str, now: Instant) {
        let times = self.failed.get(id).map_or(0, |failed| failed.times);
        let rest = FIRST_REST.saturating_mul(1 << times.min(16)).min(LONGEST_REST);
        self.failed.insert(id.to_owned(), Failed { times: times.saturating_add(1), until: now + rest });
    }

    fn start(&self, peer: &Peer, ended: impl FnOnce() + Send + 'static) -> io::Result<Child> {
        let mut command = Command::new(&self.program.program);
        command.arg0("atm");
        command
            .args(&self.program.arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // What goes wrong there is in the log of hooks.
        let mut child = command.stderr(Stdio::null()).spawn()?;
        let assignment = Assignment { peer: peer.clone(), daemon: self.daemon.clone() };
        // Strings and numbers: that cannot fail.
        let line = serde_json::to_string(&assignment).unwrap_or_default() + "\n";
        let told = child.stdin.as_mut().map_or(Ok(()), |input| input.write_all(line.as_bytes()));
        let output = child.stdout.take();
        let watched = thread::Builder::new().name("peer".to_owned()).spawn(move || {
            // It says nothing; the end of its output is the end of its process.
            let _ = output.map(|mut output| output.read_to_end(&mut Vec::new()));
            ended();
        });
        if let Err(error) = told.and(watched.map(drop)) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(child)
    }
}

/// Ends processes: first all are told, then each is waited for, and who does not hear is killed. What that one leaves is found by
/// number and start.
fn end(mut over: Vec<Running>) {
    for running in &mut over {
        drop(running.child.stdin.take());
    }
    let until = Instant::now() + PATIENCE;
    for mut running in over {
        while matches!(running.child.try_wait(), Ok(None)) {
            if Instant::now() >= until {
                let _ = running.child.kill();
                let _ = running.child.wait();
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}
