//! Taking a message back that nobody has read.
//!
//! It happens in the queue of its inbox, by the commit of every other change: compare and rename in an array. A log only
//! grows, and readers count its lines; there the line is written over with spaces, as long as it is beyond the cursor.

use crate::error::StoreError;
use crate::mailbox::{Inbox, Mailbox, Outbox};

/// Before an id in the note of a queue: the message is not put in place but taken out. No id begins so.
pub(crate) const TAKEN_OUT: char = '\t';

/// What came of taking a message back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recall {
    /// It was there, unread, and is gone.
    TakenOut,
    /// The same; its reader went on in the log meanwhile, and may have read it.
    InDoubt,
    /// It is there, and was read. Nothing was changed.
    Read,
    /// It is not there. Nothing was changed.
    Missing,
}

impl Recall {
    /// What is so before anything is taken out, by whether each copy of the message in the inbox is read: one that was
    /// read is enough, since its reader has it. `None` where it can be taken out.
    pub(crate) fn without_change(copies: impl IntoIterator<Item = bool>) -> Option<Self> {
        let mut copies = copies.into_iter().peekable();
        if copies.peek().is_none() {
            return Some(Self::Missing);
        }
        copies.any(|is_read| is_read).then_some(Self::Read)
    }

    /// Whether it was taken out.
    pub fn is_taken_out(self) -> bool {
        matches!(self, Self::TakenOut | Self::InDoubt)
    }
}

/// Who takes a message back: told what came of it while it is our turn at the inbox, so that nobody else can be writing it.
pub trait Recaller: Outbox {
    /// What came of it. Says whether that is recorded; if not, the next process in the queue is told.
    fn conclude(&mut self, outcome: Recall) -> bool;
}

/// Tells an outbox what dead processes had done without telling anybody; says whether all of it is recorded.
pub(crate) fn tell_left(left: &[String], outbox: &mut (impl Outbox + ?Sized)) -> bool {
    let taken_out = |id: &String| id.strip_prefix(TAKEN_OUT).map(ToOwned::to_owned);
    let recalled: Vec<String> = left.iter().filter_map(taken_out).collect();
    let written: Vec<String> = left.iter().filter(|id| !id.starts_with(TAKEN_OUT)).cloned().collect();
    // What stood before these, only their writer knew.
    let is_recorded = written.is_empty() || outbox.written(&written, None);
    // After that: somebody may have written one and somebody else taken it back.
    is_recorded && (recalled.is_empty() || outbox.recalled(&recalled))
}

impl Mailbox {
    /// Takes one message out of the mail, if it is there and unread. With `keeps`, a copy of the entry goes into the
    /// quarantine first.
    pub fn recall(&self, id: &str, keeps: bool, recaller: &mut dyn Recaller) -> Result<Recall, StoreError> {
        self.change(|inbox, lines| {
            if let Some(lines) = lines
                && lines.list()?.messages.iter().any(|message| message.id == id)
            {
                return lines.recall(id, keeps, recaller);
            }
            match inbox {
                Inbox::Array(array) => array.recall(id, keeps, recaller),
                Inbox::Log(log) => log.recall(id, keeps, recaller),
            }
        })
    }
}
