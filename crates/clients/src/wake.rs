//! Waking an idle client for which mail came: what to run or to ask. Whether and when is the office's decision.

use atm_wire::team::Manner;
use serde_json::Value;

use crate::client::AgentClient;
use crate::command::CommandLine;
use crate::http::Request;

/// How a client of its own accord, or by a call, takes up new mail.
#[derive(Debug)]
pub struct WakeMethod {
    /// Its name in members' entries.
    pub manner: Manner,
    /// Its name for people, in evidence and errors.
    pub title: &'static str,
    /// What happens.
    pub way: WakeWay,
}

/// What happens when a client is woken.
#[derive(Debug)]
pub enum WakeWay {
    /// It looks into the inbox by itself.
    Polls,
    /// A command of its own hands a line over to a conversation.
    Command(fn(session: &str, line: &str) -> CommandLine),
    /// A server of its own on this machine takes a line for a conversation.
    Server(ServerApi),
}

/// What a client's server is asked.
#[derive(Debug)]
pub struct ServerApi {
    /// Asks for a conversation.
    pub conversation: fn(session: &str) -> Request,
    /// Asks, with the answer to that, which conversations are busy.
    pub status: fn(conversation: &Value) -> Request,
    /// Why a conversation is not idle, by the answer to that.
    pub busy: fn(status: &Value, session: &str) -> Option<String>,
    /// Hands a line over.
    pub prompt: fn(session: &str, line: &str) -> Request,
}

impl WakeMethod {
    /// Whether it takes the conversation's id.
    pub fn needs_session(&self) -> bool {
        !matches!(self.way, WakeWay::Polls)
    }

    /// Whether it takes the server's address.
    pub fn needs_server(&self) -> bool {
        matches!(self.way, WakeWay::Server(_))
    }

    /// Whether it can be used with what is known of a member.
    pub fn is_possible(&self, has_session: bool, has_server: bool) -> bool {
        (has_session || !self.needs_session()) && (has_server || !self.needs_server())
    }

    /// All that clients have.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        AgentClient::ALL.into_iter().filter_map(|client| client.profile().wake.as_ref())
    }
}

/// Whether a conversation's id is plain enough to stand in a command line and in a path.
pub fn is_session(session: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=128).contains(&session.len()) && session.bytes().all(plain) && !session.starts_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_plain() {
        for good in ["ses_01", "0c8f1d8e-0000-4000-8000-000000000000"] {
            assert!(is_session(good), "{good}");
        }
        for bad in ["", "--help", "../x", "a/b", "a b", "a\nb", &"x".repeat(129)] {
            assert!(!is_session(bad), "{bad:?}");
        }
    }

    #[test]
    fn each_way_has_one_client() {
        let manners: Vec<Manner> = WakeMethod::all().map(|method| method.manner).collect();
        assert_eq!(manners, [Manner::Poll, Manner::Codex, Manner::Opencode]);
    }

    #[test]
    fn a_way_is_possible_with_what_it_needs() {
        let possible = |client: AgentClient, session, server| {
            client.profile().wake.as_ref().is_some_and(|method| method.is_possible(session, server))
        };
        for (client, neither, session_only, both) in [
            (AgentClient::Claude, true, true, true),
            (AgentClient::Codex, false, true, true),
            (AgentClient::Opencode, false, false, true),
            (AgentClient::Gemini, false, false, false),
            (AgentClient::Qwen, false, false, false),
            (AgentClient::Cursor, false, false, false),
        ] {
            assert_eq!(possible(client, false, false), neither, "{client}");
            assert_eq!(possible(client, true, false), session_only, "{client}");
            assert_eq!(possible(client, true, true), both, "{client}");
        }
    }
}
