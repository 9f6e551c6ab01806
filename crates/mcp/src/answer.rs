//! What a tool answers, in the shape that clients of the Python server know.
//!
//! The answer is text: JSON first, then notes. There is no `structuredContent` with the same once more: some clients put both
//! before the model, and others that alone, without the notes.

use std::borrow::Cow;

use atm_office::mail::read::Reading;
use atm_wire::{MemberName, TeamName, visible};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::page::BUDGET;
use crate::squeeze::squeezed;
use crate::trouble::Trouble;

/// An answer whose parts each keep to their budget fits into this; whatever does not is squeezed.
const LARGEST: usize = 2 * BUDGET;

/// What a tool answers.
#[derive(Debug)]
pub(crate) struct Answer {
    body: Body,
    /// What the agent should know beside it: that there is more, or what went wrong beside it.
    pub(crate) notes: Vec<String>,
    /// Mail that this answer hands over; it is marked as read once the answer has left.
    pub(crate) reading: Option<Reading>,
    /// The member that has approved its end by this call; its pane is closed once the answer has left.
    pub(crate) ending: Option<(TeamName, MemberName)>,
}

#[derive(Debug)]
enum Body {
    Object(Value),
    List(Vec<Value>),
}

impl Answer {
    /// One thing, as an object.
    pub(crate) fn object(value: &impl Serialize) -> Result<Self, Trouble> {
        Ok(Self::new(Body::Object(to_value(value)?)))
    }

    /// Many things.
    pub(crate) fn list(items: Vec<Value>) -> Self {
        Self::new(Body::List(items))
    }

    fn new(body: Body) -> Self {
        Self { body, notes: Vec::new(), reading: None, ending: None }
    }

    #[must_use]
    pub(crate) fn noting(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// With one more key.
    #[must_use]
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        if let Body::Object(Value::Object(fields)) = &mut self.body {
            fields.insert(key.to_owned(), value);
        }
        self
    }

    /// The first text is the JSON. Notes are texts of their own.
    pub(crate) fn into_result(self) -> CallToolResult {
        let value = match self.body {
            Body::Object(value) => squeezed(shown(value), LARGEST),
            Body::List(items) => shown(Value::from(items)),
        };
        let notes = self.notes.into_iter().map(|note| ContentBlock::text(visible::lines(&note)));
        let json = ContentBlock::text(value.to_string());
        CallToolResult::success(std::iter::once(json).chain(notes).collect())
    }
}

/// The value with nothing in it that a model would read and a person would not see.
pub(crate) fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => match visible::in_json(&text) {
            Cow::Borrowed(_) => Value::String(text),
            Cow::Owned(shown) => Value::String(shown),
        },
        Value::Array(items) => items.into_iter().map(shown).collect(),
        Value::Object(fields) => {
            let shown_field =
                |(key, field): (String, Value)| (visible::in_json(&key).into_owned(), shown(field));
            Value::Object(fields.into_iter().map(shown_field).collect())
        }
        other => other,
    }
}

/// As JSON, without the keys that say nothing.
pub(crate) fn to_value(value: &impl Serialize) -> Result<Value, Trouble> {
    let mut value = serde_json::to_value(value)
        .map_err(|error| Trouble::new(format!("the answer cannot be put into JSON: {error}")))?;
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    Ok(value)
}
