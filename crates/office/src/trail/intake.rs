//! Taking messages of an inbox into the ledger that it does not know, a few at a time: an inbox may be larger than what
//! should be in memory.

use std::collections::HashSet;

use atm_ledger::{InboxKey, Ledger, LedgerError};
use atm_store::{Mailbox, Warning};
use atm_wire::Message;

use crate::error::OfficeError;
use crate::office::Office;
use crate::progress::Intake;
use crate::protocol::signed;
use crate::trail::effects;
use crate::trail::look::found_late;

/// How many messages are taken in at once.
const BATCH: usize = 500;
/// And how much text.
const BATCH_TEXT: usize = 4 * 1024 * 1024;
/// A longer text is not kept while an inbox is compared with what is known: nothing there asks for it.
const SHORT_TEXT: usize = 256;

/// What a look compares of a message: who, when, under which id, and whether it is read.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Without its long parts, if it has any.
    message: Message,
    /// Made of those before they were cut off.
    cut: Option<Cut>,
}

#[derive(Debug)]
struct Cut {
    fingerprint: String,
    first_id: String,
}

impl Outline {
    pub(crate) fn of(mut message: Message) -> Self {
        if message.text.len() <= SHORT_TEXT {
            return Self { message, cut: None };
        }
        let first_id = if message.id_given { String::new() } else { message.first_id() };
        let cut = Some(Cut { fingerprint: message.fingerprint(), first_id });
        message.text = String::new();
        message.summary = None;
        message.metadata = None;
        message.extra = Vec::new();
        Self { message, cut }
    }

    pub(crate) fn id(&self) -> &str {
        &self.message.id
    }

    pub(crate) fn is_read(&self) -> bool {
        self.message.read
    }

    /// What its entry is recognised by.
    pub(crate) fn fingerprint(&self) -> String {
        self.cut.as_ref().map_or_else(|| self.message.fingerprint(), |cut| cut.fingerprint.clone())
    }

    /// Of a message without an id of its own: the id that the first of its equals has.
    pub(crate) fn first_id(&self) -> Option<String> {
        let first_id =
            || self.cut.as_ref().map_or_else(|| self.message.first_id(), |cut| cut.first_id.clone());
        (!self.message.id_given).then(first_id)
    }
}

/// The messages of an inbox without their long parts, and what was passed over.
pub(crate) fn outline(mailbox: &Mailbox) -> Result<(Vec<Outline>, Vec<Warning>), OfficeError> {
    Ok(mailbox.fold(Vec::new, |all: &mut Vec<Outline>, message| all.push(Outline::of(message)))?)
}

/// What is taken in next.
#[derive(Default)]
struct Batch {
    messages: Vec<Message>,
    text: usize,
    /// How many the ledger has taken.
    done: usize,
    /// Why the ledger could not take one.
    trouble: Option<LedgerError>,
}

impl Office {
    /// Takes those messages of an inbox into the ledger, with what they say about others.
    pub(crate) fn take_in(
        &self,
        inbox: &InboxKey,
        mailbox: &Mailbox,
        unknown: &HashSet<String>,
        now: i64,
    ) -> Result<(), OfficeError> {
        if unknown.is_empty() {
            return Ok(());
        }
        let (file, changed_at) = (mailbox.file(), mailbox.signature().changed_at());
        let take = |batch: &mut Batch| {
            let messages = std::mem::take(&mut batch.messages);
            batch.text = 0;
            batch.done += messages.len();
            let taken = self.books.with(|ledger| {
                let new: Vec<&Message> = messages.iter().collect();
                let observed: Vec<_> =
                    new.iter().map(|message| found_late(message, now, changed_at, &file)).collect();
                note_signers(ledger, inbox, &new, now)?;
                effects::record_beside(ledger, inbox, &new, now, |ledger| {
                    ledger.observe(inbox, &observed, None, now)
                })
            });
            if let Err(error) = taken {
                batch.trouble.get_or_insert(error);
            }
            self.report_intake(inbox, batch.done, unknown.len());
        };
        let (mut last, _) = mailbox.fold(Batch::default, |batch, message| {
            if batch.trouble.is_some() || !unknown.contains(&message.id) {
                return;
            }
            batch.text += message.text.len();
            batch.messages.push(message);
            if batch.messages.len() == BATCH || batch.text >= BATCH_TEXT {
                take(batch);
            }
        })?;
        take(&mut last);
        self.report_intake(inbox, unknown.len(), unknown.len());
        last.trouble.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Office {
    /// What is taken in at once is not worth a word.
    fn report_intake(&self, inbox: &InboxKey, done: usize, of: usize) {
        if of > BATCH {
            let done = done.min(of);
            self.observer.report(&Intake { team: &inbox.team, name: &inbox.name, done, of });
        }
    }
}

/// Who signs is remembered: clients empty the inboxes that would show it.
fn note_signers(
    ledger: &mut Ledger,
    inbox: &InboxKey,
    new: &[&Message],
    now: i64,
) -> Result<(), LedgerError> {
    for message in new.iter().filter(|message| signed::is_signed(message)) {
        let sender = InboxKey { name: message.from.clone(), ..inbox.clone() };
        ledger.note_fact(&sender, signed::SIGNS, now)?;
    }
    Ok(())
}
