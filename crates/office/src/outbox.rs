//! The ledger's accepted messages as the store's outbox: whoever has the turn at an inbox writes for all.

use std::collections::HashMap;

use atm_ledger::{Evidence, InboxKey, Ledger, LedgerError, Stage};
use atm_store::{Appended, Mailbox, Outbox, StoreError};
use atm_wire::message::Delivery;
use atm_wire::{Draft, Message};
use serde_json::value::to_raw_value;

use crate::effects;
use crate::office::Office;

/// Writes all that is accepted for an inbox.
pub(crate) fn write_waiting(
    office: &Office,
    inbox: &InboxKey,
    mailbox: &Mailbox,
) -> Result<Appended, StoreError> {
    mailbox.deliver(&mut Accepted::new(office, inbox, mailbox, &[]), false)
}

/// What is accepted for one inbox.
pub(crate) struct Accepted<'a> {
    office: &'a Office,
    inbox: &'a InboxKey,
    file: String,
    /// Ours, in case the ledger cannot be asked.
    own: &'a [Draft],
    drafts: HashMap<String, Draft>,
    /// Why the ledger could not be used.
    pub(crate) trouble: Option<LedgerError>,
}

impl<'a> Accepted<'a> {
    pub(crate) fn new(office: &'a Office, inbox: &'a InboxKey, mailbox: &Mailbox, own: &'a [Draft]) -> Self {
        let file = mailbox.file().display().to_string();
        Self { office, inbox, file, own, drafts: HashMap::new(), trouble: None }
    }

    /// What waits for us to write it. If that is not ours alone, others are at work beside us.
    fn gather(&self, ledger: &Ledger) -> Result<Vec<(String, String)>, LedgerError> {
        let waiting = ledger.waiting(self.inbox)?;
        let is_served = self.is_served(&waiting);
        if is_served || waiting.len() > self.own.len() {
            ledger.note_company();
        }
        // Somebody wrote ours. Who else waits stands in line too, and will write for all: if each of us wrote the one
        // or two that came since, nothing would be shared.
        Ok(if is_served { Vec::new() } else { waiting })
    }

    /// Whether we came with mail and none of it waits any more.
    fn is_served(&self, waiting: &[(String, String)]) -> bool {
        !self.own.is_empty() && !self.own.iter().any(|own| waiting.iter().any(|(id, _)| *id == own.id))
    }
}

impl Outbox for Accepted<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        let drafts: Vec<Draft> = match self.office.books.with(|ledger| self.gather(ledger)) {
            Ok(waiting) => waiting.iter().filter_map(|(_, draft)| parse_draft(draft)).collect(),
            Err(error) => {
                self.trouble = Some(error);
                self.own.to_vec()
            }
        };
        self.drafts.extend(drafts.iter().map(|draft| (draft.id.clone(), draft.clone())));
        drafts
    }

    fn written(&mut self, ids: &[String]) {
        let evidence = Evidence::certain("written into the inbox").in_file(&self.file);
        let now = self.office.now().as_millis();
        let recorded = self.office.books.with(|ledger| {
            // Of what a dead sender had put in place, only the ledger has the drafts.
            let mut drafts: Vec<Option<Draft>> = Vec::new();
            for id in ids {
                drafts.push(match self.drafts.get(id) {
                    Some(draft) => Some(draft.clone()),
                    None => ledger.draft(self.inbox, id)?.as_deref().and_then(parse_draft),
                });
            }
            let stage = |draft: &Option<Draft>| match draft {
                Some(draft) if draft.delivery == Delivery::Queued => Stage::Queued,
                _ => Stage::Written,
            };
            let reached: Vec<(String, Stage)> = ids.iter().cloned().zip(drafts.iter().map(stage)).collect();
            ledger.written(self.inbox, &reached, now, &evidence)?;
            // What these answer is answered now, also when whoever sent them died before it could say so.
            for draft in drafts.iter().flatten() {
                effects::record(ledger, self.inbox, &as_message(draft), now)?;
            }
            Ok(())
        });
        if let Err(error) = recorded {
            self.trouble = Some(error);
        }
    }
}

/// What the ledger keeps of a draft.
pub(crate) fn render_draft(draft: &Draft) -> String {
    serde_json::to_string(draft).unwrap_or_default()
}

pub(crate) fn parse_draft(text: &str) -> Option<Draft> {
    serde_json::from_str(text).ok()
}

/// The message as its reader will see it.
pub(crate) fn as_message(draft: &Draft) -> Message {
    let extra = draft.ack_id.as_ref().and_then(|id| Some(("ackId".to_owned(), to_raw_value(id).ok()?)));
    Message {
        id: draft.id.clone(),
        id_given: true,
        from: draft.from.clone(),
        to: Some(draft.to.clone()),
        text: draft.text.clone(),
        summary: draft.summary.clone(),
        timestamp: draft.timestamp.to_string(),
        sent_at: Some(draft.timestamp),
        color: draft.color.clone(),
        read: false,
        outer_type: Some("message".to_owned()),
        delivery_status: Some(draft.delivery.as_str().to_owned()),
        metadata: to_raw_value(&serde_json::json!({ "atm": draft.ours })).ok(),
        extra: extra.into_iter().collect(),
    }
}
