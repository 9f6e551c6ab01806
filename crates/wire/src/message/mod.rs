//! One message, whichever layout it stands in.

mod draft;
mod files;
mod flaw;
pub mod identity;
mod parse;
pub mod translate;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::{self, Object};
use crate::payload::{Content, classify};
use crate::stamp::Stamp;

pub use draft::{Delivery, Draft, Ours, Priority};
pub use files::NamedPath;
pub use flaw::Flaw;
pub(crate) use parse::ENTRY_KEYS;
pub use parse::Sketch;

/// A message as it was read from an inbox of either layout.
#[derive(Debug, Clone)]
pub struct Message {
    /// `messageId` or `msg_id`; for a message that has neither, a UUID made of its sender, time and text, and of its
    /// number where the file has several that are equal (see [`identity`]).
    pub id: String,
    /// Whether the id stands in the file.
    pub id_given: bool,
    /// The sender's name.
    pub from: String,
    /// The recipient, where the layout has it (log lines do).
    pub to: Option<String>,
    /// The text; of a protocol message, the JSON object as text.
    pub text: String,
    /// The sender's short version of it.
    pub summary: Option<String>,
    /// The time as it was spelled.
    pub timestamp: String,
    /// The time, where the spelling can be understood.
    pub sent_at: Option<Stamp>,
    /// The sender's colour as it was spelled.
    pub color: Option<String>,
    /// The reader's flag.
    pub read: bool,
    /// The entry's own `type`, which is not the payload's.
    pub outer_type: Option<String>,
    /// `delivered` or `queued`.
    pub delivery_status: Option<String>,
    /// The `metadata` object, as it stands.
    pub metadata: Option<Box<RawValue>>,
    /// Keys that we do not know, as they stand.
    pub extra: Vec<(String, Box<RawValue>)>,
}

impl Message {
    /// Text for people, or protocol.
    pub fn content(&self) -> Content {
        classify(&self.text, self.outer_type.as_deref())
    }

    /// What kind of message it is: the payload's type, else the entry's own, else `message`.
    pub fn kind(&self) -> String {
        self.kind_of(&self.content()).to_owned()
    }

    /// The same, for a caller that has parsed the text.
    pub fn kind_of<'a>(&'a self, content: &'a Content) -> &'a str {
        match content {
            Content::Protocol(parsed) => parsed.payload.kind(),
            Content::Text => self.outer_type.as_deref().unwrap_or("message"),
        }
    }

    /// What ties a request and its answer together. Some programs write a request as words, with its type and its id
    /// beside them.
    pub fn request_id_of(&self, content: &Content) -> Option<String> {
        match content {
            Content::Protocol(parsed) => parsed.request_id(),
            Content::Text if self.is_request_in_words() => self.beside("requestId", "request_id"),
            Content::Text => None,
        }
    }

    /// Whether the words are a request of a type that is answered by its id.
    fn is_request_in_words(&self) -> bool {
        matches!(
            self.outer_type.as_deref(),
            Some("shutdown_request" | "plan_approval_request" | "task_status_request" | "health_check")
        )
    }

    /// A word beside the text: a key of the entry's own, or of its metadata.
    fn beside(&self, key: &str, other: &str) -> Option<String> {
        let is_it = |name: &str| name == key || name == other;
        let own = self.extra.iter().find(|(name, _)| is_it(name)).and_then(|(_, raw)| json::string(raw));
        let metadata = self.metadata.as_ref().and_then(|raw| Object::parse(raw.get()).ok());
        let below =
            || metadata.as_ref().and_then(|object| object.string(key).or_else(|| object.string(other)));
        own.or_else(below).map(Cow::into_owned).filter(|word| !word.is_empty())
    }

    /// How urgent it is: as we wrote it, or as somebody else did into its metadata.
    pub fn priority(&self) -> Priority {
        let ours = self.ours().priority;
        if ours != Priority::Normal {
            return ours;
        }
        match self.beside("priority", "urgency").as_deref() {
            Some("high" | "urgent") => Priority::High,
            Some("low") => Priority::Low,
            _ => Priority::Normal,
        }
    }

    /// The name by which its sender wants it acknowledged, if it does.
    pub fn ack_id(&self) -> Option<String> {
        let id = self.extra.iter().find(|(key, _)| key == "ackId" || key == "ack_id");
        id.and_then(|(_, raw)| json::string(raw)).map(Cow::into_owned).filter(|id| !id.is_empty())
    }

    /// What `atm` put below `metadata.atm`.
    pub fn ours(&self) -> Ours {
        let Some(metadata) = &self.metadata else { return Ours::default() };
        Object::parse(metadata.get())
            .ok()
            .and_then(|object| object.get("atm"))
            .and_then(|ours| serde_json::from_str(ours.get()).ok())
            .unwrap_or_default()
    }

    /// Written for a recipient that was off, and not read since.
    pub fn is_pending(&self) -> bool {
        !self.read && self.delivery_status.as_deref() == Some("queued")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(more: &str) -> Message {
        let text = format!(
            r#"{{"from":"lead","text":"please end","timestamp":"2026-02-16T11:45:00Z","read":false,{more}}}"#
        );
        Message::from_entry(&RawValue::from_string(text).unwrap()).unwrap()
    }

    #[test]
    fn a_request_in_words_has_its_id_beside_them() {
        let id = |more: &str| {
            let message = entry(more);
            message.request_id_of(&message.content())
        };
        let asked = r#""type":"shutdown_request","#;
        assert_eq!(id(&format!(r#"{asked}"metadata":{{"request_id":"req-1"}}"#)).as_deref(), Some("req-1"));
        assert_eq!(id(&format!(r#"{asked}"requestId":"req-2""#)).as_deref(), Some("req-2"));
        assert_eq!(id(&format!(r#"{asked}"metadata":{{}}"#)), None);
        assert_eq!(id(r#""type":"message","metadata":{"request_id":"req-1"}"#), None, "just words");
    }

    #[test]
    fn others_say_how_urgent_their_mail_is_in_its_metadata() {
        assert_eq!(entry(r#""metadata":{"priority":"high"}"#).priority(), Priority::High);
        assert_eq!(entry(r#""metadata":{"priority":"low"}"#).priority(), Priority::Low);
        assert_eq!(entry(r#""metadata":{"priority":4}"#).priority(), Priority::Normal);
        let both = r#""metadata":{"priority":"low","atm":{"priority":"high"}}"#;
        assert_eq!(entry(both).priority(), Priority::High, "ours counts");
    }

    #[test]
    fn an_acknowledgment_is_wanted_by_name() {
        assert_eq!(entry(r#""ackId":"msg-12345""#).ack_id().as_deref(), Some("msg-12345"));
        assert_eq!(entry(r#""ackId":"""#).ack_id(), None);
    }
}
