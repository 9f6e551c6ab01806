//! What is stored of a message.

use std::path::Path;

use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use crate::seam::Connection;

/// Whose mail: one name in one team below one root.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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

    /// From three columns, of which this is the first.
    pub(crate) fn from_row(row: &Row, first: usize) -> rusqlite::Result<Self> {
        Ok(Self { root: row.get(first)?, team: row.get(first + 1)?, name: row.get(first + 2)? })
    }

    pub(crate) fn find(&self, db: &Connection) -> rusqlite::Result<Option<i64>> {
        db.prepare_cached("SELECT id FROM inboxes WHERE root = ?1 AND team = ?2 AND name = ?3")?
            .query_row(params![self.root, self.team, self.name], |row| row.get(0))
            .optional()
    }

    pub(crate) fn find_or_make(&self, db: &Connection) -> rusqlite::Result<i64> {
        if let Some(id) = self.find(db)? {
            return Ok(id);
        }
        db.prepare_cached("INSERT INTO inboxes (root, team, name) VALUES (?1, ?2, ?3)")?
            .insert(params![self.root, self.team, self.name])
    }
}

/// A message that the ledger does not know yet.
///
/// Its names are part of the format: arrivals are kept so until they are filed, perhaps by a later version.
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
}

impl NewMessage {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Puts it in, unless that inbox has this id; says under which number it is new.
    pub(crate) fn insert(
        &self,
        db: &Connection,
        inbox: i64,
        noticed_at: i64,
        rank: i64,
        draft: Option<&str>,
    ) -> rusqlite::Result<Option<i64>> {
        let mut insert = db.prepare_cached(
            "INSERT INTO messages (inbox, id, sender, text, summary, kind, sent_at, noticed_at, ours, rank,
                                   reply_to, thread, request_id, ack_id, ack_by, draft, task, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (id, inbox) DO NOTHING",
        )?;
        let added = insert.execute(params![
            inbox,
            self.id,
            self.sender,
            self.text,
            self.summary,
            self.kind,
            self.sent_at,
            noticed_at,
            draft.is_some(),
            rank,
            self.reply_to,
            self.thread,
            self.request_id,
            self.ack_id,
            self.ack_by,
            draft,
            self.task,
            self.origin
        ])?;
        Ok((added > 0).then(|| db.last_insert_rowid()))
    }
}
