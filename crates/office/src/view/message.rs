//! A message as fronts show it: the `--json` shape, which is a promise.

use atm_wire::payload::Content;
use atm_wire::{MemberName, Message, TeamName};
use serde::Serialize;
use serde_json::value::RawValue;

use super::NamedFile;

/// Text for people, or protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Words.
    Text,
    /// A payload.
    Protocol,
}

/// A message as fronts show it.
#[derive(Debug, Clone, Serialize)]
pub struct MessageView {
    /// Its id.
    pub id: String,
    /// The sender.
    pub from: String,
    /// The recipient.
    pub to: String,
    /// The recipient's team.
    pub team: String,
    /// When it was sent: UTC with milliseconds, or as it was spelled where that is no time.
    pub timestamp: String,
    /// Whether its reader has it.
    pub read: bool,
    /// Text or protocol.
    pub kind: Kind,
    /// What kind of message: the payload's type, else the entry's.
    pub r#type: String,
    /// The text as it stands.
    pub text: String,
    /// The short version.
    pub summary: Option<String>,
    /// The sender's colour.
    pub color: Option<String>,
    /// The payload of a protocol message, as it stands.
    pub payload: Option<Box<RawValue>>,
    /// `delivered` or `queued`.
    pub delivery_status: Option<String>,
    /// Written while the recipient was off, and not read since.
    pub pending: bool,
    /// Until when it wants to be acknowledged; in the JSON it stands in `extra`.
    #[serde(skip)]
    pub ack_by: Option<String>,
    /// The name by which its sender wants it acknowledged; in the JSON it stands in `extra`.
    #[serde(skip)]
    pub ack_id: Option<String>,
    /// Read, and known to be without the acknowledgment that it wants.
    #[serde(skip)]
    pub unacknowledged: bool,
    /// The files that it names, where they are known to be the team's, and where not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<NamedFile>,
    /// Keys that we do not know, and `metadata`, as they stand.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Keys in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Extra(Vec<(String, Box<RawValue>)>);

impl Extra {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Extra {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl MessageView {
    /// Whether its sender wants to be told that it arrived.
    pub fn wants_ack(&self) -> bool {
        self.ack_by.is_some() || self.ack_id.is_some()
    }

    /// Whether its reader still owes it an acknowledgment, as far as is known.
    pub fn owes_ack(&self) -> bool {
        self.wants_ack() && (!self.read || self.unacknowledged)
    }

    /// `message` as it stands in the inbox of `to`, with nothing known of the files that it names.
    pub fn new(message: &Message, to: &MemberName, team: &TeamName) -> Self {
        let (kind, r#type, payload) = match message.content() {
            Content::Text => {
                (Kind::Text, message.outer_type.clone().unwrap_or_else(|| "message".to_owned()), None)
            }
            Content::Protocol(parsed) => {
                let raw = RawValue::from_string(parsed.raw().to_owned()).ok();
                (Kind::Protocol, parsed.payload.kind().to_owned(), raw)
            }
        };
        let mut extra = message.extra.clone();
        extra.extend(message.metadata.clone().map(|metadata| ("metadata".to_owned(), metadata)));
        Self {
            id: message.id.clone(),
            from: message.from.clone(),
            to: to.to_string(),
            team: team.to_string(),
            timestamp: message.sent_at.map_or_else(|| message.timestamp.clone(), |at| at.to_string()),
            read: message.read,
            kind,
            r#type,
            text: message.text.clone(),
            summary: message.summary.clone(),
            color: message.color.clone(),
            payload,
            delivery_status: message.delivery_status.clone(),
            pending: message.is_pending(),
            ack_id: message.ack_id(),
            ack_by: message.ours().ack_by.map(|time| time.to_string()),
            unacknowledged: false,
            files: Vec::new(),
            extra: Extra(extra),
        }
    }
}
