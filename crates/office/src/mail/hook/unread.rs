//! What is unread for a conversation, as much of it as one moment can put before the model.
//!
//! An inbox may hold any amount of unread mail, of which a client takes a few thousand characters at a time. So the
//! inbox is looked through message by message, and what no moment could show is counted, not kept.

use std::collections::HashSet;

use atm_store::{Layout, Mailbox};
use atm_wire::Message;

use super::{Record, Withheld, receipt, wants_something};
use crate::error::OfficeError;
use crate::mail::push::{Channels, is_pushable};

/// How much text of new mail is kept: more than any client takes at once.
const MOST_TEXT: usize = 64 * 1024;
/// And how many messages.
const MOST_MESSAGES: usize = 500;

/// Unread mail, by what it is to a conversation. All in reading order.
#[derive(Debug, Default)]
pub(super) struct Unread {
    /// Before the model already.
    pub(super) presented: Vec<Message>,
    /// Not yet: the first of those that want something, and the first of the others.
    pub(super) new: Vec<Message>,
    /// How many more are new.
    pub(super) left_out: usize,
    /// Read, by whichever way, and wanting an acknowledgment; the conversation was not kept going for it.
    pub(super) owed: Vec<Message>,
    /// The receipts of those that kept the conversation going.
    pub(super) held: Vec<String>,
    /// How many are another conversation's now, or another channel's.
    pub(super) others: usize,
}

/// Room for new mail of one sort.
#[derive(Debug, Default)]
struct Room {
    text: usize,
    messages: usize,
}

impl Room {
    fn takes(&mut self, message: &Message) -> bool {
        // The first always: a front cuts what is too long.
        if self.messages > 0 && self.text + message.text.len() > MOST_TEXT || self.messages == MOST_MESSAGES {
            return false;
        }
        self.text += message.text.len();
        self.messages += 1;
        true
    }
}

impl Unread {
    pub(super) fn of(mailbox: &Mailbox, record: &Record, withheld: &Withheld) -> Result<Self, OfficeError> {
        let presented: HashSet<&str> = record.presented.iter().map(String::as_str).collect();
        let held: HashSet<&str> = record.held.iter().map(String::as_str).collect();
        let channels = Channels::of(record);
        let empty = || (Self::default(), Room::default(), Room::default());
        let ((mut unread, ..), _) = mailbox.fold(empty, |(all, wanted, others), message| {
            if message.read && message.ack_id().is_none() {
                return;
            }
            let receipt = receipt(&message);
            let has_held = held.contains(receipt.as_str());
            if has_held {
                all.held.push(receipt.clone());
            }
            if message.read {
                if !has_held && all.owed.len() < MOST_MESSAGES {
                    all.owed.push(message);
                }
                return;
            }
            if presented.contains(receipt.as_str()) {
                all.presented.push(message);
                return;
            }
            if withheld.has(&message, &receipt) || !channels.may_present(&receipt, is_pushable(&message)) {
                all.others += 1;
                return;
            }
            let room = if wants_something(&message) { wanted } else { others };
            if room.takes(&message) {
                all.new.push(message);
            } else {
                all.left_out += 1;
            }
        })?;
        if mailbox.layout() == Layout::Array {
            unread.new.sort_by_key(Message::priority);
        }
        Ok(unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_and_the_first_always_fits() {
        let message = |length: usize| {
            let entry = format!(
                r#"{{"from":"a","text":"{}","timestamp":"2026-11-15T06:00:00Z","read":false}}"#,
                "x".repeat(length)
            );
            Message::from_entry(&serde_json::value::RawValue::from_string(entry).unwrap()).unwrap()
        };
        let mut room = Room::default();
        assert!(room.takes(&message(MOST_TEXT * 2)));
        assert!(!room.takes(&message(1)));
        let mut room = Room::default();
        let taken = (0..MOST_MESSAGES * 2).filter(|_| room.takes(&message(1))).count();
        assert_eq!(taken, MOST_MESSAGES);
    }
}
