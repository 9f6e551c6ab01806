//! Why an entry is not a message.

/// What keeps an entry from being a message. The entry stays where it is; only the reader passes over it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// Null, a number, a string…
    #[error("is {0}, not an object")]
    NotAnObject(&'static str),
    /// The bytes are not JSON.
    #[error("is not valid JSON: {0}")]
    NotJson(String),
    /// A field that every message has.
    #[error("has no `{0}`")]
    Missing(&'static str),
    /// A field of another type than every reader expects.
    #[error("has a `{field}` that is not {wanted}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
}

impl Flaw {
    pub(crate) fn not_an_object(raw: &str) -> Self {
        Self::NotAnObject(match raw.as_bytes().first() {
            Some(b'n') => "null",
            Some(b't' | b'f') => "a boolean",
            Some(b'"') => "a string",
            Some(b'[') => "an array",
            _ => "a number",
        })
    }
}
