//! A test double of a session of Claude Code: its entry in the registry, its socket and its transcript.
//!
//! It does what was measured of 2.1.325: takes frames for its present conversation alone, drops without a word what is none or
//! too long, 30 from one sender at once and then one each two seconds, at most 50 unread, no equal words within half a
//! minute; holds or refuses frames where it is told to, and says so to the sender's socket: of frames that it drops, of the first at
//! once and of others five seconds after that. What it takes while it is idle begins
//! a turn; in a turn it comes between two tool calls. The process that has this value is the client: what it starts are the
//! session's children. With a clock of the test's ([`SessionDouble::by_clock`]), its turns end when the test says that time went on.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use uuid::Uuid;

/// How long a turn takes.
const TURN: Duration = Duration::from_millis(20);
const LONGEST: usize = 1_000_000;
const AT_ONCE: usize = 30;
const MOST_UNREAD: usize = 50;
/// In milliseconds.
const EQUAL_WITHIN: u64 = 30_000;
const EVERY: u64 = 2_000;
/// Of frames that are dropped within this time of the first, one receipt tells then.
const DROPS_TOLD_AFTER: u64 = 5_000;
/// Frames of the last minute count.
const COUNTED_FOR: u64 = 60_000;

/// What a session does with frames of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inbound {
    /// They are taken.
    Accept,
    /// Its user has to decide.
    Hold,
    /// None is taken.
    Refuse,
}

/// A session that runs in this process.
#[derive(Debug)]
pub struct SessionDouble {
    inner: Arc<Mutex<Inner>>,
    socket: PathBuf,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    folder: PathBuf,
    session: String,
    socket: PathBuf,
    inbound: Inbound,
    /// Whether a turn is on that only the test ends.
    busy: bool,
    in_turn: bool,
    taken: Vec<Value>,
    held: Vec<Value>,
    shown: Vec<String>,
    largest_turn: usize,
    turns: usize,
    dropped: Vec<String>,
    /// While its process is stopped: what was written to it, and who waits.
    backlog: Option<Vec<(String, UnixStream)>>,
    /// Why the next frames are dropped, whatever they are.
    to_drop: Vec<String>,
    /// Dropped frames that are told of together, and when.
    untold: Option<(u64, Vec<Value>)>,
    receipts: Vec<Value>,
    sent: HashMap<String, Vec<u64>>,
    words: Vec<(u64, String)>,
    time: Time,
    /// With a clock of the test's: when the turn ends.
    turn_ends: Option<u64>,
}

/// What time it is, in milliseconds since the epoch.
#[derive(Clone)]
struct Time {
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    is_tests: bool,
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", (self.now)())
    }
}

impl SessionDouble {
    /// A session that works in `folder` with the tree `root`; its socket is in `sockets`.
    pub fn start(root: &Path, folder: &Path, sockets: &Path, session: &str) -> Self {
        let time = Time { now: Arc::new(now_millis), is_tests: false };
        Self::begin((root, folder, sockets), session, time)
    }

    /// The same by a clock of the test's, in milliseconds since the epoch: see [`SessionDouble::go_on`].
    pub fn by_clock(
        root: &Path,
        folder: &Path,
        sockets: &Path,
        session: &str,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self::begin((root, folder, sockets), session, Time { now: Arc::new(clock), is_tests: true })
    }

