//! The ledger's accepted messages as the store's outbox: the holder of an inbox's queue writes for all senders.

use std::collections::{HashMap, HashSet};

use atm_ledger::{Evidence, Fate, InboxKey, Ledger, LedgerError, Stage};
use atm_store::{Appended, Mailbox, Outbox, StoreError, Witnesses};
use atm_wire::message::Delivery;
use atm_wire::payload::Content;
use atm_wire::{Draft, Message};
use serde_json::value::to_raw_value;

use crate::mail::recall::AFTER_DEATH;
use crate::office::Office;
use crate::trail::effects;

/// Writes all that is accepted for an inbox.
pub(crate) fn write_waiting(
    office: &Office,
    inbox: &InboxKey,
    mailbox: &Mailbox,
) -> Result<Appended, StoreError> {
    mailbox.deliver(&mut Accepted::new(office, inbox, mailbox, &[]), false)
}

/// What is accepted for one inbox, and what becomes of the letters that a sender brought.
pub(crate) struct Accepted<'a> {
    office: &'a Office,
    inbox: &'a InboxKey,
    file: String,
    /// The sender's letters; none for somebody who only completes what others left.
    own: &'a [Draft],
    /// What their texts say, by their ids, where a sender has parsed them.
    pub(crate) contents: HashMap<&'a str, &'a Content>,
    drafts: HashMap<String, Draft>,
    fates: HashMap<String, Fate>,
    /// Why the ledger could not be used.
    pub(crate) trouble: Option<LedgerError>,
    /// A stop leaves the letters accepted instead of taking them back.
    pub(crate) stays_on_stop: bool,
    /// The ids that somebody else had brought before: what was promised then is not ours to take back.
    pub(crate) known: &'a [String],
    /// It was told, inside the queue, that they are not written.
    has_failed: bool,
}

impl<'a> Accepted<'a> {
    pub(crate) fn new(office: &'a Office, inbox: &'a InboxKey, mailbox: &Mailbox, own: &'a [Draft]) -> Self {
        let file = mailbox.file().display().to_string();
        Self {
            office,
            inbox,
            file,
            own,
            contents: HashMap::new(),
            drafts: HashMap::new(),
            fates: HashMap::new(),
            trouble: None,
            stays_on_stop: false,
            known: &[],
            has_failed: false,
        }
    }

    pub(crate) fn own(&self) -> &'a [Draft] {
        self.own
    }

    /// Whether it was told inside the queue what became of the sender's letters.
    pub(crate) fn is_settled(&self) -> bool {
        self.has_failed || self.own.iter().all(|own| self.fates.contains_key(&own.id))
    }

    /// What became of a letter. If nobody said so, the ledger knows; if it cannot be asked, it still has the letter.
    pub(crate) fn fate(&self, id: &str) -> Fate {
        let asked = || self.office.books.with(|ledger| ledger.fate(self.inbox, id)).unwrap_or(Fate::Waiting);
        self.fates.get(id).copied().unwrap_or_else(asked)
    }

    /// The ledger did not take the letters: they are in the file, or nowhere.
    pub(crate) fn note_untracked(&mut self, is_written: bool) {
        let fate = if is_written { Fate::Written } else { Fate::Unknown };
        self.fates.extend(self.own.iter().map(|own| (own.id.clone(), fate)));
    }

    /// Of letters that the ledger may have taken all the same: where nobody said what became of them, and it cannot be
    /// asked, they are nowhere.
    pub(crate) fn settle_untracked(&mut self) {
        for own in self.own {
            let asked = || self.office.books.with(|ledger| ledger.fate(self.inbox, &own.id));
            if !self.fates.contains_key(&own.id) {
                self.fates.insert(own.id.clone(), asked().unwrap_or(Fate::Unknown));
            }
        }
    }

    /// Records that the sender's letters are in the file.
    pub(crate) fn record_own(&mut self) -> bool {
        let ids: Vec<String> = self.own.iter().map(|own| own.id.clone()).collect();
        self.written(&ids, None)
    }

    /// What waits for us to write it. If that is not ours alone, others are at work beside us.
    fn gather(&mut self, ledger: &Ledger) -> Result<Vec<Draft>, LedgerError> {
        let waiting = ledger.waiting(self.inbox)?;
        let ids: HashSet<&str> = waiting.iter().map(|(id, _)| id.as_str()).collect();
        let (mut is_served, mut forgotten) = (!self.own.is_empty(), Vec::new());
        for own in self.own {
            if ids.contains(own.id.as_str()) {
                is_served = false;
                continue;
            }
            match ledger.fate(self.inbox, &own.id)? {
                // The ledger was replaced since it took the letter.
                Fate::Unknown => forgotten.push(own.clone()),
                fate => drop(self.fates.insert(own.id.clone(), fate)),
            }
        }
        if is_served || waiting.len() > self.own.len() {
            ledger.note_company();
        }
        // Somebody wrote ours. Who else waits stands in line too, and will write for all: if each of us wrote the one
        // or two that came since, nothing would be shared.
        let waiting = if is_served { Vec::new() } else { waiting };
        let parsed = waiting.iter().filter_map(|(_, draft)| parse_draft(draft));
        Ok(parsed.chain(forgotten).collect())
    }
}

