//! The socket of a session of Claude Code: how text gets into its conversation from a process that the session started.
//!
//! The client hands its socket and its session's id to its hooks and servers, in two variables. A frame is one JSON line; the
//! client knows the writing process by its credentials, so the line is written, the writing side is shut down, and the
//! client's end is waited for. Whose socket it is, is asked before anything is written. Receipts come to a socket of our own,
//! beside the session's: what the client simply takes gets none.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The variable that has the socket's path.
pub const SOCKET_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_SOCKET";
/// The variable that has the session's id.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// With `expired`: no time was over, the session takes no frames.
pub const REFUSED: &str = "refused";

/// A longer text is dropped by the client without a word. It counts characters as JavaScript does; bytes are no fewer.
pub const LONGEST_TEXT: usize = 1_000_000;
/// As much as is read of what somebody says to us.
const LONGEST_WORDS: usize = 1 << 16;
/// How long somebody may take to say it.
const RECEIPT_PATIENCE: Duration = Duration::from_secs(10);
/// A socket that is younger may not be listened at yet.
const YOUNG: Duration = Duration::from_secs(10);
/// So many sockets of others are removed at a time: somebody waits for us.
const MOST_CLEARED: usize = 64;
/// So many are listened to at a time.
const MOST_CALLERS: usize = 64;

/// Why a frame could not be given to a session.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The frame names no session: it would go to whichever conversation is on.
    #[error("a frame has to name its session")]
    NoSession,
    /// The client would drop it.
    #[error("a frame of {bytes} bytes is too long")]
    TooLong {
        /// How long its text is.
        bytes: usize,
    },
    /// The socket is not that of the client above us.
    #[error("{} is the socket of process {pid}, which is not the client that started us", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// Who listens there.
        pid: u64,
    },
    /// Nobody listens, or the connection broke.
    #[error("{}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Text for a session.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Its id, a UUID: the client keeps it beside the text.
    pub id: &'a str,
    /// The conversation that it is for. The client drops a frame for another than its present one.
    pub session: &'a str,
    /// The socket that receipts go to.
    pub from: Option<&'a str>,
    /// The text.
    pub text: &'a str,
}

impl Frame<'_> {
    /// Its line.
    pub fn line(&self) -> Result<String, SocketError> {
        if self.session.is_empty() {
            return Err(SocketError::NoSession);
        }
        if self.text.len() > LONGEST_TEXT {
            return Err(SocketError::TooLong { bytes: self.text.len() });
        }
        let mut frame = json!({
            "msgV": 1, "msg_id": self.id, "type": "user", "session_id": self.session, "priority": "next",
            "message": { "role": "user", "content": self.text },
        });
        if let Some(from) = self.from {
            frame["from"] = Value::String(from.to_owned());
        }
        Ok(format!("{frame}\n"))
    }
}

/// Gives a line to the session whose client listens at `path`, if `is_client` knows the listening process. Waits for the
/// client's end for so long; a client that does not close its side has it all the same.
pub fn give(
    path: &Path,
    line: &str,
    is_client: impl Fn(u64) -> bool,
    patience: Duration,
) -> Result<(), SocketError> {
    let failed = |source| SocketError::Io { path: path.to_owned(), source };
    let mut stream = connect(path).map_err(failed)?;
    if let Some(pid) = peer(&stream).map_err(failed)?
        && !is_client(pid)
    {
        return Err(SocketError::Stranger { path: path.to_owned(), pid });
    }
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(line.as_bytes()).map_err(failed)?;
    // It is written, and must not be given again by another way: a client that was quick has closed its side already, which some
    // systems call an error here.
    let _ = stream.shutdown(Shutdown::Write);
    // The client looks at who writes; who has ended by then is a stranger to it.
    let until = Instant::now() + patience;
    let mut rest = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Ok(());
        }
        match stream.read(&mut rest) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The line is written: whether it was taken, the conversation tells.
            Err(_) => return Ok(()),
        }
    }
}

/// A connection, or an error at once: Linux makes callers wait for as long as a listener has too many of them, and a client that
/// was stopped would keep us for ever.
#[cfg(target_os = "linux")]
fn connect(path: &Path) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// A connection, or an error at once: other systems refuse callers of a listener that has too many.
#[cfg(not(target_os = "linux"))]
fn connect(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

/// The process at the other end, where the system tells.
#[cfg(target_os = "linux")]
pub fn peer(stream: &UnixStream) -> io::Result<Option<u64>> {
    let found = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(u64::try_from(found.pid.as_raw_nonzero().get()).ok())
}

/// The process at the other end, where the system tells.
#[cfg(target_os = "macos")]
pub fn peer(stream: &UnixStream) -> io::Result<Option<u64>> {
    use nix::sys::socket::{getsockopt, sockopt::LocalPeerPid};
    let pid = getsockopt(stream, LocalPeerPid)?;
    // A peer that has ended is 0.
    Ok(u64::try_from(pid).ok().filter(|pid| *pid > 0))
}

/// The process at the other end: elsewhere the socket's folder, which is its user's alone, has to do.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn peer(_: &UnixStream) -> io::Result<Option<u64>> {
    Ok(None)
}

/// What the client says about a frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Its user has to decide.
    Held,
    /// Its user let it in.
    Delivered,
    /// Its user did not.
    Denied,
    /// Its user did not decide in time, or the session takes none.
    Expired,
    /// It was dropped, for this reason.
    Dropped(String),
}