    fn begin((root, folder, sockets): (&Path, &Path, &Path), session: &str, time: Time) -> Self {
        fs::create_dir_all(sockets).expect("a folder for sockets");
        let socket = sockets.join(format!("{}.sock", std::process::id()));
        let listener = UnixListener::bind(&socket).expect("a socket");
        let inner = Inner {
            root: root.to_owned(),
            folder: folder.to_owned(),
            session: session.to_owned(),
            socket: socket.clone(),
            inbound: Inbound::Accept,
            busy: false,
            in_turn: false,
            taken: Vec::new(),
            held: Vec::new(),
            shown: Vec::new(),
            largest_turn: 0,
            turns: 0,
            dropped: Vec::new(),
            backlog: None,
            to_drop: Vec::new(),
            untold: None,
            receipts: Vec::new(),
            sent: HashMap::new(),
            words: Vec::new(),
            time,
            turn_ends: None,
        };
        inner.register();
        let inner = Arc::new(Mutex::new(inner));
        let served = Arc::clone(&inner);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                serve(&served, stream);
            }
        });
        Self { inner, socket }
    }

    /// What it hands to the processes that it starts.
    pub fn hand_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let inner = self.inner();
        command
            .env("CLAUDE_CODE_MESSAGING_SOCKET", &self.socket)
            .env("CLAUDE_CODE_SESSION_ID", &inner.session)
            .current_dir(&inner.folder)
    }

    /// What it does with frames from now on.
    pub fn set_inbound(&self, inbound: Inbound) {
        self.inner().inbound = inbound;
    }

    /// A turn begins that goes on until the test ends it.
    pub fn begin_turn(&self) {
        let mut inner = self.inner();
        inner.busy = true;
        inner.register();
    }

    /// A tool ends in that turn: what waits comes between.
    pub fn end_tool(&self) {
        self.inner().show("attachment");
    }

    /// The turn ends.
    pub fn end_turn(&self) {
        let mut inner = self.inner();
        inner.busy = false;
        inner.register();
        drop(inner);
        pump(&self.inner);
    }

    /// Time went on by the test's clock: a turn may have ended, and what waits begins another.
    pub fn go_on(&self) {
        let mut inner = self.inner();
        if inner.turn_ends.is_some_and(|end| (inner.time.now)() >= end) {
            (inner.turn_ends, inner.in_turn) = (None, false);
            inner.register();
        }
        inner.tell_drops();
        drop(inner);
        pump(&self.inner);
    }

    /// Its user does not decide on what is held, for five minutes.
    pub fn expire(&self) {
        for frame in std::mem::take(&mut self.inner().held) {
            receipt(&frame, "expired", &json!({}));
        }
    }

    /// Its process is stopped: the system keeps what is written to it, and nobody's connection ends.
    pub fn stop(&self) {
        self.inner().backlog = Some(Vec::new());
    }

    /// Its process goes on.
    pub fn resume(&self) {
        let mut inner = self.inner();
        for (text, _stream) in inner.backlog.take().into_iter().flatten() {
            text.lines().for_each(|line| inner.receive(line));
        }
        drop(inner);
        pump(&self.inner);
    }

    /// Drops the next frame, whatever it is, for this reason.
    pub fn drop_next(&self, why: &str) {
        self.inner().to_drop.push(why.to_owned());
    }

    /// Its user decides on what is held.
    pub fn decide(&self, lets_in: bool) {
        let mut inner = self.inner();
        for frame in std::mem::take(&mut inner.held) {
            receipt(&frame, if lets_in { "delivered" } else { "denied" }, &json!({}));
            if lets_in {
                inner.taken.push(frame);
            }
        }
        drop(inner);
        pump(&self.inner);
    }

    /// `/clear`: another conversation in the same process. What waited in the old one is gone.
    pub fn clear(&self, session: &str) {
        self.clear_unlisted(session);
        self.inner().register();
    }

    /// The same, and its entry in the registry is not written yet: until its next turn, or [`SessionDouble::clear`].
    pub fn clear_unlisted(&self, session: &str) {
        let mut inner = self.inner();
        session.clone_into(&mut inner.session);
        inner.taken.clear();
        inner.held.clear();
    }

    /// Forgets what it has taken and not shown, as a client that loses it.
    pub fn lose(&self) -> usize {
        std::mem::take(&mut self.inner().taken).len()
    }

    /// The texts that the model was shown.
    pub fn shown(&self) -> Vec<String> {
        self.inner().shown.clone()
    }

    /// Why frames were dropped.
    pub fn dropped(&self) -> Vec<String> {
        self.inner().dropped.clone()
    }

    /// The receipts that others sent for its own messages.
    pub fn receipts(&self) -> Vec<Value> {
        self.inner().receipts.clone()
    }

    /// Its own address, as its messages name it.
    pub fn address(&self) -> String {
        format!("uds:{}", self.socket.display())
    }

    /// How many turns there were, and how many bytes of frames the largest had.
    pub fn turns(&self) -> (usize, usize) {
        let inner = self.inner();
        (inner.turns, inner.largest_turn)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }
}

fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(inner: &Arc<Mutex<Inner>>, mut stream: UnixStream) {
    let mut text = String::new();
    // A stranger that says nothing must not keep others waiting.
    let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
    let _ = stream.read_to_string(&mut text);
    if let Some(backlog) = &mut lock(inner).backlog {
        return backlog.push((text, stream));
    }
    for line in text.lines() {
        lock(inner).receive(line);
    }
    lock(inner).tell_drops();
    pump(inner);
    drop(stream);
}

/// An idle session begins a turn with all that waits.
fn pump(inner: &Arc<Mutex<Inner>>) {
    let mut state = lock(inner);
    if state.busy || state.in_turn || state.taken.is_empty() {
        return;
    }
    state.in_turn = true;
    state.register();
    state.show("user");
    if state.time.is_tests {
        let now = (state.time.now)();
        state.turn_ends = Some(now + u64::try_from(TURN.as_millis()).unwrap_or(u64::MAX));
        return;
    }
    drop(state);
    let inner = Arc::clone(inner);
    thread::spawn(move || {
        thread::sleep(TURN);
        let mut state = lock(&inner);
        state.in_turn = false;
        state.register();
        drop(state);
        pump(&inner);
    });
}

impl Inner {
    fn receive(&mut self, line: &str) {
        let Ok(frame) = serde_json::from_str::<Value>(line) else { return self.drop_silently("no JSON") };
        if frame["type"] == "control" && frame["action"] == "peer_message_status" {
            return self.receipts.push(frame);
        }
        let Some(text) = frame["message"]["content"].as_str().filter(|_| frame["type"] == "user") else {
            return self.drop_silently("no text");
        };
        if frame.get("session_id").is_some_and(|session| *session != self.session.as_str()) {
            return self.drop_silently("another conversation");
        }
        if text.chars().count() > LONGEST {
            return self.drop_silently("too long");
        }
        let (now, text) = ((self.time.now)(), text.to_owned());
        if !self.to_drop.is_empty() {
            let why = self.to_drop.remove(0);
            return self.refuse(&frame, &why);
        }
        let from = frame["from"].as_str().unwrap_or("unknown").to_owned();
        let times = self.sent.entry(from).or_default();
        times.retain(|at| now.saturating_sub(*at) < COUNTED_FOR);
        let earned = times.first().map_or(0, |first| now.saturating_sub(*first) / EVERY);
        if times.len() >= AT_ONCE + usize::try_from(earned).unwrap_or(0) {
            return self.refuse(&frame, "rate-limited");
        }
        times.push(now);
        self.words.retain(|(at, _)| now.saturating_sub(*at) < EQUAL_WITHIN);
        if self.words.iter().any(|(_, words)| *words == text) {
            return self.refuse(&frame, "duplicate");
        }
        self.words.push((now, text));
        if self.taken.len() >= MOST_UNREAD {
            return self.refuse(&frame, "queue-full");
        }
        match self.inbound {
            Inbound::Accept => self.taken.push(frame),
            Inbound::Hold => {
                receipt(&frame, "held", &json!({}));
                self.held.push(frame);
            }
            Inbound::Refuse => receipt(&frame, "expired", &json!({ "status_detail": "refused" })),
        }
    }

    fn drop_silently(&mut self, why: &str) {
        self.dropped.push(why.to_owned());
    }

