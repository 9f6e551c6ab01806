//! Carrying out one step, which the runner has taken.
//!
//! Repeating one changes nothing: a letter has an id that is made of the step, and an offer whose maker died is not made
//! again.

use atm_ledger::{Evidence, Kind, Recorded, Stage, StageRecord};
use atm_store::StoreError;
use atm_wire::payload::classify;
use atm_wire::{Address, Draft, MemberName, Stamp, counted};

use super::{LEAD, Retried, Step};
use crate::chores::{Attempt, Carried, Site};
use crate::error::OfficeError;
use crate::mail::derived::letter_id;
use crate::mail::outbox::parse_draft;
use crate::mail::send::{Letter, SendOptions};
use crate::mail::tag::{self, Waited};
use crate::office::{Office, USER};
use crate::team::Team;

impl Office {
    /// Carries out a step with a message.
    pub(super) fn carry_out_retry(
        &self,
        site: &Site,
        retried: &Retried,
        number: i64,
    ) -> Result<Carried<()>, OfficeError> {
        let team = site.team;
        let inbox = self.inbox_key(team, &MemberName::parse(&retried.to)?);
        let recorded = self.recorded(Some(team), &retried.id)?;
        // It may have been answered since it was found to wait.
        if recorded.stage >= Stage::Acked {
            return Ok(Carried::Moot);
        }
        if site.attempt == Attempt::AfterDeath && self.is_on_record(&recorded, &retried.step, number)? {
            return Ok(Carried::Done(()));
        }
        let (kind, evidence) = match &retried.step {
            Step::Offer { number } => {
                let Some(evidence) = self.offer_again(site, &recorded, *number)? else {
                    return Ok(Carried::Moot);
                };
                (Kind::Offered, evidence)
            }
            Step::Escalate { told } => {
                tell_somebody(&self.team(team)?, &recorded, told, number)?;
                (Kind::Escalated, Evidence::certain(format!("told {told} that it waits")))
            }
            Step::Expire => (Kind::Expired, Evidence::certain("nobody acted on it in time")),
        };
        let now = self.now().as_millis();
        // It is done, and not on record: that is for the next who comes, and not to be done again.
        let noted = self.books.with(|ledger| ledger.note(&inbox, &recorded.id, kind, now, &evidence));
        Ok(noted.map_or_else(|error| Carried::Half(error.into()), Carried::Done))
    }

    /// Whether somebody who died over a step came as far as to record it.
    fn is_on_record(&self, message: &Recorded, step: &Step, number: i64) -> Result<bool, OfficeError> {
        let records = self.books.with(|ledger| ledger.stages(message))?;
        let count = |is_it: &dyn Fn(&StageRecord) -> bool| {
            i64::try_from(records.iter().filter(|record| is_it(record)).count()).unwrap_or(i64::MAX)
        };
        Ok(match step {
            // The message itself is the first offer.
            Step::Offer { number } => count(&|record| record.is_offer) + 1 >= i64::from(*number),
            Step::Escalate { .. } => count(&|record| record.stage == Stage::Escalated) >= number,
            Step::Expire => count(&|record| record.stage == Stage::Expired) > 0,
        })
    }

    /// Offers a message again, unless it lies there. If somebody died over this offer, nobody knows whether it was made,
    /// and a client may have taken it since: it counts, and what is missed so is still pending.
    fn offer_again(
        &self,
        site: &Site,
        message: &Recorded,
        number: u32,
    ) -> Result<Option<Evidence>, OfficeError> {
        let mailbox = self.mailbox(site.team, &MemberName::parse(&message.inbox.name)?);
        let messages = mailbox.list()?.messages;
        let lies_unread = messages.iter().any(|lying| lying.id == message.id && !lying.read);
        if site.attempt == Attempt::AfterDeath {
            let what =
                format!("offer number {number} was begun by a process that died; it may not be written");
            let found = format!("offered again, number {number}, by a process that died");
            return Ok(Some(if lies_unread { Evidence::certain(found) } else { Evidence::likely(what) }));
        }
        let draft = self.books.with(|ledger| ledger.draft(&message.inbox, &message.id))?;
        let Some(draft) = draft.as_deref().and_then(parse_draft).filter(|_| !lies_unread) else {
            return Ok(None);
        };
        let what = format!("offered again, number {number}");
        match mailbox.offer(&numbered(draft, number), &|| !self.was_recalled(&message.inbox, &message.id)) {
            Ok(true) => Ok(Some(Evidence::certain(what))),
            Ok(false) => Ok(None),
            // It is there, and a power cut could take it away.
            Err(error @ StoreError::Unsynced { .. }) => {
                Ok(Some(Evidence::likely(format!("{what}, and not synced: {error}"))))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Tells somebody else that a message waits; `number` counts how many were told.
fn tell_somebody(team: &Team<'_>, message: &Recorded, to: &str, number: i64) -> Result<(), OfficeError> {
    // A team without a lead has only the person at the keyboard to turn to.
    let to = match to {
        LEAD => team.lead().cloned().or_else(|_| MemberName::parse(USER))?,
        name => MemberName::parse(name)?,
    };
    let waited = team.office().now().since(Stamp::from_millis(message.sent_at)).as_secs() / 60;
    let waited = counted(waited, "minute");
    let text = format!(
        "Message {} from {} to {} waits for {waited} and is not acted on: {}",
        message.id,
        message.sender,
        message.inbox.name,
        message.summary.as_deref().unwrap_or(&message.text)
    );
    let id = letter_id(&message.inbox, &message.id, &format!("escalation {number}"));
    let to = Address { name: to, team: None };
    let letter = Letter { id: Some(id), ..Letter::new(to, text) };
    let options = SendOptions { create: true, ..SendOptions::default() };
    team.send(&MemberName::parse(USER)?, &letter, options)?;
    Ok(())
}

/// The message again, with its number in the tag.
fn numbered(mut draft: Draft, number: u32) -> Draft {
    draft.ours.offer = Some(number);
    if !classify(&draft.text, None).is_protocol() {
        draft.text = tag::tagged(Waited::Offered { number, sent: draft.timestamp }, &draft.text);
    }
    draft
}
