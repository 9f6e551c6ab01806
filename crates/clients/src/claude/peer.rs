//! A peer: an entry of ours in Claude Code's registry of sessions, so that its own list of agents shows somebody who is no
//! session of Claude Code, and its own send tool finds a socket to write to.
//!
//! The registry has one entry for each process, under the process's number, and the client asks for no more than that the
//! process runs and its socket answers. So a peer has a process of its own, and its entry says nothing that is not so: that
//! process, its start, a socket that it listens at, and a name that says what it is. The key [`MARK`] tells it from sessions:
//! none of our own lists counts it as one. No key is put beside it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::sessions;

/// The key by which an entry says that it is ours.
pub const MARK: &str = "atm";

/// A process: its number, and its start in the system's words.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: u64,
    /// Its start; empty where the system does not say.
    pub start: String,
}

impl Process {
    /// Whether it runs, as far as `started` tells.
    pub fn is_running(&self, started: impl Fn(u64) -> Option<String>) -> bool {
        started(self.pid).is_some_and(|now| now.is_empty() || self.start.is_empty() || now == self.start)
    }
}

/// A peer, as it is entered in the registry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The process that listens for it.
    pub process: &'a Process,
    /// The daemon that started that process.
    pub daemon: &'a Process,
    /// Where the numbers of both mean something.
    pub pid_space: &'a str,
    /// The peer's own id, in the place of a session's.
    pub id: &'a str,
    /// What it is called in the list.
    pub name: &'a str,
    /// Where it works.
    pub cwd: &'a Path,
    /// Since when it is listed, in milliseconds since 1970.
    pub began: i64,
    /// The socket that it listens at.
    pub socket: &'a Path,
}

impl Entry<'_> {
    /// The text of its file.
    pub fn render(&self) -> String {
        json!({
            "pid": self.process.pid, "procStart": self.process.start, "sessionId": self.id, "cwd": self.cwd,
            "startedAt": self.began, "entrypoint": MARK, "name": self.name,
            "messagingSocketPath": self.socket,
            MARK: { "daemon": self.daemon, "pidSpace": self.pid_space },
        })
        .to_string()
    }
}

/// The file of a process's entry.
pub fn file(root: &Path, pid: u64) -> PathBuf {
    root.join("sessions").join(format!("{pid}.json"))
}

/// An entry of ours that lies in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is called.
    pub name: String,
    /// The process that listens for it.
    pub process: Process,
    /// The daemon that started that process.
    pub daemon: Process,
    pid_space: String,
}

impl Listed {
    /// Whether nobody keeps it any more: its process or the daemon that started it has ended. Of another machine's or
    /// container's processes nobody can tell from here.
    pub fn is_left(&self, pid_space: &str, started: impl Fn(u64) -> Option<String>) -> bool {
        self.pid_space == pid_space
            && !(self.process.is_running(&started) && self.daemon.is_running(&started))
    }

    fn read(pid: u64, text: &str) -> Option<Self> {
        let entry: Value = serde_json::from_str(text).ok()?;
        let mark = entry.get(MARK)?;
        let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
        let start = word(&entry, "procStart").unwrap_or_default();
        Some(Self {
            name: word(&entry, "name").unwrap_or_default(),
            process: Process { pid, start },
            daemon: serde_json::from_value(mark.get("daemon")?.clone()).ok()?,
            pid_space: word(mark, "pidSpace")?,
        })
    }
}

/// All entries of ours below `root`.
pub fn listed(root: &Path) -> Vec<Listed> {
    let read = |pid: u64| Listed::read(pid, &sessions::text_of(&file(root, pid))?);
    sessions::numbers(root).filter_map(read).collect()
}

/// What a copy of an entry says, which is not in its place.
pub fn read_copy(pid: u64, path: &Path) -> Option<Listed> {
    Listed::read(pid, &sessions::text_of(path)?)
}

/// Whether an entry is ours.
pub(super) fn is_ours(entry: &Value) -> bool {
    entry.get(MARK).is_some()
}

