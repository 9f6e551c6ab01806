//! A server to post to: signed, and tried again a few times.
//!
//! The `curl` program posts, so that TLS, the system's certificates and its proxies are not ours to carry. It gets all of it
//! on its input: nobody sees an address or an event in a list of processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use super::sign::sign;
use super::{Failed, program};
use crate::event::Event;

/// The pauses before another attempt: three attempts in all.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];
/// One attempt, in seconds.
const PATIENCE: u32 = 5;
/// No secret is longer.
const LONGEST_SECRET: u64 = 4096;

/// A server to post to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    url: String,
    secret_file: PathBuf,
}

/// Why a webhook cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// It is no address.
    #[error("it must be https://host[:port][/path] or http://…, without a user, quotes and backslashes")]
    BadUrl,
}

impl Webhook {
    /// A server, and the file that holds what posts to it are signed with.
    pub fn new(url: &str, secret_file: &Path) -> Result<Self, WebhookError> {
        let host = host_of(url).ok_or(WebhookError::BadUrl)?;
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
        if host.is_empty() || host.contains('@') || !url.bytes().all(is_plain) {
            return Err(WebhookError::BadUrl);
        }
        Ok(Self { url: url.to_owned(), secret_file: secret_file.to_owned() })
    }

    /// Where it is, without the path, which is a secret with some servers.
    pub fn place(&self) -> &str {
        host_of(&self.url).unwrap_or_default()
    }

    pub(super) fn send(&self, event: &Event) -> Result<(), Failed> {
        self.send_with(event, thread::sleep)
    }

    fn send_with(&self, event: &Event, mut pause: impl FnMut(Duration)) -> Result<(), Failed> {
        let secret = read_secret(&self.secret_file)
            .map_err(|error| Failed::new(format!("{}: {error}", self.secret_file.display())))?;
        let mut pauses = PAUSES.into_iter();
        let mut attempts = 1;
        loop {
            let (failed, may_help) = match self.attempt(event, &secret) {
                Ok(200..=299) => return Ok(()),
                Ok(status) => {
                    let failed = Failed::new(format!("the server answered {status}"));
                    (failed, matches!(status, 408 | 429 | 500..))
                }
                Err(failed) => (failed, true),
            };
            match pauses.next().filter(|_| may_help) {
                Some(rest) => pause(rest),
                None => {
                    return Err(Failed {
                        why: format!("{}: {} (attempt {attempts})", self.place(), failed.why),
                        ..failed
                    });
                }
            }
            attempts += 1;
        }
    }

    /// The time is signed too, so that nobody can post it again later.
    fn attempt(&self, event: &Event, secret: &[u8]) -> Result<u16, Failed> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let body = event.to_json();
        let signature = sign(secret, format!("{now}.{body}").as_bytes());
        let config = [
            ("url", self.url.clone()),
            ("proto", "=http,https".to_owned()),
            ("max-time", PATIENCE.to_string()),
            ("output", "/dev/null".to_owned()),
            ("write-out", "%{http_code}".to_owned()),
            ("header", "Content-Type: application/json".to_owned()),
            ("header", "User-Agent: atm".to_owned()),
            ("header", format!("X-Atm-Event: {}", event.kind.as_str())),
            ("header", format!("X-Atm-Id: {}", event.id)),
            ("header", format!("X-Atm-Timestamp: {now}")),
            ("header", format!("X-Atm-Signature: sha256={signature}")),
            ("data-raw", body),
        ];
        let config = config.map(|(key, value)| format!("{key} = \"{}\"\n", quote(&value))).concat();
        let mut curl = Command::new("curl");
        // Without the user's own defaults, which may follow redirections or print more.
        curl.args(["--disable", "--silent", "--show-error", "--globoff", "--config", "-"]);
        let answer = program::run(&mut curl, config.as_bytes())?;
        let status = String::from_utf8_lossy(&answer).trim().parse();
        status.map_err(|_| Failed::new("curl gave no status"))
    }
}

fn host_of(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    rest.split(['/', '?', '#']).next()
}

/// As curl's configuration wants it. What a line could end with is not in JSON on one line.
fn quote(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

/// What to sign with: the file's text, without the blanks around it.
fn read_secret(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    let file = fs::File::open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::other("others may read this secret: chmod 600"));
    }
    let mut text = Vec::new();
    file.take(LONGEST_SECRET).read_to_end(&mut text)?;
    let secret = text.trim_ascii();
    if secret.is_empty() { Err(io::Error::other("there is no secret in it")) } else { Ok(secret.to_vec()) }
}

#[cfg(test)]
#[path = "webhook_tests.rs"]
mod tests;
