//! Where clients keep their conversations. They are private: files are read, never written.

use std::path::PathBuf;

use crate::folders::Folders;

/// Where a client keeps its conversations, and as what.
#[derive(Debug)]
pub struct Conversations {
    /// The folder that the files are below, or the database.
    pub place: fn(&Folders) -> PathBuf,
    /// What is there.
    pub format: ConversationFormat,
}

/// As what conversations are kept.
#[derive(Debug)]
pub enum ConversationFormat {
    /// A file of JSON Lines for each. The function gives the session that a file's name has in it, all of it or its
    /// beginning.
    JsonLines(fn(file_name: &str) -> Option<&str>),
    /// One SQLite database for all: a copy of it is read, together with its write-ahead log.
    Sqlite,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::client::AgentClient;

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
        ] {
            let conversations = client.profile().conversations.as_ref().unwrap();
            assert_eq!((conversations.place)(&folders), Path::new(place), "{client}");
            let ConversationFormat::JsonLines(session_in) = conversations.format else { panic!("{client}") };
            assert_eq!(session_in(file), session, "{client} {file}");
        }
        let opencode = AgentClient::Opencode.profile().conversations.as_ref().unwrap();
        assert_eq!((opencode.place)(&folders), Path::new("/home/me/.local/share/opencode/opencode.db"));
        assert!(matches!(opencode.format, ConversationFormat::Sqlite));
    }
}
