//! Acknowledging a message, once.

use atm_ledger::{Recorded, Stage};
use atm_wire::message::Delivery;
use atm_wire::payload::{Acknowledgment, Payload};
use atm_wire::{Address, MemberName, Stamp, TeamName};

use crate::error::OfficeError;
use crate::mail::derived::letter_id;
use crate::mail::send::{Letter, SendOptions, Sent};
use crate::office::Office;
use crate::team::Team;
use crate::trail::effects;
use crate::trail::history::Trace;
use crate::trail::track::LAST;

impl Office {
    /// `who` tells the sender of a message that it arrived, as [`Team::ack`].
    pub fn ack(
        &self,
        team: &TeamName,
        who: &MemberName,
        id: &str,
        text: Option<String>,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        self.team(team)?.ack(who, id, text, options)
    }
}

impl Team<'_> {
    /// `who` tells the sender of a message that it arrived. Only its recipient may, and it is sent once: who
    /// acknowledges again gets the first acknowledgment as its answer, with a warning.
    pub fn ack(
        &self,
        who: &MemberName,
        id: &str,
        text: Option<String>,
        options: SendOptions,
    ) -> Result<Sent, OfficeError> {
        // What changed is read before anybody has to wait for us; then what came meanwhile, which is little.
        self.catch_up()?;
        // Two at once must not both find it without an acknowledgment.
        let _turn = self.mailbox(who).deciding()?;
        self.catch_up()?;
        let message = self.to_acknowledge(who, id)?;
        if message.inbox.name != who.as_str() {
            let why = format!(
                "message {} is for {}, and only {} can acknowledge it",
                message.id, message.inbox.name, message.inbox.name
            );
            return Err(OfficeError::NotYours { who: who.to_string(), why });
        }
        if let Some(first) = self.office().first_acknowledgment(who, &message, text.is_some())? {
            return Ok(first);
        }
        let own_id = letter_id(&message.inbox, &message.id, "ack");
        let home = message.origin.as_deref().map(TeamName::parse).transpose()?;
        let to = Address { name: MemberName::parse(&message.sender)?, team: home };
        let session = self.session_that_asked(who, &message.id, &to);
        let ack = Acknowledgment { ack_id: Some(message.ack_id.unwrap_or(message.id)), text };
        let letter = Letter { id: Some(own_id), session, ..Letter::new(to, Payload::from(ack).to_text()) };
        // Who wrote is answered, with or without an entry or an inbox of its own.
        self.send_in_turn(who, &letter, SendOptions { create: true, ..options })
    }

    /// The message that is meant: by its own id, or by the name under which its sender wants it acknowledged.
    fn to_acknowledge(&self, who: &MemberName, id: &str) -> Result<Recorded, OfficeError> {
        let (office, team) = (self.office(), self.name());
        let named = match office.recorded(Some(team), id) {
            Err(OfficeError::NotRecorded { .. }) if id == LAST => {
                let to = Some(who.to_string());
                return office.last_recorded(team, Trace { to, ..Trace::default() });
            }
            Err(OfficeError::NotRecorded { .. } | OfficeError::WhichMessage { .. }) => {
                office.books.with(|ledger| ledger.acknowledged_by(&office.root_key(), id))?
            }
            found => return found,
        };
        // Senders count their own messages: of several with one name, the newest of this reader is meant.
        let is_mine = |m: &Recorded| m.inbox.name == who.as_str() && m.inbox.team == team.as_str();
        let mine = named.iter().rfind(|message| is_mine(message)).or(named.last());
        mine.cloned().ok_or_else(|| OfficeError::NotRecorded { id: id.to_owned() })
    }
}

impl Office {
    /// Whether a message of the team is acknowledged, if the ledger knows it.
    pub(crate) fn is_acknowledged(&self, team: &TeamName, id: &str) -> Option<bool> {
        Some(self.recorded(Some(team), id).ok()?.stage >= Stage::Acked)
    }

    /// The acknowledgment that a message has, as the answer to who wants to send another one.
    fn first_acknowledgment(
        &self,
        who: &MemberName,
        message: &Recorded,
        has_text: bool,
    ) -> Result<Option<Sent>, OfficeError> {
        let stages = self.books.with(|ledger| ledger.stages(message))?;
        let Some((id, at)) = effects::acknowledgment(&stages) else { return Ok(None) };
        let found = self.books.with(|ledger| ledger.find(&message.inbox.root, id, false))?;
        let known = found.into_iter().find(|ack| ack.sender == who.as_str());
        let (team, to, stage, sent_at) = if let Some(ack) = known {
            (ack.inbox.team, ack.inbox.name, ack.stage, ack.sent_at)
        } else {
            let home = message.origin.clone().unwrap_or_else(|| message.inbox.team.clone());
            (home, message.sender.clone(), Stage::Written, at)
        };
        let mut warnings = vec![format!("message {} was acknowledged already, by message {id}", message.id)];
        if has_text {
            warnings.push("the text was not sent: a reply would carry it".to_owned());
        }
        Ok(Some(Sent {
            id: id.to_owned(),
            team: TeamName::parse(&team)?,
            from: who.clone(),
            to: MemberName::parse(&to)?,
            status: if stage == Stage::Queued { Delivery::Queued } else { Delivery::Delivered },
            stage,
            timestamp: Stamp::from_millis(sent_at),
            warnings,
            hint: None,
        }))
    }
}
