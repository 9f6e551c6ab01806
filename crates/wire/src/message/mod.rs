//! One message, whichever layout it stands in.

mod draft;
mod flaw;
pub mod identity;
mod parse;
pub mod translate;

use serde_json::value::RawValue;

use crate::json::Object;
use crate::payload::{Content, classify};
use crate::stamp::Stamp;

pub use draft::{Delivery, Draft, Ours, Priority};
pub use flaw::Flaw;
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
