//! Equal messages without ids, told apart by their number in the file.
//!
//! Which numbers they had before is not in the file: the opener of a mailbox may give it a [`Past`] that remembers. The
//! rule itself is in [`atm_wire::message::identity`].

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use atm_wire::Message;
use atm_wire::message::identity::{Numbered, nth_id};

/// Remembers which numbers equal messages had at the last look at the mailbox.
pub trait Past: Debug + Send + Sync {
    /// Their numbers, by the id that the first of them has. What is not known was never seen.
    fn numbered(&self, first_ids: &[&str]) -> HashMap<String, Numbered>;
}

/// Gives equal messages of a mailbox their ids, in the order in which they stand there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers(HashMap<String, u32>);

impl Numbers {
    /// For a mailbox in which messages without an id of their own stand, each under the id of the first of its equals.
    pub(crate) fn of<'a>(first_ids: impl Iterator<Item = &'a str>, past: Option<&Arc<dyn Past>>) -> Self {
        let mut counts: HashMap<&str, u32> = HashMap::new();
        for id in first_ids {
            *counts.entry(id).or_default() += 1;
        }
        let ids: Vec<&str> = counts.keys().copied().collect();
        let past = past.filter(|_| !ids.is_empty()).map(|past| past.numbered(&ids)).unwrap_or_default();
        let number = |(id, count): (&str, u32)| {
            let numbered = past.get(id).copied().unwrap_or_default().now(count);
            (id.to_owned(), numbered.first)
        };
        Self(counts.into_iter().map(number).collect())
    }

    /// For these messages.
    pub(crate) fn among(messages: &[Message], past: Option<&Arc<dyn Past>>) -> Self {
        Self::of(messages.iter().filter(|m| !m.id_given).map(|message| message.id.as_str()), past)
    }

    /// The id of the next one that stands in the mailbox, in place of that of the first of its equals.
    pub(crate) fn next(&mut self, first_id: &str) -> String {
        let number = self.0.entry(first_id.to_owned()).or_insert(1);
        let id = nth_id(first_id, *number);
        *number = number.saturating_add(1);
        id
    }

    /// Gives the next message its id.
    pub(crate) fn name(&mut self, message: &mut Message) {
        if !message.id_given {
            message.id = self.next(&message.id);
        }
    }
}

/// Gives all messages of a mailbox their ids.
pub(crate) fn name_all(messages: &mut [Message], past: Option<&Arc<dyn Past>>) {
    let mut numbers = Numbers::among(messages, past);
    for message in messages {
        numbers.name(message);
    }
}
