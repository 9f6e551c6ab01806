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

use serde_json::{Value, json};

/// The variable that has the socket's path.
pub const SOCKET_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_SOCKET";
/// The variable that has the session's id.
pub const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

/// A longer text is dropped by the client without a word. It counts characters as JavaScript does; bytes are no fewer.
const LONGEST_TEXT: usize = 1_000_000;
/// As much as is read of what somebody says to us.
const LONGEST_WORDS: u64 = 1 << 16;
/// How long somebody may take to say it.
const RECEIPT_PATIENCE: Duration = Duration::from_millis(500);
/// So many connections are served in one go.
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
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    if let Some(pid) = peer(&stream).map_err(failed)?
        && !is_client(pid)
    {
        return Err(SocketError::Stranger { path: path.to_owned(), pid });
    }
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    stream.write_all(line.as_bytes()).map_err(failed)?;
    stream.shutdown(Shutdown::Write).map_err(failed)?;
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

/// The process at the other end, where the system tells.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> io::Result<Option<u64>> {
    let found = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(u64::try_from(found.pid.as_raw_nonzero().get()).ok())
}

/// The process at the other end: elsewhere the socket's folder, which is its user's alone, has to do.
#[cfg(not(target_os = "linux"))]
fn peer(_: &UnixStream) -> io::Result<Option<u64>> {
    Ok(None)
}

/// What the client says about a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The client's own words for why.
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
    let reason = word("reason").or_else(|| word("status_detail"));
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
}

impl Mailbag {
    /// Listens beside a session's socket, under a name that says whose it is.
    pub fn beside(session: &Path, pid: u32) -> io::Result<Self> {
        let folder = session.parent().filter(|folder| folder.is_absolute());
        let folder = folder.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let path = folder.join(format!("atm-{pid}.sock"));
        // One of the same number has ended without clearing up.
        if fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&path)?;
        }
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    /// Its address, as frames name it.
    pub fn address(&self) -> String {
        format!("uds:{}", self.path.display())
    }

    /// The receipts that came, from a process that `is_client` knows. Others are not listened to.
    pub fn receipts(&self, is_client: impl Fn(u64) -> bool) -> Vec<Receipt> {
        let mut all = Vec::new();
        for _ in 0..MOST_CALLERS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if peer(&stream).is_ok_and(|pid| pid.is_none_or(&is_client)) {
                all.extend(words_of(&stream).lines().flat_map(receipts_in));
            }
        }
        all
    }
}

impl Drop for Mailbag {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn words_of(stream: &UnixStream) -> String {
    let mut bytes = Vec::new();
    if stream.set_nonblocking(false).is_ok() && stream.set_read_timeout(Some(RECEIPT_PATIENCE)).is_ok() {
        // What came before it broke off counts.
        let _ = stream.take(LONGEST_WORDS).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn frame(text: &str) -> Frame<'_> {
        Frame { id: "f1", session: "s1", from: Some("uds:/x/atm-7.sock"), text }
    }

    #[test]
    fn a_frame_always_names_its_session_and_never_asks_for_more_than_the_next_place() {
        let line = frame("hello\nworld").line().unwrap();
        assert_eq!(line.matches('\n').count(), 1, "one line: {line}");
        let said: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            said,
            json!({
                "msgV": 1, "msg_id": "f1", "type": "user", "from": "uds:/x/atm-7.sock", "session_id": "s1",
                "priority": "next", "message": { "role": "user", "content": "hello\nworld" },
            })
        );
        assert!(matches!(Frame { session: "", ..frame("x") }.line(), Err(SocketError::NoSession)));
        let huge = "x".repeat(LONGEST_TEXT + 1);
        assert!(matches!(frame(&huge).line(), Err(SocketError::TooLong { .. })));
        assert!(frame(&huge[1..]).line().is_ok());
    }

