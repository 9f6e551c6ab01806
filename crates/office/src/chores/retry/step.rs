//! Taking one step. Who takes it has the inbox's turn, and the ledger has shown that nobody took it.
//!
//! A step whose taker died is not taken again: a letter has an id that is made of the step, and an offer is announced in
//! the ledger before it is made.

use atm_ledger::{Evidence, Recorded, Stage, StageRecord};
use atm_store::StoreError;
use atm_wire::payload::classify;
use atm_wire::team::TeamConfig;
use atm_wire::{Address, Draft, MemberName, Stamp, TeamName};

use super::{LEAD, Step};
use crate::error::OfficeError;
use crate::mail::derived::letter_id;
use crate::mail::outbox::parse_draft;
use crate::mail::send::{Letter, SendOptions};
use crate::mail::tag;
use crate::office::{Office, USER};

impl Office {
    pub(super) fn draft_of(&self, message: &Recorded) -> Result<Option<Draft>, OfficeError> {
        let draft = self.books.with(|ledger| ledger.draft(&message.inbox, &message.id))?;
        Ok(draft.as_deref().and_then(parse_draft))
    }

    pub(super) fn take_step(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        message: &Recorded,
        draft: Draft,
        step: &Step,
        stages: &[StageRecord],
    ) -> Result<(), OfficeError> {
        let (stage, evidence) = match step {
            Step::Offer { number } => (Stage::Queued, self.offer_again(team, message, draft, *number)?),
            Step::Escalate { told } => {
                let before = stages.iter().filter(|record| record.stage == Stage::Escalated).count();
                self.tell_somebody(team, config, message, told, before + 1)?;
                (Stage::Escalated, Evidence::certain(format!("told {told} that it waits")))
            }
            Step::Expire => (Stage::Expired, Evidence::certain("nobody acted on it in time")),
        };
        let now = self.now().as_millis();
        Ok(self.books.with(|ledger| ledger.advance(&message.inbox, &message.id, stage, now, &evidence))?)
    }

    /// Offers a message again, unless somebody announced this offer and died: then nobody knows whether it was made, and
    /// a client may have taken it since. What is missed so is still pending, and the next step comes.
    fn offer_again(
        &self,
        team: &TeamName,
        message: &Recorded,
        draft: Draft,
        number: u32,
    ) -> Result<Evidence, OfficeError> {
        let mailbox = self.mailbox(team, &MemberName::parse(&message.inbox.name)?);
        let announced = format!("offer {number} of {}", message.id);
        let is_announced = self.books.with(|ledger| ledger.fact(&message.inbox, &announced))?.is_some();
        if is_announced {
            let what =
                format!("offer number {number} was begun by a process that died; it may not be written");
            return Ok(Evidence::likely(what));
        }
        let now = self.now().as_millis();
        self.books.with(|ledger| ledger.note_fact(&message.inbox, &announced, now))?;
        if let Err(error) = mailbox.offer(&numbered(draft, number)) {
            // What could only not be synced is there.
            if !matches!(error, StoreError::Unsynced { .. }) {
                self.books.with(|ledger| ledger.forget_fact(&message.inbox, &announced))?;
            }
            return Err(error.into());
        }
        Ok(Evidence::certain(format!("offered again, number {number}")))
    }

    /// Tells somebody else that a message waits; `number` counts how many were told.
    fn tell_somebody(
        &self,
        team: &TeamName,
        config: &TeamConfig,
        message: &Recorded,
        to: &str,
        number: usize,
    ) -> Result<(), OfficeError> {
        // A team without a lead has only the person at the keyboard to turn to.
        let to = match to {
            LEAD => self.lead_of(team, config).or_else(|_| MemberName::parse(USER))?,
            name => MemberName::parse(name)?,
        };
        let waited = self.now().since(Stamp::from_millis(message.sent_at)).as_secs() / 60;
        let text = format!(
            "Message {} from {} to {} waits for {waited} minutes and is not acted on: {}",
            message.id,
            message.sender,
            message.inbox.name,
            message.summary.as_deref().unwrap_or(&message.text)
        );
        let id = letter_id(&message.inbox, &message.id, &format!("escalation {number}"));
        let to = Address { name: to, team: None };
        let letter = Letter { id: Some(id), ..Letter::new(to, text) };
        let options = SendOptions { create: true, ..SendOptions::default() };
        self.send(team, &MemberName::parse(USER)?, &letter, options)?;
        Ok(())
    }
}

/// The message again, with its number in the tag.
fn numbered(mut draft: Draft, number: u32) -> Draft {
    draft.ours.offer = Some(number);
    if !classify(&draft.text, None).is_protocol() {
        let why = format!("offered again, number {number}, sent at {}", draft.timestamp);
        draft.text = tag::tagged(&why, &draft.text);
    }
    draft
}
