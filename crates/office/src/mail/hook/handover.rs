//! New mail for an agent, between being said and being remembered as said.

use std::collections::HashSet;

use atm_store::SessionNote;
use atm_store::mailbox::Turn;
use atm_wire::brief;

use super::{Moment, Record};
use crate::error::OfficeError;
use crate::view::MessageView;

/// Mail to be put before the model. Until [`Handover::presented`] it counts as new.
#[derive(Debug)]
pub struct Handover {
    pub(super) messages: Vec<MessageView>,
    pub(super) receipts: Vec<String>,
    pub(super) keeps_going: Vec<String>,
    pub(super) left_out: usize,
    /// Of these, what is said without a heading of its own.
    pub(super) unnamed: Vec<String>,
    pub(super) moment: Moment,
    pub(super) record: Record,
    pub(super) signature: Option<String>,
    pub(super) note: SessionNote,
    pub(super) _turn: Turn,
}

impl Handover {
    /// The messages, never none.
    pub fn messages(&self) -> &[MessageView] {
        &self.messages
    }

    /// How many more there are: they come at a later moment.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether it keeps an agent going that wants to stop.
    pub fn keeps_going(&self) -> bool {
        !self.keeps_going.is_empty()
    }

    /// The words in which they are said. What has no heading of its own in them, as notices that are told in one line, cannot be found in
    /// the conversation by its id.
    #[must_use]
    pub fn said_as(mut self, words: &str) -> Self {
        let ids: HashSet<&str> = brief::headings(words).into_iter().map(|heading| heading.id).collect();
        let is_named = |message: &MessageView| ids.contains(brief::short_id(&message.id).as_str());
        let each = self.receipts.iter().zip(&self.messages);
        self.unnamed =
            each.filter(|(_, message)| !is_named(message)).map(|(receipt, _)| receipt.clone()).collect();
        self
    }

    /// Those of the messages that `shown` says are before the model now. The others come at the next moment, and keep the
    /// agent going then if they want something of it.
    pub fn presented(mut self, shown: &[bool]) -> Result<(), OfficeError> {
        let is_shown = shown.iter().copied().chain(std::iter::repeat(false));
        let (before, after): (Vec<_>, Vec<_>) =
            self.receipts.into_iter().zip(is_shown).partition(|(_, shown)| *shown);
        let presented: Vec<String> = before.into_iter().map(|(receipt, _)| receipt).collect();
        self.keeps_going.retain(|receipt| presented.contains(receipt));
        self.record.told_at_start.retain(|receipt| !presented.contains(receipt));
        match self.moment {
            Moment::Begins { .. } => self.record.told_at_start.extend(presented.iter().cloned()),
            Moment::Stops { .. } => self.record.trusted.extend(presented.iter().cloned()),
            _ => {
                self.unnamed.retain(|receipt| presented.contains(receipt));
                self.record.trusted.append(&mut self.unnamed);
            }
        }
        self.record.presented.extend(presented);
        self.record.held.append(&mut self.keeps_going);
        let all = after.is_empty() && self.left_out == 0;
        self.record.signature = self.signature.filter(|_| all);
        self.record.write(&self.note)
    }
}
