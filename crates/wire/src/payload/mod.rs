//! What protocol messages say.
//!
//! A protocol message is a JSON object, written as text where a person's words would stand. [`classify`] is the one
//! place that tells the two apart. Reading is lenient, and the text itself is always kept beside the view.

pub(crate) mod field;
mod headline;
mod kinds;

use serde_json::value::RawValue;

use crate::json::Object;

pub use field::Level;
pub use kinds::*;

/// What a message's text is.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Words.
    Text,
    /// A protocol message.
    Protocol(Box<Parsed>),
}

impl Content {
    /// Whether it is a protocol message.
    pub fn is_protocol(&self) -> bool {
        matches!(self, Self::Protocol(_))
    }

    /// The protocol message, if it is one.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Protocol(parsed) => Some(&parsed.payload),
            Self::Text => None,
        }
    }
}

/// Tells whether `text` is words or protocol.
///
/// It is protocol when it starts with `{`, parses as an object, and has a string `type`. Some programs put the type
/// beside the text instead: then `outer_type` counts, if it is a type we know. (`message` is not one of those: it
/// is on every message of newer clients, whatever they say.)
pub fn classify(text: &str, outer_type: Option<&str>) -> Content {
    let Some(object) = text.starts_with('{').then(|| Object::parse(text).ok()).flatten() else {
        return Content::Text;
    };
    let outer = || outer_type.filter(|kind| *kind != "message" && Payload::KINDS.contains(kind));
    let inner = object.string("type");
    match inner.as_deref().or_else(outer) {
        Some(kind) => {
            let payload = Payload::read(kind, &object);
            Content::Protocol(Box::new(Parsed { payload, raw: text.to_owned() }))
        }
        None => Content::Text,
    }
}

impl Payload {
    /// What ties a request and its answer together.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::TaskStatusRequest(payload) => payload.request_id.as_deref(),
            Self::TaskStatusResponse(payload) => payload.request_id.as_deref(),
            Self::ShutdownRequest(payload) => payload.request_id.as_deref(),
            Self::ShutdownResponse(payload) => payload.request_id.as_deref(),
            Self::ShutdownApproved(payload) => payload.request_id.as_deref(),
            Self::ShutdownRejected(payload) => payload.request_id.as_deref(),
            Self::PlanApprovalRequest(payload) => payload.request_id.as_deref(),
            Self::PlanApprovalResponse(payload) => payload.request_id.as_deref(),
            Self::Heartbeat(payload) => payload.request_id.as_deref(),
            Self::HealthCheck(payload) => payload.request_id.as_deref(),
            Self::PermissionRequest(payload) => payload.request_id.as_deref(),
            Self::PermissionResponse(payload) => payload.request_id.as_deref(),
            _ => None,
        }
    }
}

/// A payload together with the text that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The view.
    pub payload: Payload,
    raw: String,
}

impl Parsed {
    /// What ties a request and its answer together, also in payloads of a kind that we do not know.
    pub fn request_id(&self) -> Option<String> {
        self.payload.request_id().map(ToOwned::to_owned).or_else(|| {
            let object = Object::parse(&self.raw).ok()?;
            ["requestId", "request_id"]
                .iter()
                .find_map(|key| object.string(key))
                .map(std::borrow::Cow::into_owned)
        })
    }

    /// The text, byte for byte.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Reads a log line, which has the type and the request's id beside the payload, and not in it.
    ///
    /// The text is then what an array inbox would hold for the same message: the content as it stands, with `type`
    /// and `requestId` put in front where it has none.
    pub fn from_log(kind: &str, content: &RawValue, request_id: Option<&str>) -> Parsed {
        let object = Object::parse(content.get()).unwrap_or_default();
        let own_type = object.string("type");
        let has_request = ["requestId", "request_id"].iter().any(|key| object.get(key).is_some());
        // A content that is no object, or whose `type` is no string, goes inside as a whole: nothing is dropped.
        let whole = !content.get().starts_with('{') || (object.get("type").is_some() && own_type.is_none());

        let mut front = Vec::new();
        if own_type.is_none() {
            front.push(member("type", kind));
        }
        if let Some(id) = request_id.filter(|_| whole || !has_request) {
            front.push(member("requestId", id));
        }
        let raw = if whole {
            front.push(format!("\"content\":{content}"));
            format!("{{{}}}", front.join(","))
        } else {
            in_front(&front, content.get(), object.is_empty())
        };
        let payload =
            Payload::read(own_type.as_deref().unwrap_or(kind), &Object::parse(&raw).unwrap_or_default());
        Parsed { payload, raw }
    }
}

/// What we write ourselves: the text is the canonical one.
impl<P: Into<Payload>> From<P> for Parsed {
    fn from(payload: P) -> Self {
        let payload = payload.into();
        Self { raw: payload.to_text(), payload }
    }
}

fn member(key: &str, value: &str) -> String {
    format!("\"{key}\":{}", serde_json::Value::from(value))
}

/// `object` with more members before its own, whose bytes stay.
fn in_front(members: &[String], object: &str, is_empty: bool) -> String {
    let rest = object.strip_prefix('{').unwrap_or(object);
    let comma = if members.is_empty() || is_empty { "" } else { "," };
    format!("{{{}{comma}{rest}", members.join(","))
}

#[cfg(test)]
mod tests;
