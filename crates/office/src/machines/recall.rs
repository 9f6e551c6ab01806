//! Taking a message back that went to another machine: its home is asked to, by a letter behind the message's own.
//!
//! Nobody here knows how far the message came, and the order of letters is kept, so the letter finds it in its inbox, or
//! read. What came of it is told by receipts, of the letter and of the message.

use atm_ledger::{Acceptance, Evidence, InboxKey, NewMessage, Recorded, Stage};
use atm_wire::message::{Delivery, Ours};
use atm_wire::{Draft, MachineName, MemberName};

use super::incoming::{Incoming, TakenIn};
use super::{Machines, Receipt};
use crate::error::OfficeError;
use crate::mail::derived::letter_id;
use crate::mail::outbox::{as_message, parse_draft, render_draft};
use crate::office::Office;
use crate::trail::effects;

/// The kind of such a letter. It is written into no inbox.
pub(crate) const RECALL: &str = "atm_recall";

/// What came of asking.
pub(crate) enum AskedBack {
    /// Its home has taken it out, unread.
    Recalled,
    /// Its home has not answered yet.
    Asked,
}

/// The message that a letter takes back, if it is such a letter.
pub(super) fn recalled_by(draft: &Draft) -> Option<&str> {
    (draft.kind.as_deref() == Some(RECALL)).then_some(draft.ours.reply_to.as_deref()).flatten()
}

impl Office {
    /// The other machine that a message went to, if it did.
    pub(crate) fn went_to(&self, message: &Recorded) -> Result<Option<MachineName>, OfficeError> {
        let draft = self.books.with(|ledger| ledger.draft_of(message))?;
        Ok(draft.as_deref().and_then(parse_draft).and_then(|draft| draft.home))
    }

    /// Asks a message's home to take it back, once, and waits a little for the answer.
    pub(crate) fn ask_back(
        &self,
        message: &Recorded,
        machine: MachineName,
    ) -> Result<AskedBack, OfficeError> {
        let now = self.now();
        let draft = Draft {
            id: letter_id(&message.inbox, &message.id, "recall"),
            from: message.sender.clone(),
            to: message.inbox.name.clone(),
            text: format!("take back message {}", message.id),
            summary: None,
            timestamp: now,
            color: None,
            delivery: Delivery::Delivered,
            ack_id: None,
            ours: Ours {
                reply_to: Some(message.id.clone()),
                origin: message.origin.clone(),
                ..Ours::default()
            },
            kind: Some(RECALL.to_owned()),
            recipients: Vec::new(),
            metadata: atm_wire::metadata::Metadata::new(),
            home: Some(machine.clone()),
        };
        let new = effects::noticed(&as_message(&draft), now.as_millis());
        let new =
            NewMessage { home: Some(machine.to_string()), kind: RECALL.to_owned(), reply_to: None, ..new };
        let (inbox, id) = (message.inbox.clone(), draft.id.clone());
        let accepted =
            Acceptance { inbox: inbox.clone(), message: new, is_new: false, draft: render_draft(&draft) };
        self.books.with(|ledger| {
            ledger.accept(&[accepted], now.as_millis(), &message.sender)?;
            ledger.make_durable()
        })?;
        let letter = [(inbox.clone(), id.clone())];
        self.await_machines(&letter);
        let (stage, why) = self.told_of(&inbox, &id)?;
        match stage {
            Stage::Accepted => {
                self.deliveries.note_answer(&id, false);
                Ok(AskedBack::Asked)
            }
            Stage::Failed => {
                let why = why.unwrap_or_else(|| "it could not be taken back".to_owned());
                Err(OfficeError::Elsewhere { name: message.inbox.name.clone(), machine, why })
            }
            _ => Ok(AskedBack::Recalled),
        }
    }
}

impl Machines<'_> {
    /// Takes a message back because its sender, on another machine, asks for it.
    pub(super) fn take_back(
        &self,
        letter: &Incoming,
        inbox: &InboxKey,
        draft: &Draft,
    ) -> Result<TakenIn, OfficeError> {
        let (office, target) = (self.office, recalled_by(draft).unwrap_or_default());
        let message = office.books.with(|ledger| ledger.message_in(inbox, target))?;
        // What its sender is called here may have changed since.
        let is_theirs = |message: &Recorded| {
            message.machine.as_deref() == Some(letter.machine.as_str())
                && letter.machine.unqualify(&message.sender) == letter.from
        };
        let Some(message) = message.filter(is_theirs) else {
            return self.note_recall(inbox, draft, Stage::Failed, "there is no such message", None);
        };
        match office.take_back(None, &MemberName::parse(&message.sender)?, &message) {
            Ok(_) => self.note_recall(
                inbox,
                draft,
                Stage::Done,
                "taken back by its sender, unread",
                Some(&message),
            ),
            Err(error @ OfficeError::NotRecallable { .. }) => {
                self.note_recall(inbox, draft, Stage::Failed, &error.to_string(), Some(&message))
            }
            Err(error) => Err(error),
        }
    }

    /// Records what came of it, so that the letter is known, and tells it with what became of the message.
    fn note_recall(
        &self,
        inbox: &InboxKey,
        draft: &Draft,
        stage: Stage,
        what: &str,
        message: Option<&Recorded>,
    ) -> Result<TakenIn, OfficeError> {
        let office = self.office;
        let now = office.now().as_millis();
        let new = effects::noticed(&as_message(draft), now);
        let new = NewMessage { kind: RECALL.to_owned(), reply_to: None, ..new };
        let recorded = office.books.with(|ledger| {
            ledger.settle(inbox, &new, stage, now, &Evidence::certain(what))?;
            ledger.make_durable()?;
            let again = message.map(|message| ledger.message_in(inbox, &message.id)).transpose()?.flatten();
            Ok([ledger.message_in(inbox, &draft.id)?, again])
        })?;
        let mut receipts: Vec<Receipt> = Vec::new();
        for message in recorded.iter().flatten() {
            receipts.extend(self.receipts_of(message)?);
        }
        Ok(TakenIn::Written(receipts))
    }
}
