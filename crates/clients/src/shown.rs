//! What the model was shown in an entry of its conversation, whichever client keeps it. Whether that proves anything is
//! the office's decision.

use atm_wire::brief;
use atm_wire::json::{Object, string};
use atm_wire::{Stamp, brief::OPENING};
use serde_json::value::RawValue;

/// An entry that put text before the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Where it stands in its source.
    pub position: u64,
    /// From where the source has to be read to find it again: of a file, where its line begins.
    pub cursor: u64,
    /// The id that the client gave it, which is the same in a copy of the conversation.
    pub entry: Option<String>,
    /// When it was written, in milliseconds since the epoch, if it says so.
    pub at: Option<i64>,
    /// As what mail stands in it.
    pub shape: Shape,
    /// The texts of its parts.
    pub texts: Vec<String>,
}

/// As what mail stands in an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shape {
    /// In frames with sender and text, as a client shows what it took from an inbox.
    #[default]
    Framed,
    /// Below headings with our ids, as a hook of ours put it there.
    Listed,
    /// As a message of a peer, under this id, which its sender gave it.
    Peer(String),
}

/// Words without which an entry shows no mail: whether a line has one is asked before it is parsed.
pub const SIGNS: [&[u8]; 3] = [b"<teammate-message ", b"From other agents, by atm; ", b"\"msg_id\""];

impl Shown {
    /// Texts in which mail stands below headings, if it does.
    pub(crate) fn listed(texts: Vec<String>) -> Option<Self> {
        let has_mail = texts.iter().any(|text| !brief::headings(text).is_empty());
        has_mail.then(|| Self { shape: Shape::Listed, texts, ..Self::default() })
    }

    /// The same with the id and the time that an entry says.
    pub(crate) fn of(self, entry: &Object, id: &str) -> Self {
        let id = entry.string(id).map(std::borrow::Cow::into_owned);
        Self { entry: id, at: time_of(entry), ..self }
    }
}

/// When an entry was written, if it says so.
pub fn time_of(entry: &Object) -> Option<i64> {
    Some(Stamp::from_json(entry.get("timestamp")?.get()).ok()?.as_millis())
}

/// When a line was written, if it is an entry of this type.
pub(crate) fn time_if(line: &str, kind: &str) -> Option<i64> {
    let entry = Object::parse(line).ok()?;
    time_of(&entry).filter(|_| entry.string("type").as_deref() == Some(kind))
}

/// An object below a key.
pub(crate) fn below<'a>(entry: &Object<'a>, key: &str) -> Option<Object<'a>> {
    Object::parse(entry.get(key)?.get()).ok()
}

/// The elements of a list, or none.
pub(crate) fn elements(list: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(list.get()).unwrap_or_default()
}

/// The texts of a content: a string, or parts of which some have a `text`. What a tool gave back has none.
pub(crate) fn texts_of(content: &RawValue) -> Vec<String> {
    if let Some(text) = string(content) {
        return vec![text.into_owned()];
    }
    let text = |part: &RawValue| Some(Object::parse(part.get()).ok()?.string("text")?.into_owned());
    elements(content).into_iter().filter_map(text).collect()
}

/// The same of clients whose parts may be what a tool gave back, to which they add a hook's text.
pub(crate) fn texts_with_tools(parts: &RawValue) -> Vec<String> {
    let of_part = |part: &RawValue| {
        let part = Object::parse(part.get()).ok()?;
        let output = || below(&below(&part, "functionResponse")?, "response")?.string("output");
        Some(part.string("text").or_else(output)?.into_owned())
    };
    elements(parts).into_iter().filter_map(of_part).collect()
}

/// A text in which a client spelled `<` and `>` so that they cannot end its own tags.
pub(crate) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">")
}

/// Whether a text is one of ours from its first word.
pub(crate) fn is_ours(text: &str) -> bool {
    text.starts_with(OPENING)
}