impl Outbox for Accepted<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        let office = self.office;
        // Without the ledger it cannot be told whether somebody wrote ours already. They stay accepted.
        let drafts = office.books.with(|ledger| self.gather(ledger)).unwrap_or_else(|error| {
            self.trouble = Some(error);
            Vec::new()
        });
        self.drafts.extend(drafts.iter().map(|draft| (draft.id.clone(), draft.clone())));
        drafts
    }

    fn written(&mut self, ids: &[String], before: Option<&Witnesses>) -> bool {
        self.fates.extend(ids.iter().map(|id| (id.clone(), Fate::Written)));
        self.office.deliveries.note_written(ids);
        let evidence = Evidence::certain("written into the inbox").in_file(&self.file);
        let now = self.office.now().as_millis();
        let witnesses = before.map(|before| before.0.join(" "));
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
            ledger.written(self.inbox, &reached, now, &evidence, witnesses.as_deref())?;
            // What these answer is answered now, also when their sender died before it could record that.
            for draft in drafts.iter().flatten() {
                let message = as_message(draft);
                match self.contents.get(draft.id.as_str()) {
                    Some(content) => effects::record_with(ledger, self.inbox, &message, content, now)?,
                    None => effects::record(ledger, self.inbox, &message, now)?,
                }
            }
            Ok(())
        });
        recorded.map_err(|error| self.trouble = Some(error)).is_ok()
    }

    fn recalled(&mut self, ids: &[String]) -> bool {
        let evidence = Evidence::certain(AFTER_DEATH).in_file(&self.file);
        let now = self.office.now().as_millis();
        let recorded = self.office.books.with(|ledger| ledger.recalled(self.inbox, ids, now, &evidence));
        recorded.map_err(|error| self.trouble = Some(error)).is_ok()
    }

    fn failed(&mut self, error: &StoreError) {
        let stays = match error {
            // It is tried again in the other layout.
            StoreError::Moved { .. } => true,
            StoreError::Interrupted { .. } => {
                self.stays_on_stop || self.fates.values().any(|fate| *fate == Fate::Written)
            }
            _ => false,
        };
        if stays {
            return;
        }
        self.has_failed = true;
        let evidence = Evidence::certain(format!("not written: {error}"));
        let now = self.office.now().as_millis();
        let is_ours =
            |id: &&str| !self.fates.contains_key(*id) && !self.known.iter().any(|known| known == id);
        let ids: Vec<&str> = self.own.iter().map(|own| own.id.as_str()).filter(is_ours).collect();
        if ids.is_empty() {
            return;
        }
        match self.office.books.with(|ledger| ledger.withdraw_all(self.inbox, &ids, now, &evidence)) {
            Ok(fates) => self.fates.extend(ids.iter().map(ToString::to_string).zip(fates)),
            // The ledger still has them, and will have them written.
            Err(error) => self.trouble = Some(error),
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
