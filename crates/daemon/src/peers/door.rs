//! A peer's socket: what is written there becomes mail before the connection is closed, or is refused.
//!
//! Who writes slowly, without end, half or nothing holds nobody up: connections, their time and their bytes are bounded.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use atm_clients::claude::peer_frame::{self, Line};
use atm_clients::claude::socket;
use atm_office::Office;
use atm_office::sessions::peers::Peer;
use atm_store::{bounded_log, fresh_id};

/// How long somebody may take to say it: the sender itself gives up after five seconds.
const PATIENCE: Duration = Duration::from_secs(4);
/// A text has at most a million characters, each of which may be written as six bytes, and there is something around it.
const LONGEST_LINE: usize = 7 << 20;
/// So many messages one connection may bring.
const MOST_MESSAGES: usize = 64;
/// So many connections are read at once; the oldest of more has to stop writing.
const AT_ONCE: usize = 16;
/// So many there are at most, with those whose messages are being accepted.
const MOST: usize = 2 * AT_ONCE;
/// A receipt is given so long to be taken.
const RECEIPT_PATIENCE: Duration = Duration::from_secs(2);
/// After an error of the socket itself.
const PAUSE: Duration = Duration::from_millis(200);

/// The socket of a peer.
#[derive(Debug)]
pub(super) struct Door {
    office: Office,
    peer: Peer,
    socket: PathBuf,
    talks: Mutex<Vec<Weak<UnixStream>>>,
    is_closed: AtomicBool,
}

/// A message that was not taken.
struct Refused {
    frame: String,
    why: String,
}

impl Door {
    pub(super) fn new(office: Office, peer: Peer, socket: &Path) -> Self {
        let (talks, is_closed) = (Mutex::default(), AtomicBool::new(false));
        Self { office, peer, socket: socket.to_owned(), talks, is_closed }
    }

    /// Takes what comes, each connection in a thread of its own.
    pub(super) fn open(self: &Arc<Self>, listener: &UnixListener) {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            let stream = Arc::new(stream);
            if !self.admit(&stream) {
                // What is closed unread is an error to who wrote it.
                continue;
            }
            let door = Arc::clone(self);
            // Where there is no thread for it, it is closed unread, too.
            let _ = thread::Builder::new().name("peer mail".to_owned()).spawn(move || door.talk(stream));
        }
    }

    /// Waits until those that are here are done, though not for ever.
    pub(super) fn close(&self, patience: Duration) {
        self.is_closed.store(true, Ordering::SeqCst);
        let until = Instant::now() + patience;
        while Instant::now() < until && self.talking().iter().any(|talk| talk.strong_count() > 0) {
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn talking(&self) -> std::sync::MutexGuard<'_, Vec<Weak<UnixStream>>> {
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admit(&self, stream: &Arc<UnixStream>) -> bool {
        let mut talks = self.talking();
        talks.retain(|talk| talk.strong_count() > 0);
        if self.is_closed.load(Ordering::SeqCst) || talks.len() >= MOST {
            return false;
        }
        let too_many = (talks.len() + 1).saturating_sub(AT_ONCE);
        for oldest in talks.iter().take(too_many).filter_map(Weak::upgrade) {
            // One whose message is being accepted does not read any more.
            let _ = oldest.shutdown(Shutdown::Read);
        }
        talks.push(Arc::downgrade(stream));
        true
    }

    fn talk(&self, stream: Arc<UnixStream>) {
        let pid = socket::peer(&stream).ok().flatten();
        let refused = self.hear(&stream, pid);
        // From here on its sender takes it for sent: all that is not refused is accepted.
        let _ = stream.shutdown(Shutdown::Both);
        drop(stream);
        for Refused { frame, why } in &refused {
            self.note(&format!("refused a message for {}: {why}", self.peer.title));
            if let Some(pid) = pid {
                self.send_refusal(pid, frame, why);
            }
        }
    }

    /// Takes every message of a connection; gives those that could not be taken.
    fn hear(&self, stream: &UnixStream, pid: Option<u64>) -> Vec<Refused> {
        let mut refused = Vec::new();
        let mut lines = Lines { stream, until: Instant::now() + PATIENCE, bytes: Vec::new() };
        let mut messages = 0;
        while let Some(line) = lines.next() {
            let (id, why) = match peer_frame::parse(&line, &self.peer.id) {
                Line::Other => continue,
                Line::Refused { id, why } => (id, why.to_string()),
                Line::Message(message) => {
                    messages += 1;
                    let taken = if messages > MOST_MESSAGES {
                        Err(format!("more than {MOST_MESSAGES} messages came in one connection"))
                    } else {
                        let taken = self.office.receive_for_peer(&self.peer, &message, pid);
                        taken.map_err(|error| error.to_string())
                    };
                    match taken {
                        Ok(_) => continue,
                        Err(why) => (message.id, why),
                    }
                }
            };
            refused.push(Refused { frame: id.unwrap_or_default(), why });
            if refused.len() > MOST_MESSAGES {
                break;
            }
        }
        refused
    }

    /// Says to the session that wrote a message that it was not taken: only to the socket that its own entry names, and only if
    /// that process listens there.
    fn send_refusal(&self, pid: u64, frame: &str, why: &str) {
        let Some(path) = self.office.socket_of_session(pid).filter(|_| !frame.is_empty()) else { return };
        let from = format!("uds:{}", self.socket.display());
        let receipt = peer_frame::refusal(frame, &fresh_id().to_string(), &from, why);
        if let Err(error) = socket::give(&path, &receipt, |listens| listens == pid, RECEIPT_PATIENCE) {
            self.note(&format!("cannot tell process {pid} so: {error}"));
        }
    }

    fn note(&self, words: &str) {
        let line = format!("{} peer {words}", self.office.now());
        // There is nobody else to tell.
        let _ = bounded_log::note(&self.office.state().hook_log(), &line);
    }
}

/// The whole lines of a connection. What comes too late, is too long or has no end is not among them.
struct Lines<'a> {
    stream: &'a UnixStream,
    until: Instant,
    bytes: Vec<u8>,
}

impl Lines<'_> {
    fn next(&mut self) -> Option<String> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.bytes[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.bytes.drain(..=searched + end).collect::<Vec<u8>>();
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
            searched = self.bytes.len();
            if searched >= LONGEST_LINE || self.read_more()? == 0 {
                return None;
            }
        }
    }

    fn read_more(&mut self) -> Option<usize> {
        let mut piece = [0; 1 << 14];
        let mut stream = self.stream;
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
                return None;
            }
            match stream.read(&mut piece) {
                Ok(read) => {
                    self.bytes.extend_from_slice(&piece[..read]);
                    return Some(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}
