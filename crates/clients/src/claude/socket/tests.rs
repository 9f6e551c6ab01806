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
fn a_line_is_given_to_the_client_alone() {
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

/// The client looks at who writes when it has read the line: who has ended by then is a stranger to it.
#[test]
fn its_end_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("4242.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let client = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        // As long as the client takes, who writes is there.
        let has_gone = told.recv_timeout(Duration::from_millis(300)).is_ok();
        drop(stream);
        (text, has_gone)
    });
    give(&path, "hello\n", |_| true, PATIENCE).unwrap();
    let _ = tell.send(());
    assert_eq!(client.join().unwrap(), ("hello\n".to_owned(), false));
}

/// A client that was stopped keeps nobody: the line is its own, and is read when it goes on.
#[test]
fn a_client_that_does_not_read_is_not_waited_for_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("4242.sock");
    let listener = UnixListener::bind(&path).unwrap();
    give(&path, "hello\n", |_| true, Duration::from_millis(50)).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello\n");
}

/// A hook that has given a frame waits a little for what the client says of it at once.
#[test]
fn who_waits_for_words_hears_them_and_does_not_wait_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut bag = Mailbag::beside(&folder.path().join("4242.sock"), 7).unwrap();
    assert!(!bag.wait(Duration::from_millis(10)), "nobody says anything");
    let path = folder.path().join("atm-7.sock");
    let client = thread::spawn(move || {
        let line =
            r#"{"type":"control","action":"peer_message_status","status":"denied","orig_msg_id":"f1"}"#;
        UnixStream::connect(path).unwrap().write_all(line.as_bytes()).unwrap();
    });
    let until = Instant::now() + PATIENCE;
    let mut heard = Vec::new();
    while heard.is_empty() && Instant::now() < until {
        assert!(bag.wait(PATIENCE), "somebody calls, or says something");
        heard = bag.receipts(|_| true);
    }
    assert_eq!(heard.len(), 1);
    client.join().unwrap();
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
    for (more, expected) in [
        (r#""status_detail":"refused""#, Some("refused")),
        (r#""status_detail":"refused","reason":"by a rule""#, Some("refused: by a rule")),
        (r#""reason":"by a rule""#, Some("by a rule")),
        (r#""reason":7"#, None),
    ] {
        let refused = receipts_in(&said(&format!(r#""status":"expired",{more},"orig_msg_id":"f1""#)));
        assert_eq!(refused[0].reason.as_deref(), expected, "{more}");
    }
    for hostile in ["", "[]", "{", "null", r#"{"type":"user","message":{}}"#, &"[".repeat(200_000)] {
        assert_eq!(receipts_in(hostile), []);
    }
}

#[test]
fn receipts_of_strangers_are_not_listened_to_and_the_socket_goes_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("4242.sock");
    let mut bag = Mailbag::beside(&session, 7).unwrap();
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
    let taken = Mailbag::beside(&session, 7).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse, "it is another's, who listens");
    drop(bag);
    assert!(!path.exists());
    assert!(Mailbag::beside(Path::new("x.sock"), 7).is_err());
    // What a process left that was killed.
    drop(UnixListener::bind(&path).unwrap());
    assert!(Mailbag::beside(&session, 7).is_ok());
}

/// A client that is busy between its call and its words was not heard, and what its user had denied was waited for.
#[test]
fn a_client_that_takes_its_time_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let mut bag = Mailbag::beside(&folder.path().join("4242.sock"), 7).unwrap();
    let mut stream = UnixStream::connect(folder.path().join("atm-7.sock")).unwrap();
    let line = r#"{"type":"control","action":"peer_message_status","status":"denied","orig_msg_id":"f1"}"#;
    assert_eq!(bag.receipts(|_| true), [], "it has called");
    stream.write_all(&line.as_bytes()[..20]).unwrap();
    assert_eq!(bag.receipts(|_| true), [], "and begun");
    stream.write_all(format!("{}\n", &line[20..]).as_bytes()).unwrap();
    assert_eq!(bag.receipts(|_| true).len(), 1);
    stream.write_all(line.as_bytes()).unwrap();
    drop(stream);
    assert_eq!(bag.receipts(|_| true).len(), 1, "without the end of a line");
    // Nobody can make us hear, or keep, without end.
    let mut endless = UnixStream::connect(folder.path().join("atm-7.sock")).unwrap();
    endless.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let _ = endless.write_all(&vec![b'x'; LONGEST_WORDS * 4]);
    assert_eq!(bag.receipts(|_| true), []);
    assert!(bag.calls.is_empty());
}

#[test]
fn a_client_that_hears_nobody_keeps_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("4242.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..10_000 {
        match connect(&path) {
            Ok(stream) => waiting.push(stream),
            Err(_) => return,
        }
    }
    panic!("{} callers wait, and none was refused", waiting.len());
}

/// A server that is killed does not clear up, and clients kill their servers: the folder filled with sockets.
#[test]
fn sockets_of_those_who_were_killed_are_cleared_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    let age = |name: &str| {
        rustix::fs::utimensat(
            rustix::fs::CWD,
            at(name),
            &rustix::fs::Timestamps {
                last_access: rustix::fs::Timespec { tv_sec: 1, tv_nsec: 0 },
                last_modification: rustix::fs::Timespec {
                    tv_sec: long_ago.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().cast_signed(),
                    tv_nsec: 0,
                },
            },
            rustix::fs::AtFlags::empty(),
        )
        .unwrap();
    };
    // Left; left a moment ago, as one that is about to listen; listened at; the client's own; no socket.
    for name in ["atm-7.sock", "atm-8.sock", "4242.sock", "atm-x.sock"] {
        drop(UnixListener::bind(at(name)).unwrap());
    }
    let _listens = UnixListener::bind(at("atm-9.sock")).unwrap();
    fs::write(at("atm-10.sock"), "").unwrap();
    for name in ["atm-7.sock", "4242.sock", "atm-x.sock", "atm-9.sock", "atm-10.sock"] {
        age(name);
    }
    let bag = Mailbag::beside(&at("4242.sock"), 11).unwrap();
    let mut left: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|found| found.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["4242.sock", "atm-10.sock", "atm-11.sock", "atm-8.sock", "atm-9.sock", "atm-x.sock"]);
    drop(bag);
}
