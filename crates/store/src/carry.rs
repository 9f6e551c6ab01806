//! Messages on their way from one mailbox into another, whichever layouts the two are in.

use std::collections::{HashMap, HashSet};

use atm_wire::Message;
use atm_wire::archive::Form;
use atm_wire::json;
use atm_wire::message::{Flaw, Priority, translate};

use crate::error::StoreError;
use crate::mailbox::{Inbox, Mailbox, Receipt, Warning};

/// A message with its entry as it stood.
#[derive(Debug, Clone)]
pub struct Carried {
    /// The entry.
    pub entry: String,
    /// The layout that it is in.
    pub form: Form,
    /// The queue that it was in.
    pub priority: Priority,
    /// The message that it is; whether it was read is said here.
    pub message: Message,
}

impl Carried {
    /// An element of an array.
    pub fn from_entry(entry: &str) -> Result<Self, Flaw> {
        let raw: &serde_json::value::RawValue =
            serde_json::from_str(entry).map_err(|error| Flaw::NotJson(error.to_string()))?;
        let message = Message::from_entry(raw)?;
        let priority = message.ours().priority;
        Ok(Self { entry: entry.to_owned(), form: Form::Array, priority, message })
    }

    /// A line of the log of that priority.
    pub fn from_line(line: &str, priority: Priority, read: bool) -> Result<Self, Flaw> {
        let message = Message { read, ..Message::from_line(line)? };
        Ok(Self { entry: line.to_owned(), form: Form::Log, priority, message })
    }

    /// As an element of the array of `to`.
    pub(crate) fn as_entry(&self, to: &str) -> Result<String, Flaw> {
        match self.form {
            Form::Log => translate::to_entry(&self.entry, to, self.priority, self.message.read),
            Form::Array if Self::from_entry(&self.entry)?.message.read == self.message.read => {
                Ok(self.entry.clone())
            }
            Form::Array => json::set_member(&self.entry, self.entry.trim(), "read", &self.message.read)
                .map(|patch| patch.apply(&self.entry))
                .map_err(|error| Flaw::NotJson(error.to_string())),
        }
    }

    /// As a line of the log of `to`, with its newline.
    pub(crate) fn as_line(&self, to: &str) -> Result<String, Flaw> {
        let line = match self.form {
            Form::Log => self.entry.clone(),
            Form::Array => translate::to_line(&self.entry, to)?,
        };
        Ok(line + "\n")
    }
}

/// All that is in a mailbox, to be carried.
#[derive(Debug, Default)]
pub struct Load {
    /// The messages, in reading order.
    pub messages: Vec<Carried>,
    /// What was passed over.
    pub warnings: Vec<Warning>,
}

/// What came of taking messages in.
#[derive(Debug, Default)]
pub struct TakenIn {
    /// Those that are in the mailbox now and were not before.
    pub added: Vec<Message>,
    /// How many were there.
    pub known: usize,
    /// Those that were read, and that a log has no place for behind what is not.
    pub read: Vec<Carried>,
}

impl Mailbox {
    /// Looks, and changes nothing: every message with its entry.
    pub fn carry(&self) -> Result<Load, StoreError> {
        self.look(|inbox, lines| {
            let mut load = match inbox {
                Inbox::Array(array) => array.carry()?,
                Inbox::Log(log) => log.carry()?,
            };
            if let Some(lines) = lines {
                let beside = lines.carry()?;
                load.warnings.extend(beside.warnings);
                let there: Vec<Message> =
                    load.messages.iter().map(|carried| carried.message.clone()).collect();
                load.messages.extend(missing(&there, beside.messages, |carried| &carried.message));
            }
            Ok(load)
        })
    }

    /// How many of these are not here.
    pub fn lacks(&self, carried: &[Carried]) -> Result<usize, StoreError> {
        let there: Vec<Message> = self.carry()?.messages.into_iter().map(|carried| carried.message).collect();
        Ok(missing(&there, carried, |carried| &carried.message).len())
    }

    /// Adds those that are not here yet, durably, as any other mail. `to` is whose mailbox it is.
    pub fn take_in(&self, to: &str, carried: &[Carried]) -> Result<TakenIn, StoreError> {
        if carried.is_empty() {
            return Ok(TakenIn::default());
        }
        self.change(|inbox, _| match inbox {
            Inbox::Array(array) => array.take_in(to, carried),
            Inbox::Log(log) => log.take_in(to, carried),
        })
    }
}

/// Which of these are not among `there`: by their ids, or by sender, time and text where ids do not tell. What is carried
/// twice is meant to be there twice.
pub(crate) fn missing<T>(
    there: &[Message],
    carried: impl IntoIterator<Item = T>,
    message: impl Fn(&T) -> &Message,
) -> Vec<T> {
    let carried: Vec<T> = carried.into_iter().collect();
    let mut counts: HashMap<Receipt, usize> = HashMap::new();
    for message in there {
        *counts.entry(Receipt::of(message)).or_default() += 1;
    }
    let given: HashSet<&str> =
        there.iter().filter(|message| message.id_given).map(|message| message.id.as_str()).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for carried in &carried {
        *uses.entry(message(carried).id.clone()).or_default() += 1;
    }
    let is_missing = |carried: &T| {
        let message = message(carried);
        if let Some(left) = counts.get_mut(&Receipt::of(message)).filter(|left| **left > 0) {
            *left -= 1;
            return false;
        }
        // An id that the carried have once names one message, whatever became of its text.
        !(message.id_given && given.contains(message.id.as_str()) && uses[message.id.as_str()] == 1)
    };
    carried.into_iter().filter(is_missing).collect()
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn carried(id: Option<&str>, text: &str) -> Carried {
        let id = id.map(|id| format!(r#","messageId":"{id}""#)).unwrap_or_default();
        let entry = format!(r#"{{"from":"a","text":"{text}","timestamp":"t"{id}}}"#);
        Carried::from_entry(&entry).unwrap()
    }

    fn texts(there: &[Carried], carried: &[Carried]) -> Vec<String> {
        let there: Vec<Message> = there.iter().map(|carried| carried.message.clone()).collect();
        missing(&there, carried, |carried| &carried.message)
            .iter()
            .map(|carried| carried.message.text.clone())
            .collect()
    }

    #[test]
    fn ids_tell_and_where_they_do_not_the_content() {
        let ours = carried(Some("1"), "hi");
        assert_eq!(texts(&[], from_ref(&ours)), ["hi"]);
        assert!(texts(&[ours.clone(), carried(None, "x")], &[ours.clone(), carried(None, "x")]).is_empty());
        assert!(
            texts(&[carried(Some("1"), "[tagged] hi")], from_ref(&ours)).is_empty(),
            "its text was tagged"
        );
        // A program that counts from 1 each time.
        assert_eq!(texts(from_ref(&ours), &[ours.clone(), carried(Some("1"), "other")]), ["other"]);
        assert_eq!(texts(&[carried(None, "x")], &[carried(None, "x"), carried(None, "x")]), ["x"]);
    }
}
