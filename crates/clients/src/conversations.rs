//! Where clients keep their conversations. They are private: files are read, never written.

use std::io;
use std::path::{Path, PathBuf};

use crate::folders::Folders;
use crate::shown::Shown;

/// Where a client keeps its conversations, and as what.
#[derive(Debug)]
pub struct Conversations {
    /// The folder that the files are below, or the database.
    pub place: fn(&Folders) -> PathBuf,
    /// What is there.
    pub format: ConversationFormat,
    /// Whether a process has a conversation open, by where it is kept and its session.
    pub openness: fn(&Path, session: &str) -> Openness,
}

/// Whether a process has a conversation open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openness {
    /// This one has.
    Open {
        /// The process.
        pid: u64,
    },
    /// None has.
    Closed,
    /// Nobody can tell.
    Unknown,
}

/// So often is looked again for what should be open.
const LOOKS: usize = 4;

impl Openness {
    /// What `look` says. Systems hand out a long list of locks in pieces: where an earlier lock goes meanwhile, one that is held is left
    /// out. So where the process runs that had the conversation open, it is closed only if several looks say so.
    pub fn certain(is_likely: bool, look: impl Fn() -> Self) -> Self {
        let looks = (1..if is_likely { LOOKS } else { 1 }).map(|_| look());
        looks.into_iter().find(|seen| *seen != Self::Closed).unwrap_or_else(look)
    }
}

/// As what conversations are kept.
#[derive(Debug)]
pub enum ConversationFormat {
    /// A file of JSON Lines for each.
    JsonLines {
        /// The session that a file's name has in it, all of it or its beginning.
        session_in: fn(file_name: &str) -> Option<&str>,
        /// What a line shows to the model; the file may be that of an agent inside a session.
        shown: fn(line: &str, is_inside: bool) -> Option<Shown>,
        /// When a line was written, in milliseconds since the epoch, if it is a part of the model's answer: what the model was shown
        /// for it stands before it.
        answered: fn(line: &str) -> Option<i64>,
    },
    /// One SQLite database for all: a copy of it is read, together with its write-ahead log.
    Database {
        /// What a session showed to the model since a time, in milliseconds since the epoch. Copies go into a folder of ours.
        shown_since: ShownSince,
    },
}

/// Reads a session of the database at a path, since a time; copies go into the last folder.
pub type ShownSince = fn(&Path, &str, u64, &Path) -> Result<Vec<Shown>, DatabaseError>;

/// Why a database cannot be read now.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It could not be copied.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What was copied is no database, or not the one that we know.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// It changed each time while it was copied.
    #[error("it changes while it is copied")]
    Changing,
    /// It is too large to be copied at every look.
    #[error("it is too large to be copied")]
    TooLarge,
}

impl Conversations {
    /// Whether `path`, in a client's own words, can be where it keeps `session`: a conversation's file has the session in
    /// its name.
    pub fn is_of(&self, path: &Path, session: &str) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_absolute()
            && match self.format {
                ConversationFormat::JsonLines { session_in, .. } => {
                    session_in(name).is_some_and(|said| said.len() >= 8 && session.starts_with(said))
                }
                ConversationFormat::Database { .. } => !name.is_empty(),
            }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::client::AgentClient;

    #[test]
    fn what_should_be_open_is_closed_only_if_several_looks_say_so() {
        let open = Openness::Open { pid: 7 };
        for (is_likely, seen, expected, looks) in [
            (true, [Openness::Closed, Openness::Closed, open], open, 3),
            (true, [open; 3], open, 1),
            (true, [Openness::Unknown; 3], Openness::Unknown, 1),
            (true, [Openness::Closed; 3], Openness::Closed, 4),
            (false, [Openness::Closed, open, open], Openness::Closed, 1),
        ] {
            let looked = std::cell::Cell::new(0);
            let look = || {
                looked.set(looked.get() + 1);
                seen.get(looked.get() - 1).copied().unwrap_or(Openness::Closed)
            };
            assert_eq!((Openness::certain(is_likely, look), looked.get()), (expected, looks), "{seen:?}");
        }
    }

    #[test]
    fn conversations_are_where_each_client_keeps_them() {
        let folders = Folders::new("/home/me".into(), "/repo".into(), |name| {
            (name == "CODEX_HOME").then(|| "/moved".into())
        });
        for (client, place, file, session) in [
            (AgentClient::Claude, "/home/me/.claude/projects", "0b7e-1.jsonl", Some("0b7e-1")),
            (AgentClient::Claude, "/home/me/.claude/projects", "0b7e-1.json", None),
            (
                AgentClient::Codex,
                "/moved/sessions",
                "rollout-2026-11-16T10-00-00-0199a0b1-0000-7000-8000-000000000001.jsonl",
                Some("0199a0b1-0000-7000-8000-000000000001"),
            ),
            (AgentClient::Codex, "/moved/sessions", "rollout-.jsonl", None),
            (
                AgentClient::Gemini,
                "/home/me/.gemini/tmp",
                "session-2026-11-16T10-00-0b7e1234.jsonl",
                Some("0b7e1234"),
            ),
            (AgentClient::Gemini, "/home/me/.gemini/tmp", "logs.jsonl", None),
            (AgentClient::Qwen, "/home/me/.qwen/projects", "0b7e-1.jsonl", Some("0b7e-1")),
        ] {
            let conversations = client.profile().conversations.as_ref().unwrap();
            assert_eq!((conversations.place)(&folders), Path::new(place), "{client}");
            let ConversationFormat::JsonLines { session_in, .. } = conversations.format else {
                panic!("{client}")
            };
            assert_eq!(session_in(file), session, "{client} {file}");
        }
        let opencode = AgentClient::Opencode.profile().conversations.as_ref().unwrap();
        assert_eq!((opencode.place)(&folders), Path::new("/home/me/.local/share/opencode/opencode.db"));
        assert!(matches!(opencode.format, ConversationFormat::Database { .. }));
    }
}
