//! The ledger's accepted messages as the store's outbox: the holder of an inbox's queue writes for all senders.

use std::collections::{HashMap, HashSet};

use atm_ledger::{Evidence, Fate, InboxKey, Ledger, LedgerError, Recorded, Stage};
use atm_store::{Appended, Mailbox, Outbox, StoreError, Witnesses};
use atm_wire::message::Delivery;
use atm_wire::payload::Content;
use atm_wire::{Draft, Message, TeamName};
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
    let mut accepted = Accepted::new(office, inbox, mailbox, &[]);
    accepted.find_effects_of_waiting();
    mailbox.deliver(&mut accepted, false)
}

/// What is accepted for one inbox, and what becomes of the letters that a sender brought.
pub(crate) struct Accepted<'a> {
    office: &'a Office,
    inbox: &'a InboxKey,
    file: String,
    /// The sender's letters; none for somebody who only completes what others left.
    own: &'a [Draft],
    /// What they tell about earlier messages, by their ids, as far as that was found before the queue was entered.
    told: HashMap<String, Vec<(Recorded, Stage, Evidence)>>,
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
            told: HashMap::new(),
            drafts: HashMap::new(),
            fates: HashMap::new(),
            trouble: None,
            stays_on_stop: false,
            known: &[],
            has_failed: false,
        }
    }

    /// Finds what the sender's letters, of which these are the contents, tell about earlier messages. That may mean to bring the
    /// index up to date, which nobody should have to wait for: so before the queue is entered.
    pub(crate) fn find_effects<'c>(&mut self, contents: impl Iterator<Item = &'c Content>) {
        for (own, content) in self.own.iter().zip(contents) {
            self.find_effects_of(own, content);
        }
    }

    /// The same for what others left.
    fn find_effects_of_waiting(&mut self) {
        let waiting = self.office.books.with(|ledger| ledger.waiting(self.inbox)).unwrap_or_default();
        for draft in waiting.iter().filter_map(|(_, draft)| parse_draft(draft)) {
            self.find_effects_of(&draft, &as_message(&draft).content());
        }
    }

    fn find_effects_of(&mut self, draft: &Draft, content: &Content) {
        let message = as_message(draft);
        // If it fails, it is tried again where it is needed.
        if let Ok(told) =
            self.office.books.with(|ledger| effects::find(ledger, self.inbox, &message, content))
        {
            self.told.insert(draft.id.clone(), told);
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

    /// Whether the mail of this inbox is for another machine now, whatever those believed who accepted it.
    fn is_elsewhere(&self) -> bool {
        let team = TeamName::parse(&self.inbox.team);
        team.is_ok_and(|team| self.office.machines().holds_mail_of(&team, &self.inbox.name))
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
        // What is for another machine waits for a bridge.
        let mut drafts: Vec<Draft> = parsed.filter(|draft| draft.home.is_none()).collect();
        if !drafts.is_empty() && self.is_elsewhere() {
            drafts.clear();
        }
        drafts.extend(forgotten);
        Ok(drafts)
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
                match self.told.get(draft.id.as_str()) {
                    Some(told) => ledger.advance_all(told, now)?,
                    None => effects::record(ledger, self.inbox, &as_message(draft), now)?,
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
            // What another machine sent is not asked for again: it stays ours to write.
            _ => self.own.iter().any(|own| own.ours.machine.is_some()),
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

#[cfg(test)]
mod tests {
    use std::fs;

    use atm_ledger::{Acceptance, NewMessage};
    use atm_store::{Root, State};
    use atm_wire::message::Ours;
    use atm_wire::{MemberName, Stamp, TeamName};
    use serde_json::Map;

    use super::*;

    /// When it is found what an answer tells.
    #[derive(Clone, Copy)]
    enum Found {
        BySender,
        ByOther,
        Late,
    }

    fn letter(id: &str, reply_to: &str) -> Draft {
        Draft {
            id: id.to_owned(),
            from: "bob".to_owned(),
            to: "alice".to_owned(),
            text: "words".to_owned(),
            summary: None,
            timestamp: Stamp::from_millis(1),
            color: None,
            delivery: Delivery::Delivered,
            ack_id: None,
            ours: Ours { reply_to: Some(reply_to.to_owned()), ..Ours::default() },
            kind: None,
            recipients: Vec::new(),
            metadata: Map::default(),
            home: None,
        }
    }

    /// The index was brought up to date inside the recipient's queue, however far behind it was, while others waited.
    #[test]
    fn what_an_answer_tells_is_found_before_the_queue_and_recorded_in_the_log_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("root"), folder.path().join("state"));
        let office = Office::new(Root::new(root), State::new(state.clone()));
        let (team, alice): (TeamName, MemberName) = ("demo".parse().unwrap(), "alice".parse().unwrap());
        let (inbox, bob) =
            (office.inbox_key(&team, &alice), office.inbox_key(&team, &"bob".parse().unwrap()));
        let mailbox = office.mailbox(&team, &alice);
        let accept = |inbox: &InboxKey, id: &str, sender: &str, draft: Option<&Draft>| {
            let (id, sender) = (id.to_owned(), sender.to_owned());
            let message = NewMessage { id, sender, kind: "message".into(), ..NewMessage::default() };
            let draft = draft.map(render_draft).unwrap_or_default();
            let accepted = Acceptance { inbox: inbox.clone(), message, is_new: true, draft };
            office.books.with(|ledger| ledger.accept(&[accepted], 1, "test")).unwrap();
        };
        let index =
            || ["index.db", "index.db-wal"].map(|name| fs::read(state.join(name)).unwrap_or_default());
        for (number, found) in [Found::BySender, Found::ByOther, Found::Late].into_iter().enumerate() {
            let (question, answer) = (format!("question-{number}"), format!("answer-{number}"));
            accept(&bob, &question, "alice", None);
            let drafts = [letter(&answer, &question)];
            accept(&inbox, &answer, "bob", Some(&drafts[0]));
            let own = if matches!(found, Found::ByOther) { &[] } else { &drafts[..] };
            let mut outbox = Accepted::new(&office, &inbox, &mailbox, own);
            match found {
                Found::BySender => outbox.find_effects([Content::Text].iter()),
                Found::ByOther => outbox.find_effects_of_waiting(),
                Found::Late => {}
            }
            let before = index();
            // Inside the queue from here on.
            outbox.waiting();
            assert!(outbox.written(&[answer], None), "{:?}", outbox.trouble);
            assert_eq!(index() == before, !matches!(found, Found::Late), "{number}");
            assert_eq!(office.recorded(None, &question).unwrap().stage, Stage::Done, "{number}");
        }
    }
}
