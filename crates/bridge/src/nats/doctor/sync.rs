//! How often the server syncs to disk: only its monitor tells.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Check, Outcome};

const ABOUT: &str = "sync";
/// How long the monitor may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const LARGEST: u64 = 1 << 20;

/// What the monitor at this address says, if there is one.
pub(super) async fn check(monitor: Option<&str>) -> Check {
    let Some(monitor) = monitor else {
        let found =
            "how often the server syncs to disk cannot be seen from here; the default is every two minutes";
        return fair(found.to_owned(), "; to see it: `--monitor http://HOST:8222`");
    };
    match tokio::time::timeout(PATIENCE, ask(monitor)).await {
        Ok(Ok(answer)) => judge(&answer),
        Ok(Err(why)) => unknown(monitor, &why),
        Err(_) => unknown(monitor, "it does not answer"),
    }
}

fn fair(found: String, more: &str) -> Check {
    let change = "nothing, to be safe: what a server loses is sent again. To lose less: `jetstream { sync_interval: always }`";
    Check::not(Outcome::Fair, ABOUT, found, format!("{change}{more}"))
}

fn unknown(monitor: &str, why: &str) -> Check {
    let change = "name the server's monitor as http://HOST:PORT: `http: 8222` in its configuration opens it";
    Check::not(Outcome::Fair, ABOUT, format!("the monitor {monitor} tells nothing: {why}"), change)
}

/// What to say of what the monitor tells.
fn judge(answer: &Value) -> Check {
    let config = &answer["config"];
    if config["sync_always"] == true {
        return Check::good(ABOUT, "the server syncs to disk before it answers");
    }
    match config["sync_interval"].as_u64().map(Duration::from_nanos) {
        Some(interval) => fair(format!("the server syncs to disk every {} s", interval.as_secs_f64()), ""),
        None => fair("the monitor does not say how often the server syncs to disk".to_owned(), ""),
    }
}

/// What the monitor tells of streams and how they are kept.
async fn ask(monitor: &str) -> Result<Value, String> {
    let place = monitor.strip_prefix("http://").ok_or("it is no address that begins with http://")?;
    let (place, path) = place.split_once('/').unwrap_or((place, ""));
    if !path.is_empty() || place.contains(char::is_whitespace) {
        return Err("it is no address of the form http://HOST:PORT".to_owned());
    }
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(place).await.map_err(said)?;
    let question = format!("GET /jsz?config=true HTTP/1.0\r\nHost: {place}\r\n\r\n");
    stream.write_all(question.as_bytes()).await.map_err(said)?;
    let mut answer = Vec::new();
    stream.take(LARGEST).read_to_end(&mut answer).await.map_err(said)?;
    body_of(&answer).ok_or_else(|| "its answer is none of a nats-server".to_owned())
}

/// The JSON in an answer of HTTP/1.0.
fn body_of(answer: &[u8]) -> Option<Value> {
    let (head, body) = std::str::from_utf8(answer).ok()?.split_once("\r\n\r\n")?;
    let mut words = head.split(' ');
    let is_ok = words.next()?.starts_with("HTTP/1.") && words.next()? == "200";
    is_ok.then(|| serde_json::from_str(body).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_monitor_says_is_shown_and_only_always_is_good() {
        let config =
            |config: &str| judge(&serde_json::from_str(&format!("{{\"config\":{config}}}")).unwrap());
        let always = config("{\"sync_always\":true,\"sync_interval\":120000000000}");
        assert_eq!(always.outcome, Outcome::Good);
        let default = config("{\"sync_interval\":120000000000}");
        assert_eq!(
            (default.outcome, default.found.as_str()),
            (Outcome::Fair, "the server syncs to disk every 120 s")
        );
        assert!(default.change.is_some_and(|change| change.contains("sync_interval: always")));
        assert_eq!(config("{}").outcome, Outcome::Fair);
    }

    #[test]
    fn an_answer_that_is_none_is_none() {
        assert_eq!(body_of(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"a\":1}").unwrap()["a"], 1);
        for answer in
            [&b""[..], b"HTTP/1.0 404 Not Found\r\n\r\n{}", b"HTTP/1.0 200 OK\r\n\r\nx", b"\xff\r\n\r\n{}"]
        {
            assert_eq!(body_of(answer), None);
        }
    }
}