/// Whether a session runs that peers can be listed for: one with a socket of its own. Clients that have none know no list.
pub fn has_readers(root: &Path, started: impl Fn(u64) -> Option<String>) -> bool {
    sessions::live(root, started).iter().any(|session| session.socket.is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn process(pid: u64, start: &str) -> Process {
        Process { pid, start: start.to_owned() }
    }

    /// Processes 7 and 8 run.
    fn started(pid: u64) -> Option<String> {
        [(7, "70"), (8, "80")].into_iter().find(|(known, _)| *known == pid).map(|(_, start)| start.to_owned())
    }

    fn entry(process: &Process, daemon: &Process) -> String {
        let (cwd, socket) = (Path::new("/w"), Path::new("/s/7.sock"));
        let name = "bob (codex, team shop)";
        Entry { process, daemon, pid_space: "here", id: "id", name, cwd, began: 5, socket }.render()
    }

    #[test]
    fn an_entry_says_what_is_so_and_that_it_is_ours() {
        let text = entry(&process(7, "70"), &process(8, "80"));
        let said: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            said,
            json!({
                "pid": 7, "procStart": "70", "sessionId": "id", "cwd": "/w", "startedAt": 5,
                "entrypoint": "atm", "name": "bob (codex, team shop)", "messagingSocketPath": "/s/7.sock",
                "atm": { "daemon": { "pid": 8, "start": "80" }, "pidSpace": "here" },
            })
        );
        assert!(said.get("peerProtocol").is_none() && said.get("version").is_none(), "it is no Claude Code");
    }

    #[test]
    fn what_a_dead_daemon_left_is_known_by_number_and_start() {
        for (own, daemon, space, is_left) in [
            (process(7, "70"), process(8, "80"), "here", false),
            (process(7, "70"), process(8, ""), "here", false),
            // Its process has ended, or the number is another one's.
            (process(9, "90"), process(8, "80"), "here", true),
            (process(7, "71"), process(8, "80"), "here", true),
            // Its daemon has.
            (process(7, "70"), process(9, "90"), "here", true),
            (process(7, "70"), process(8, "81"), "here", true),
            // Elsewhere the numbers mean others.
            (process(9, "90"), process(9, "90"), "there", false),
        ] {
            let listed = Listed::read(own.pid, &entry(&own, &daemon)).unwrap();
            assert_eq!(listed.is_left(space, started), is_left, "{own:?} {daemon:?}");
        }
        for foreign in ["", "{", "[]", "{}", r#"{"pid":7}"#, r#"{"atm":1}"#, r#"{"atm":{"daemon":{}}}"#] {
            assert_eq!(Listed::read(7, foreign), None, "{foreign}");
        }
    }

    /// A peer that counted as a session would be written to, pushed into and called present.
    #[test]
    fn a_peer_is_no_session_in_any_list_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("sessions")).unwrap();
        assert!(listed(root).is_empty() && !has_readers(root, started));
        fs::write(file(root, 7), entry(&process(7, "70"), &process(8, "80"))).unwrap();
        assert_eq!(sessions::live(root, started), []);
        assert!(!has_readers(root, started), "peers are not listed for each other");
        assert_eq!(sessions::ended(root, "id", "here", |_| None), None);
        let names: Vec<String> = listed(root).into_iter().map(|peer| peer.name).collect();
        assert_eq!(names, ["bob (codex, team shop)"]);
        let session = r#"{"pid":8,"sessionId":"s","procStart":"80"}"#;
        fs::write(file(root, 8), session).unwrap();
        assert!(!has_readers(root, started), "it has no socket");
        let with_socket = r#"{"pid":8,"sessionId":"s","procStart":"80","messagingSocketPath":"/s/8.sock"}"#;
        fs::write(file(root, 8), with_socket).unwrap();
        assert!(has_readers(root, started));
        assert_eq!(listed(root).len(), 1);
    }
}