    #[test]
    fn a_line_is_given_to_the_client_alone_and_its_end_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("4242.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let client = thread::spawn(move || {
            let mut lines = Vec::new();
            for stream in listener.incoming().take(2) {
                let mut line = String::new();
                BufReader::new(stream.unwrap()).read_line(&mut line).unwrap();
                lines.push(line);
            }
            lines
        });
        let own = u64::from(std::process::id());
        if cfg!(target_os = "linux") {
            let refused = give(&path, "secret\n", |pid| pid != own, PATIENCE);
            assert!(matches!(refused, Err(SocketError::Stranger { pid, .. }) if pid == own), "{refused:?}");
        } else {
            drop(UnixStream::connect(&path).unwrap());
        }
        give(&path, "hello\n", |pid| pid == own, PATIENCE).unwrap();
        assert_eq!(client.join().unwrap(), ["", "hello\n"], "a stranger was told nothing");
        let gone = give(&folder.path().join("17.sock"), "x\n", |_| true, PATIENCE);
        assert!(matches!(gone, Err(SocketError::Io { .. })), "{gone:?}");
    }

    #[test]
    fn every_receipt_is_understood_and_nothing_else() {
        let one = |status| vec![Receipt { frame: "f1".into(), status, reason: None }];
        let said = |more: &str| format!(r#"{{"type":"control","action":"peer_message_status",{more}}}"#);
        for (more, expected) in [
            (r#""status":"held","orig_msg_id":"f1""#, one(Status::Held)),
            (r#""status":"delivered","orig_msg_id":"f1""#, one(Status::Delivered)),
            (r#""status":"denied","orig_msg_id":"f1""#, one(Status::Denied)),
            (r#""status":"expired","orig_msg_id":"f1""#, one(Status::Expired)),
            (
                r#""status":"dropped","drop_reason":"duplicate","orig_msg_id":"f1""#,
                one(Status::Dropped("duplicate".into())),
            ),
            (r#""status":"dropped","orig_msg_id":"f1""#, one(Status::Dropped("no reason given".into()))),
            (r#""status":"seen","orig_msg_id":"f1""#, Vec::new()),
            (r#""status":"held""#, Vec::new()),
            (r#""status":7,"orig_msg_id":"f1""#, Vec::new()),
        ] {
            assert_eq!(receipts_in(&said(more)), expected, "{more}");
        }
        let many = said(
            r#""status":"dropped","drop_reason":"rate-limited","orig_msg_id":"f1","dropped_msg_ids":["f1","f2"]"#,
        );
        let frames: Vec<String> = receipts_in(&many).into_iter().map(|receipt| receipt.frame).collect();
        assert_eq!(frames, ["f1", "f2"]);
        let refused =
            receipts_in(&said(r#""status":"expired","status_detail":"refused","orig_msg_id":"f1""#));
        assert_eq!(refused[0].reason.as_deref(), Some("refused"));
        for hostile in ["", "[]", "{", "null", r#"{"type":"user","message":{}}"#, &"[".repeat(200_000)] {
            assert_eq!(receipts_in(hostile), []);
        }
    }

    #[test]
    fn receipts_of_strangers_are_not_listened_to_and_the_socket_goes_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("4242.sock");
        let bag = Mailbag::beside(&session, 7).unwrap();
        let path = folder.path().join("atm-7.sock");
        assert_eq!(bag.address(), format!("uds:{}", path.display()));
        let say = || {
            let mut stream = UnixStream::connect(&path).unwrap();
            let line =
                r#"{"type":"control","action":"peer_message_status","status":"denied","orig_msg_id":"f1"}"#;
            stream.write_all(format!("garbage\n{line}\n").as_bytes()).unwrap();
        };
        assert_eq!(bag.receipts(|_| true), []);
        say();
        assert_eq!(bag.receipts(|_| true).len(), 1);
        if cfg!(target_os = "linux") {
            say();
            assert_eq!(bag.receipts(|_| false), []);
        }
        drop(bag);
        assert!(!path.exists());
        assert!(Mailbag::beside(Path::new("x.sock"), 7).is_err());
    }
}
