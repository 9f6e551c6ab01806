//! The ledger's accepted messages as the store's outbox: whoever has the turn at an inbox writes for all.

use std::collections::HashMap;

use atm_ledger::{Evidence, InboxKey, LedgerError, Stage};
use atm_store::{Appended, Mailbox, Outbox, StoreError};
use atm_wire::Draft;
use atm_wire::message::Delivery;

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
    stages: HashMap<String, Stage>,
    /// Why the ledger could not be used.
    pub(crate) trouble: Option<LedgerError>,
}

impl<'a> Accepted<'a> {
    pub(crate) fn new(office: &'a Office, inbox: &'a InboxKey, mailbox: &Mailbox, own: &'a [Draft]) -> Self {
        let file = mailbox.file().display().to_string();
        Self { office, inbox, file, own, stages: HashMap::new(), trouble: None }
    }
}

impl Outbox for Accepted<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        let drafts = match self.office.books.with(|ledger| ledger.waiting(self.inbox)) {
            Ok(waiting) => waiting.iter().filter_map(|(_, draft)| parse_draft(draft)).collect(),
            Err(error) => {
                self.trouble = Some(error);
                self.own.to_vec()
            }
        };
        for draft in &drafts {
            let stage = if draft.delivery == Delivery::Queued { Stage::Queued } else { Stage::Written };
            self.stages.insert(draft.id.clone(), stage);
        }
        drafts
    }

    fn written(&mut self, ids: &[String]) {
        let stage = |id: &String| self.stages.get(id).copied().unwrap_or(Stage::Written);
        let ids: Vec<(String, Stage)> = ids.iter().map(|id| (id.clone(), stage(id))).collect();
        let evidence = Evidence::certain("written into the inbox").in_file(&self.file);
        let now = self.office.now().as_millis();
        if let Err(error) = self.office.books.with(|ledger| ledger.written(self.inbox, &ids, now, &evidence))
        {
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
