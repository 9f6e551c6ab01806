//! What is stored of a message.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Whose mail: one name in one team below one root.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct InboxKey {
    /// The shared tree.
    pub root: String,
    /// The team.
    pub team: String,
    /// The recipient.
    pub name: String,
}

impl InboxKey {
    /// The inbox of `name`.
    pub fn new(root: &Path, team: &str, name: &str) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { root: root.display().to_string(), team: team.to_owned(), name: name.to_owned() }
    }
}

/// A message that the ledger does not know yet.
///
/// Its names are part of the format: the events that bring messages have them so.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NewMessage {
    /// Its id.
    pub id: String,
    /// From whom.
    pub sender: String,
    /// The text as it stands, or will stand, in the inbox.
    pub text: String,
    /// The short version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What kind of message it is.
    pub kind: String,
    /// When it was sent, in milliseconds since the epoch.
    pub sent_at: i64,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The first message of its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The request that it makes or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// By which name an acknowledgment would call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_id: Option<String>,
    /// Until when it wants to be acknowledged, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_by: Option<i64>,
    /// The task that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The sender's team, where it is not the recipient's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The machine that it came from, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The machine that is its recipient's home, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
}
