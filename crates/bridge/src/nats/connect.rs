//! The connection: servers, credentials, TLS, an inbox prefix of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio::sync::mpsc;

use super::NatsError;
use crate::name::{Machine, Realm};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest wait between two attempts to connect.
const MOST_BETWEEN: Duration = Duration::from_secs(5);

/// How to reach the server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Servers of one cluster, as `nats://host:port` or `tls://host:port`.
    pub servers: Vec<String>,
    /// A file with a user's JWT and seed.
    pub creds: Option<PathBuf>,
    /// A file with an nkey seed.
    pub nkey: Option<PathBuf>,
    /// A file with the certificates of those who may sign the server's.
    pub tls_ca: Option<PathBuf>,
    /// Our certificate and its key, where the server wants one.
    pub tls_client: Option<(PathBuf, PathBuf)>,
}

/// What is heard of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// It is there.
    Up,
    /// It is gone.
    Down,
    /// Something went wrong, in the server's words or the client's.
    Trouble(String),
}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The server cannot be reached.
    Unreachable,
    /// The server does not take these credentials.
    Credentials,
    /// One side speaks TLS and the other does not, or one does not trust the other's certificate.
    Tls,
}

/// The prefix of subjects on which this machine gets answers: a server can keep others from reading them.
pub fn inbox_prefix(realm: &Realm, machine: &Machine) -> String {
    format!("_INBOX_atm_{realm}_{machine}")
}

/// Connects, now or later: while the server is out of reach, the client tries again by itself. `words` gets what is heard.
pub async fn connect(
    options: &Options,
    realm: &Realm,
    machine: &Machine,
    waits: bool,
    words: mpsc::UnboundedSender<Word>,
) -> Result<Client, NatsError> {
    check_addresses(&options.servers)?;
    let mut connect = ConnectOptions::new()
        .name(format!("atm-bridge {machine}"))
        .custom_inbox_prefix(inbox_prefix(realm, machine))
        .request_timeout(Some(PATIENCE))
        .connection_timeout(PATIENCE)
        .ping_interval(Duration::from_secs(20))
        .reconnect_delay_callback(|attempt| MOST_BETWEEN.min(Duration::from_millis(50 << attempt.min(7))))
        .event_callback(move |event| {
            let word = match event {
                Event::Connected => Some(Word::Up),
                Event::Disconnected | Event::Closed => Some(Word::Down),
                Event::ServerError(error) => Some(Word::Trouble(format!("the server says: {error}"))),
                Event::ClientError(error) => Some(Word::Trouble(format!("no connection: {error}"))),
                _ => None,
            };
            if let Some(word) = word {
                // Nobody listens any more when the process ends.
                let _ = words.send(word);
            }
            async {}
        });
    if waits {
        connect = connect.retry_on_initial_connect();
    }
    if let Some(path) = &options.creds {
        let text = read(path)?;
        connect = connect.credentials(&text).map_err(|why| unusable(path, &why))?;
    }
    if let Some(path) = &options.nkey {
        let seed = read(path)?.trim().to_owned();
        nkeys::KeyPair::from_seed(&seed)
            .map_err(|_| unusable(path, &"is not the seed of an nkey: it begins with SU"))?;
        connect = connect.nkey(seed);
    }
    // The library passes over files without a certificate, and does not say which file it could not read.
    if let Some(path) = &options.tls_ca {
        check_pem(path, "CERTIFICATE-----")?;
        connect = connect.add_root_certificates(path.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &options.tls_client {
        check_pem(certificate, "CERTIFICATE-----")?;
        check_pem(key, "PRIVATE KEY-----")?;
        connect = connect.add_client_certificate(certificate.clone(), key.clone()).require_tls(true);
    }
    match options.servers.iter().find_map(|server| credentials_in(server)) {
        Some((user, Some(password))) => connect = connect.user_and_password(user, password),
        Some((token, None)) => connect = connect.token(token),
        None => {}
    }
    let shown = options.servers.join(",");
    connect.connect(options.servers.clone()).await.map_err(|error| NatsError::Connect {
        url: without_password(&shown),
        obstacle: obstacle_of(&error),
        why: error.to_string(),
    })
}

/// The library says of certificates that are not trusted, and of a side that speaks no TLS, that input or output failed.
fn obstacle_of(error: &ConnectError) -> Obstacle {
    let text = error.to_string();
    let is_tls = ["certificate", "corrupt message", "fatal alert"].iter().any(|word| text.contains(word));
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => Obstacle::Credentials,
        ConnectErrorKind::Tls => Obstacle::Tls,
        _ if is_tls => Obstacle::Tls,
        _ => Obstacle::Unreachable,
    }
}

fn check_addresses(servers: &[String]) -> Result<(), NatsError> {
    for server in servers {
        server.parse::<ServerAddr>().map_err(|why| NatsError::Address {
            // What is no address has its password who knows where.
            url: without_password(server),
            why: why.to_string(),
        })?;
    }
    Ok(())
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> NatsError {
    NatsError::File { path: path.display().to_string(), why: why.to_string() }
}

fn read(path: &Path) -> Result<String, NatsError> {
    std::fs::read_to_string(path).map_err(|why| unusable(path, &why))
}

fn check_pem(path: &Path, mark: &str) -> Result<(), NatsError> {
    if read(path)?.contains(mark) {
        return Ok(());
    }
    let what = if mark.starts_with("CERT") { "certificate" } else { "private key" };
    Err(unusable(path, &format!("there is no {what} in it, in PEM format")))
}

/// User and password, or a token, in an address. The client library looks at neither.
fn credentials_in(server: &str) -> Option<(String, Option<String>)> {
    let address: ServerAddr = server.parse().ok()?;
    let user = decode(address.username()?);
    Some((user, address.password().map(decode)))
}

/// What a part of an address stands for: `%XX` is a byte.
fn decode(text: &str) -> String {
    let (bytes, mut decoded, mut place) = (text.as_bytes(), Vec::new(), 0);
    while let Some(&byte) = bytes.get(place) {
        let hex = bytes.get(place + 1..place + 3).filter(|_| byte == b'%');
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        decoded.push(hex.unwrap_or(byte));
        place += if hex.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The address without what stands before `@`.
pub fn without_password(url: &str) -> String {
    url.split(',')
        .map(|one| match (one.split_once("://"), one.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            (None, Some((_, host))) => host.to_owned(),
            _ => one.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_an_address_are_used() {
        let some = |user: &str, password: Option<&str>| Some((user.to_owned(), password.map(str::to_owned)));
        assert_eq!(credentials_in("nats://ann:se%40cret%@hub:4222"), some("ann", Some("se@cret%")));
        assert_eq!(credentials_in("tls://token@hub"), some("token", None));
        assert_eq!(credentials_in("nats://hub"), None);
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(without_password("nats://ann:secret@hub:4222,tls://b"), "nats://hub:4222,tls://b");
        assert_eq!(without_password("ann:secret@hub"), "hub");
    }
}
