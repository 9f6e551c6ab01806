//! What of a mailbox is offered already, in any conversation of its owner: before a model, or on its way to one.

use std::collections::HashSet;

use atm_store::{Mailbox, SessionNote};

use super::Record;
use crate::office::Office;

/// The receipts of what is offered and not marked as read.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    presented: HashSet<String>,
    /// In a frame that a client has, and may show at any moment.
    pushed: HashSet<String>,
}

impl Offered {
    pub(crate) fn is_empty(&self) -> bool {
        self.presented.is_empty() && self.pushed.is_empty()
    }

    /// Whether a message is before a model, or on its way to one.
    pub(crate) fn has(&self, receipt: &str) -> bool {
        self.presented.contains(receipt) || self.is_pushed(receipt)
    }

    /// Whether a message is on its way.
    pub(crate) fn is_pushed(&self, receipt: &str) -> bool {
        self.pushed.contains(receipt)
    }
}

impl Office {
    /// What of a mailbox is offered now. A client that has ended shows nothing any more.
    pub(crate) fn offered(&self, mailbox: &Mailbox) -> Offered {
        let mut offered = Offered::default();
        let notes = SessionNote::all_of(mailbox, &self.state);
        for record in notes.iter().filter_map(|text| serde_json::from_str::<Record>(text).ok()) {
            offered.presented.extend(record.presented);
            let frames = record.pushed.into_iter().filter(|frame| self.has_client(frame));
            offered.pushed.extend(frames.flat_map(|frame| frame.receipts));
        }
        offered
    }
}
