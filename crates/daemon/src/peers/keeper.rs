//! The thread that keeps the list of peers what it is to be.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use atm_clients::claude::peer::Process;
use atm_office::Office;

use super::PeerProgram;
use super::children::Children;
use crate::control::Board;
use crate::status::Troubles;

/// The list is looked at so often, whatever happens: not every change of a session gives an event.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How long the end of the thread is waited for, and how often it is looked whether it came.
const PATIENCE: Duration = Duration::from_secs(10);
const END_LOOK: Duration = Duration::from_millis(5);
/// Between two looks.
const REST: Duration = Duration::from_millis(300);

/// Keeps peers listed, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Keeper {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

/// By which the thread is told that something may have changed, or that it is over.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<Rung>,
    heard: Condvar,
}

#[derive(Debug, Default)]
struct Rung {
    has_news: bool,
    is_over: bool,
}

impl Bell {
    fn ring(&self, change: impl FnOnce(&mut Rung)) {
        change(&mut self.rung.lock().unwrap_or_else(PoisonError::into_inner));
        self.heard.notify_all();
    }

    /// Waits for news, until a time; says whether it is over.
    fn wait(&self, until: Instant) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let time = until.saturating_duration_since(Instant::now());
        let waits = |rung: &mut Rung| !rung.has_news && !rung.is_over;
        let (mut rung, _) =
            self.heard.wait_timeout_while(rung, time, waits).unwrap_or_else(PoisonError::into_inner);
        rung.has_news = false;
        rung.is_over
    }

    /// The same without heeding news.
    fn rest(&self, time: Duration) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.heard.wait_timeout_while(rung, time, |rung| !rung.is_over);
    }
}

impl Keeper {
    /// Begins to keep peers listed.
    pub(crate) fn start(office: &Office, program: &PeerProgram, board: Arc<Board>) -> std::io::Result<Self> {
        // Who lists has not to wait for those who work, nor those for it.
        let (office, program) = (office.apart(), program.clone());
        let bell = Arc::<Bell>::default();
        let heard = Arc::clone(&bell);
        let work = move || keep(&office, program, &board, &heard);
        let thread = Some(thread::Builder::new().name("peers".to_owned()).spawn(work)?);
        Ok(Self { bell, thread })
    }

    /// Somebody may have come or gone.
    pub(crate) fn look(&self) {
        self.bell.ring(|rung| rung.has_news = true);
    }
}

impl Drop for Keeper {
    /// Nobody is listed any more when this returns, unless a disk hangs: the processes of peers end with ours in any case.
    fn drop(&mut self) {
        self.bell.ring(|rung| rung.is_over = true);
        let until = Instant::now() + PATIENCE;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(END_LOOK);
        }
    }
}

fn keep(office: &Office, program: PeerProgram, board: &Board, bell: &Arc<Bell>) {
    let pid = u64::from(std::process::id());
    let start = office.probe().started(pid).unwrap_or_default();
    let mut children = Children::new(program, office.root().path(), Process { pid, start });
    let mut troubles = Troubles::default();
    loop {
        clear_left(office);
        let found = match office.peers() {
            Ok(wanted) => {
                let bell = Arc::clone(bell);
                children.set(&wanted, move || bell.ring(|rung| rung.has_news = true))
            }
            // Those that are listed stay until it is known who is there.
            Err(error) => vec![format!("peers: {error}")],
        };
        for trouble in found {
            tracing::warn!(trouble, "peers");
            troubles.add(office.now(), None, trouble);
        }
        board.write(|status| {
            status.peers = children.titles();
            status.peer_troubles = troubles.list();
        });
        let until = children.next().into_iter().chain([Instant::now() + LOOK_EVERY]).min();
        bell.rest(REST);
        if bell.wait(until.unwrap_or_else(Instant::now)) {
            break;
        }
    }
    children.end();
    clear_left(office);
    board.write(|status| status.peers = Vec::new());
}

/// Takes away what a daemon that died has left.
pub fn clear_left(office: &Office) {
    for left in office.left_peers() {
        match office.remove_left_peer(&left) {
            Ok(true) => tracing::info!(path = %left.path.display(), "cleared what was left of a peer"),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "cannot clear what was left of a peer"),
        }
    }
}