/// A receipt for one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The frame's id.
    pub frame: String,
    /// What became of it.
    pub status: Status,
    /// The client's own words for why; first, [`REFUSED`] where the session takes no frames.
    pub reason: Option<String>,
}

/// The receipts in a line of a client's. What is none says nothing.
pub fn receipts_in(line: &str) -> Vec<Receipt> {
    let Ok(said) = serde_json::from_str::<Value>(line) else { return Vec::new() };
    let word = |key: &str| said.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    if word("type").as_deref() != Some("control") || word("action").as_deref() != Some("peer_message_status")
    {
        return Vec::new();
    }
    let why = word("drop_reason").unwrap_or_else(|| "no reason given".to_owned());
    let status = match word("status").as_deref() {
        Some("held") => Status::Held,
        Some("delivered") => Status::Delivered,
        Some("denied") => Status::Denied,
        Some("expired") => Status::Expired,
        Some("dropped") => Status::Dropped(why),
        _ => return Vec::new(),
    };
    let listed = said.get("dropped_msg_ids").and_then(Value::as_array).into_iter().flatten();
    let mut frames: Vec<String> = listed.filter_map(Value::as_str).map(ToOwned::to_owned).collect();
    frames.extend(word("orig_msg_id").filter(|frame| !frames.contains(frame)));
    let why: Vec<String> = [word("status_detail"), word("reason")].into_iter().flatten().collect();
    let reason = (!why.is_empty()).then(|| why.join(": "));
    frames
        .into_iter()
        .map(|frame| Receipt { frame, status: status.clone(), reason: reason.clone() })
        .collect()
}

/// A socket of ours that receipts come to, beside the session's. It is removed with this value.
#[derive(Debug)]
pub struct Mailbag {
    listener: UnixListener,
    path: PathBuf,
    calls: Vec<Call>,
}

/// A client that has begun to say something.
#[derive(Debug)]
struct Call {
    stream: UnixStream,
    said: Vec<u8>,
    since: Instant,
}

impl Mailbag {
    /// Listens beside a session's socket, under a name that says whose it is.
    pub fn beside(session: &Path, pid: u32) -> io::Result<Self> {
        let folder = session.parent().filter(|folder| folder.is_absolute());
        let folder = folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let path = folder.join(format!("atm-{pid}.sock"));
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            // Of the same number in another container.
            if connect(&path).is_ok() {
                return Err(io::Error::from(io::ErrorKind::AddrInUse));
            }
            // One of the same number has ended without clearing up.
            fs::remove_file(&path)?;
        }
        clear_dead(folder);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path, calls: Vec::new() })
    }

    /// Its address, as frames name it.
    pub fn address(&self) -> String {
        format!("uds:{}", self.path.display())
    }

    /// Waits until somebody says something, at most so long; whether there may be something to hear.
    pub fn wait(&self, patience: Duration) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let Ok(timeout) = Timespec::try_from(patience) else { return false };
        let listener = PollFd::new(&self.listener, PollFlags::IN);
        let calls = self.calls.iter().map(|call| PollFd::new(&call.stream, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = std::iter::once(listener).chain(calls).collect();
        poll(&mut all, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// The receipts that came since the last time, from a process that `is_client` knows. Others are not listened to. Nobody is
    /// waited for: what a client has not said yet is heard the next time.
    pub fn receipts(&mut self, is_client: impl Fn(u64) -> bool) -> Vec<Receipt> {
        for _ in self.calls.len()..MOST_CALLERS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            let is_known = peer(&stream).is_ok_and(|pid| pid.is_none_or(&is_client));
            if is_known && stream.set_nonblocking(true).is_ok() {
                self.calls.push(Call { stream, said: Vec::new(), since: Instant::now() });
            }
        }
        let mut all = Vec::new();
        self.calls.retain_mut(|call| {
            let goes_on = call.listen() && call.since.elapsed() < RECEIPT_PATIENCE;
            let lines = call.take_lines(!goes_on);
            all.extend(lines.lines().flat_map(receipts_in));
            goes_on
        });
        all
    }
}

/// Removes what processes of ours that were killed left beside a session's socket: clients end their servers in that way.
fn clear_dead(folder: &Path) {
    let is_ours = |path: &Path| {
        let number =
            path.file_name().and_then(|name| name.to_str()?.strip_prefix("atm-")?.strip_suffix(".sock"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let is_left = |path: &PathBuf| {
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        // One that is made just now may not be listened at yet.
        let is_young = found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age < YOUNG));
        let is_refused =
            || connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        is_ours(path) && found.file_type().is_socket() && !is_young && is_refused()
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|found| found.path());
    for path in files.filter(is_left).take(MOST_CLEARED) {
        let _ = fs::remove_file(path);
    }
}

impl Drop for Mailbag {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Call {
    /// Hears what was said so far; whether there may be more.
    fn listen(&mut self) -> bool {
        let mut some = [0; 4096];
        while self.said.len() < LONGEST_WORDS {
            match self.stream.read(&mut some) {
                Ok(0) => return false,
                Ok(length) => self.said.extend_from_slice(&some[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        false
    }

    /// The lines that it has said; at its end, all.
    fn take_lines(&mut self, is_over: bool) -> String {
        let end = self.said.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let rest = self.said.split_off(if is_over { self.said.len() } else { end });
        String::from_utf8_lossy(&std::mem::replace(&mut self.said, rest)).into_owned()
    }
}

#[cfg(test)]
mod tests;
