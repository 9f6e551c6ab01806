//! As much HTTP as it takes to talk to a client's server on this machine.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A server on this machine answers within milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer that we ask for is longer.
const LONGEST: u64 = 1 << 20;

/// A request to a client's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// What is asked for.
    pub path: String,
    /// JSON, or nothing.
    pub body: String,
}

impl Request {
    pub(crate) fn get(path: String) -> Self {
        Self { method: "GET", path, body: String::new() }
    }

    pub(crate) fn post(path: String, body: String) -> Self {
        Self { method: "POST", path, body }
    }
}

/// A server on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local(SocketAddr);

impl Local {
    /// Understands `http://127.0.0.1:4096`; anything that is not on this machine is none.
    pub fn parse(url: &str) -> Option<Self> {
        let place = url.strip_prefix("http://")?.trim_end_matches('/');
        let (host, port) = place.rsplit_once(':')?;
        let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
        let address = match host {
            "127.0.0.1" | "localhost" => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            "[::1]" => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            _ => return None,
        };
        Some(Self(address))
    }

    /// The answer to a request: its status and its body.
    pub fn ask(self, request: &Request) -> std::io::Result<(u16, String)> {
        let Request { method, path, body } = request;
        let mut stream = TcpStream::connect_timeout(&self.0, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // Version 1.0: the body ends with the connection, and is in one piece.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.0,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LONGEST).read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let odd = || std::io::Error::other("the answer is not HTTP");
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(odd)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(odd)?;
        Ok((status, body.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked() {
        for url in ["http://127.0.0.1:4096", "http://localhost:4096/", "http://[::1]:4096"] {
            assert!(Local::parse(url).is_some(), "{url}");
        }
        for url in [
            "https://127.0.0.1:4096",
            "http://example.org:80",
            "http://127.0.0.1.example.org:80",
            "http://user@127.0.0.1:80",
            "http://127.0.0.1",
            "http://127.0.0.1:0",
            "http://127.0.0.1:80/path",
        ] {
            assert_eq!(Local::parse(url), None, "{url}");
        }
    }
}