    fn refuse(&mut self, frame: &Value, why: &str) {
        self.dropped.push(why.to_owned());
        if let Some((_, untold)) = &mut self.untold {
            return untold.push(frame.clone());
        }
        self.untold = Some(((self.time.now)() + DROPS_TOLD_AFTER, Vec::new()));
        receipt(frame, "dropped", &json!({ "drop_reason": why, "dropped_msg_ids": [frame["msg_id"]] }));
    }

    /// Tells of the frames that were dropped after the first, if it is time: of all in one receipt, for the first of them.
    fn tell_drops(&mut self) {
        let now = (self.time.now)();
        let Some((_, frames)) = self.untold.take_if(|(at, _)| now >= *at) else { return };
        let Some(first) = frames.first() else { return };
        let ids: Vec<&Value> = frames.iter().map(|frame| &frame["msg_id"]).collect();
        receipt(first, "dropped", &json!({ "drop_reason": "several", "dropped_msg_ids": ids }));
    }

    /// Puts all that waits into the conversation, as an entry of this type each.
    fn show(&mut self, kind: &str) {
        let taken = std::mem::take(&mut self.taken);
        if taken.is_empty() {
            return;
        }
        let texts: Vec<String> = taken
            .iter()
            .map(|frame| frame["message"]["content"].as_str().unwrap_or_default().to_owned())
            .collect();
        self.turns += 1;
        self.largest_turn = self.largest_turn.max(texts.iter().map(String::len).sum());
        let mut lines = String::new();
        for (frame, text) in taken.iter().zip(&texts) {
            let origin = json!({ "kind": "peer", "msg_id": frame["msg_id"] });
            let mut entry =
                json!({ "type": kind, "uuid": Uuid::new_v4().to_string(), "timestamp": (self.time.now)() });
            if kind == "user" {
                entry["origin"] = origin;
                entry["message"] = json!({ "role": "user", "content": text });
            } else {
                entry["attachment"] = json!({ "type": "queued_command", "prompt": text, "origin": origin });
            }
            let _ = writeln!(lines, "{entry}");
        }
        let folder = self.root.join("projects/-double");
        fs::create_dir_all(&folder).expect("a folder for conversations");
        let path = folder.join(format!("{}.jsonl", self.session));
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a conversation");
        file.write_all(lines.as_bytes()).expect("the conversation is written");
        self.shown.extend(texts);
    }

    fn register(&self) {
        let pid = std::process::id();
        let kernel = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let start = kernel.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
        let entry = json!({
            "pid": pid, "sessionId": self.session, "cwd": self.folder, "procStart": start, "version": "2.1.325",
            "kind": "interactive", "entrypoint": "cli", "messagingSocketPath": self.socket,
            "status": if self.busy || self.in_turn { "busy" } else { "idle" }, "statusUpdatedAt": (self.time.now)(),
        });
        let folder = self.root.join("sessions");
        fs::create_dir_all(&folder).expect("a registry");
        let (file, temp) = (folder.join(format!("{pid}.json")), folder.join(format!("{pid}.tmp")));
        fs::write(&temp, entry.to_string()).expect("an entry");
        fs::rename(temp, file).expect("an entry");
    }
}

fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Says to the sender's own socket what became of its frame.
fn receipt(frame: &Value, status: &str, more: &Value) {
    let Some(path) = frame["from"].as_str().and_then(|from| from.strip_prefix("uds:")) else { return };
    let mut said = json!({
        "type": "control", "action": "peer_message_status", "status": status, "orig_msg_id": frame["msg_id"],
    });
    if let (Some(said), Some(more)) = (said.as_object_mut(), more.as_object()) {
        said.extend(more.clone());
    }
    // A sender that does not listen gets none.
    if let Ok(mut stream) = UnixStream::connect(path) {
        let _ = stream.write_all(format!("{said}\n").as_bytes());
    }
}
