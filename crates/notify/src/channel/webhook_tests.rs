use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use atm_wire::Stamp;

use super::*;
use crate::event::Kind;

/// What a server got.
struct Post {
    first: String,
    headers: BTreeMap<String, String>,
    body: String,
}

/// Serves as many posts as there are answers.
fn serve(listener: TcpListener, answers: &'static [&'static str]) -> thread::JoinHandle<Vec<Post>> {
    thread::spawn(move || {
        let take = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_owned());
            }
            let headers: BTreeMap<String, String> = lines[1..]
                .iter()
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
                .collect();
            let mut body = vec![0; headers["content-length"].parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno").unwrap();
            Post { first: lines[0].clone(), headers, body: String::from_utf8(body).unwrap() }
        };
        answers.iter().map(take).collect()
    })
}

fn secret_in(folder: &Path, text: &str, mode: u32) -> PathBuf {
    let path = folder.join("secret");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn event() -> Event {
    Event::new(Kind::Death, Some("dev"), "x", Stamp::from_millis(0), "\"bob\" \\ died: @/etc/passwd é\n")
}

/// The outcome, what the server got, and the pauses.
fn try_with(answers: &'static [&'static str]) -> (Result<(), Failed>, Vec<Post>, Vec<Duration>) {
    let folder = tempfile::tempdir().unwrap();
    let secret = secret_in(folder.path(), "s3cret\n", 0o600);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?a={{1,2}}", listener.local_addr().unwrap());
    let server = serve(listener, answers);
    let mut pauses = Vec::new();
    let webhook = Webhook::new(&url, &secret).unwrap();
    let told = webhook.send_with(&event(), |pause| pauses.push(pause));
    (told, server.join().unwrap(), pauses)
}

#[test]
fn a_server_that_refuses_is_tried_again_and_can_check_the_signature() {
    let (told, posts, pauses) = try_with(&["500 Oh no", "204 No Content"]);
    assert_eq!(told, Ok(()));
    assert_eq!(pauses, [PAUSES[0]]);
    assert_eq!(posts.len(), 2);
    for post in &posts {
        assert_eq!(post.first, "POST /hook?a={1,2} HTTP/1.1");
        assert_eq!(post.body, event().to_json(), "the same each time");
        let header = |name: &str| post.headers[name].as_str();
        assert_eq!(header("content-type"), "application/json");
        assert_eq!((header("x-atm-event"), header("x-atm-id")), ("death", event().id.as_str()));
        let signed = format!("{}.{}", header("x-atm-timestamp"), post.body);
        let signature = format!("sha256={}", sign(b"s3cret", signed.as_bytes()));
        assert_eq!(header("x-atm-signature"), signature);
        assert_ne!(signature, format!("sha256={}", sign(b"other", signed.as_bytes())));
    }
}

#[test]
fn attempts_are_few_and_a_refusal_for_good_is_not_tried_again() {
    let (told, posts, pauses) = try_with(&["500 a", "503 b", "500 c"]);
    let why = told.unwrap_err().why;
    assert!(why.contains("answered 500 (attempt 3)"), "{why}");
    assert_eq!((posts.len(), pauses.as_slice()), (3, PAUSES.as_slice()));
    for answer in [&["404 Not Found"], &["302 Found\r\nLocation: http://127.0.0.1:1/"]] {
        let (told, posts, pauses) = try_with(answer);
        assert!(told.is_err() && posts.len() == 1 && pauses.is_empty(), "{told:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told_without_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let secret = secret_in(folder.path(), "s", 0o600);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let webhook = Webhook::new(&format!("http://{free}/very/secret"), &secret).unwrap();
    let failed = webhook.send_with(&event(), |_| ()).unwrap_err();
    assert!(failed.why.contains("(attempt 3)") && !failed.why.contains("very"), "{failed:?}");
}

#[test]
fn a_secret_is_there_and_nobody_elses() {
    let folder = tempfile::tempdir().unwrap();
    for (text, mode, said) in [("s", 0o644, "chmod 600"), (" \n", 0o600, "no secret")] {
        let secret = secret_in(folder.path(), text, mode);
        let failed = Webhook::new("http://127.0.0.1:1", &secret).unwrap().send_with(&event(), |_| ());
        let why = failed.unwrap_err().why;
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn only_plain_addresses_are_understood() {
    let place = |url: &str| Webhook::new(url, Path::new("s")).ok().map(|webhook| webhook.place().to_owned());
    for (url, expected) in [
        ("https://example.org/a?b", Some("example.org")),
        ("http://[::1]:9?x", Some("[::1]:9")),
        ("https://", None),
        ("file:///etc/passwd", None),
        ("https://user:pw@example.org/", None),
        ("https://example.org/a b", None),
        ("https://example.org/\"\n-o /etc/x", None),
        ("https://example.org/\\", None),
    ] {
        assert_eq!(place(url).as_deref(), expected, "{url}");
    }
}
