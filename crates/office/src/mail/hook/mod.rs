//! Mail for an agent in the middle of its work, through its client's hooks.
//!
//! A hook is called at certain moments of a conversation and may put text before the model. What it puts there is
//! *presented*: remembered for this conversation, and still unread. Only when the turn ends is it marked as read: a
//! session that dies before that leaves it unread, and the next one gets it again. An agent that wants to stop while
//! mail waits that wants something of it is kept going, once for each message; so is one that was shown mail which wants
//! an acknowledgment, by whichever front, and has not given it.

mod dropped;
mod handover;
mod offered;
mod pushed;
mod resumed;
mod unread;
mod whose;
mod withheld;

use std::collections::BTreeMap;
use std::time::Duration;

use atm_clients::claude::sessions::Activity;
pub use atm_clients::hook::{HeldBy, Moment, Remembers};
use atm_store::{Mailbox, Receipt, Seat, SessionNote};
use atm_wire::{MemberName, Message, Stamp, TeamName};
use serde::{Deserialize, Serialize};

use crate::error::OfficeError;
use crate::mail::tag::is_tagged;
use crate::office::Office;
use crate::people::presence::asking;
use crate::team::Team;
use crate::view::Viewer;
use unread::Unread;

pub use handover::Handover;
pub(crate) use pushed::{Heard, Process, PushedFrame, unread};
pub use whose::{Caller, Whose};
pub(crate) use withheld::Withheld;

/// How long a conversation without a word is remembered.
pub(crate) const FORGOTTEN_AFTER: Duration = Duration::from_secs(14 * 24 * 60 * 60);
const IDLE: &str = "idle_notification";

/// What a moment came to.
#[derive(Debug, Default)]
pub struct Hooked {
    /// What is to be put before the model, if anything.
    pub handover: Option<Handover>,
    /// Whether the turn ends while mail waits that does not keep it going.
    pub leaves_mail: bool,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

/// What is remembered of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Record {
    /// What the mailbox looked like when all unread mail in it was presented.
    pub(crate) signature: Option<String>,
    /// What is before the model and not marked as read.
    pub(crate) presented: Vec<String>,
    /// What of that was presented when the conversation began, or was taken up again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) told_at_start: Vec<String>,
    /// What was presented before the conversation began anew, and is not before the model any more: a place in the conversation proves
    /// nothing for what is told after that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) told_before: Vec<String>,
    /// When something was last presented, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said_at: Option<i64>,
    /// What is not looked for in the conversation: it was told again, since it was not there; at a turn's end, which not every client
    /// keeps; or without a heading of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) trusted: Vec<String>,
    /// The frames that were given to the client and are not in the conversation yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pushed: Vec<PushedFrame>,
    /// How often each was in a frame that was lost.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) lost: BTreeMap<String, u32>,
    /// What the client's user did not let in: no channel offers it to this conversation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) denied: Vec<String>,
    /// The process that pushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pusher: Option<Process>,
    /// How many bytes of frames were shown in this turn.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) spent: usize,
    /// What kept it going already.
    pub(crate) held: Vec<String>,
    /// Whether its last turn has ended.
    pub(crate) rests: bool,
    /// When its client asked its user for a permission, if no hook was called after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) asked_at: Option<Stamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Record {
    pub(crate) fn read(note: &SessionNote) -> Result<Option<Self>, OfficeError> {
        // A note that makes no sense is none: the mail is presented again.
        Ok(note.read()?.map(|text| serde_json::from_str(&text).unwrap_or_default()))
    }

    pub(crate) fn write(&self, note: &SessionNote) -> Result<(), OfficeError> {
        // Strings in lists: that cannot fail.
        Ok(note.write(&serde_json::to_string(self).unwrap_or_default())?)
    }

    /// Whether there can be nothing to do: asked of two small files, before anything else is opened.
    fn is_idle(&self, moment: Moment, mailbox: &Mailbox) -> bool {
        let to_mark = moment != Moment::Works && !self.presented.is_empty();
        !matches!(moment, Moment::Begins { .. })
            && !to_mark
            && self.asked_at.is_none()
            && self.rests == matches!(moment, Moment::Stops { .. })
            && self.has_seen(mailbox)
    }

    /// Whether the inbox looks as it did when it was last presented.
    fn has_seen(&self, mailbox: &Mailbox) -> bool {
        self.signature.as_ref().is_some_and(|before| *before == mailbox.signature().to_string())
    }
}

impl Team<'_> {
    /// A client's hook was called, in `who`'s conversation.
    pub fn hook(&self, who: &MemberName, session: &str, moment: Moment) -> Result<Hooked, OfficeError> {
        self.hook_but(who, session, moment, || Ok(Withheld::default()))
    }

    /// The same for one of several conversations that share an inbox: some of the mail in it is another's now. That is asked when
    /// nobody else can take any.
    pub(crate) fn hook_but(
        &self,
        who: &MemberName,
        session: &str,
        moment: Moment,
        withheld: impl FnOnce() -> Result<Withheld, OfficeError>,
    ) -> Result<Hooked, OfficeError> {
        let (office, team) = (self.office(), self.name());
        let mailbox = self.known_mailbox(who)?;
        let note = SessionNote::of(&mailbox, session, &office.state);
        // Where a turn is on, or nobody is left to hear it, no hook of this client need wait to wake anybody.
        if !matches!(moment, Moment::Begins { .. } | Moment::Stops { .. }) {
            Seat::clear(&mailbox, &office.state);
        }
        if moment == Moment::Ends {
            // Without the ledger, what it showed at its end is offered once more than it need be.
            let _ = self.close_conversation(who, session);
            note.remove()?;
            return Ok(Hooked::default());
        }
        if matches!(moment, Moment::Begins { .. }) {
            note.forget_older(FORGOTTEN_AFTER);
        }
        if let Moment::Begins { tells: false, remembers } = moment {
            return self.begin_silently((who, session), &mailbox, &note, remembers);
        }
        if matches!(moment, Moment::Asks | Moment::Answered) {
            return note_asking(&mailbox, &note, (moment == Moment::Asks).then(|| office.now()));
        }
        office.complete_for_hook(team, who);
        let last = Record::read(&note)?;
        if last.as_ref().is_some_and(|record| record.is_idle(moment, &mailbox)) {
            return Ok(Hooked::default());
        }
        // An inbox that looks as it did has lost nothing, and the ledger need not be opened.
        if last.is_none_or(|record| !record.has_seen(&mailbox)) {
            office.recognise(team, self.config());
            self.put_back_undone(who);
        }
        let turn = mailbox.turn()?;
        // The previous holder of the lock may have presented it.
        let before = Record::read(&note)?;
        let mut record = Record { asked_at: None, ..before.clone().unwrap_or_default() };
        let signature = mailbox.settled_signature().map(|signature| signature.to_string());
        if let Moment::Begins { remembers, .. } = moment {
            self.take_up((who, session), &mailbox, &mut record, remembers)?;
        } else {
            self.take_over_frames(who, session, &mailbox, &mut record)?;
        }
        let Unread { presented, mut new, left_out, owed, held, others } =
            Unread::of(&mailbox, &record, &withheld()?)?;
        let mut warnings = Vec::new();
        record.presented = presented.iter().map(receipt).collect();
        record.held = held;
        if matches!(moment, Moment::Begins { .. }) {
            // An earlier conversation was shown these.
            record.held.extend(owed.iter().map(receipt));
        }
        if let Moment::Stops { held_by } = moment {
            // What `atm read` or another front showed in this turn.
            let (owed, settled) = self.split_owed(held_by, &record, owed);
            if held_by != HeldBy::Nothing {
                record.held.extend(settled.iter().map(receipt));
            }
            new.extend(owed);
            // Also what an earlier turn left that was broken off: it is still before the model.
            let (owed, seen) = self.split_owed(held_by, &record, presented);
            let (dropped, seen) = self.split_dropped((who, session), &mut record, seen);
            new.extend(dropped);
            warnings = office.mark_presented(team, who, &mailbox, &seen)?;
            record.presented = owed.iter().map(receipt).collect();
            new.extend(owed);
            record.forget_trusted(&new);
        }
        // What is another's now may be this one's later, and the inbox would look the same.
        let signature = signature.filter(|_| others == 0);
        record.signature = signature.clone().filter(|_| new.is_empty());
        let keeps_going: Vec<String> = match moment {
            Moment::Stops { held_by } => {
                let reason = |m: &&Message| holds(held_by, m) && !record.held.contains(&receipt(m));
                new.iter().filter(reason).map(receipt).collect()
            }
            _ => Vec::new(),
        };
        let silent = matches!(moment, Moment::Stops { .. }) && keeps_going.is_empty();
        record.rests = silent;
        if silent {
            record.spent = 0;
            record.forget_told(new.is_empty());
        }
        if new.is_empty() || silent {
            if before.as_ref() != Some(&record) {
                record.write(&note)?;
            }
            return Ok(Hooked { handover: None, leaves_mail: silent && !new.is_empty(), warnings });
        }
        // A crash before it is presented must not leave a record of a conversation at rest.
        if let Some(before) = before.filter(|before| before.rests && !record.rests) {
            Record { rests: false, ..before }.write(&note)?;
        }
        // What it is kept going for comes first: not everything may fit.
        new.sort_by_key(|message| !keeps_going.contains(&receipt(message)));
        record.said_at = Some(office.now().as_millis());
        let viewer = Viewer::new(office, who, team);
        let handover = Handover {
            messages: new.iter().map(|message| viewer.view(message)).collect(),
            receipts: new.iter().map(receipt).collect(),
            keeps_going,
            left_out,
            unnamed: Vec::new(),
            moment,
            record,
            signature,
            note,
            _turn: turn,
        };
        Ok(Hooked { handover: Some(handover), leaves_mail: false, warnings })
    }

    /// Of what was before the model: what still has to be acknowledged and has not kept the agent going, and the rest.
    fn split_owed(
        &self,
        held_by: HeldBy,
        record: &Record,
        presented: Vec<Message>,
    ) -> (Vec<Message>, Vec<Message>) {
        let may =
            |m: &Message| m.ack_id().is_some() && holds(held_by, m) && !record.held.contains(&receipt(m));
        // The acknowledgment may be in the files and not recorded yet.
        if presented.iter().any(may) {
            // Without the ledger it is asked for once more than it need be.
            let _ = self.catch_up();
        }
        let (office, team) = (self.office(), self.name());
        presented
            .into_iter()
            .partition(|message| may(message) && office.is_acknowledged(team, &message.id) != Some(true))
    }
}

impl Office {
    /// Whether a conversation waits for its next turn, as far as its client's hooks tell.
    pub(crate) fn conversation_rests(&self, team: &TeamName, who: &MemberName, session: &str) -> bool {
        self.hooked_activity(team, who, session, None) == Some(Activity::Idle)
    }

    /// What a conversation does, as far as its client's hooks tell; it last went on at that time, if that is known.
    pub(crate) fn hooked_activity(
        &self,
        team: &TeamName,
        who: &MemberName,
        session: &str,
        went_on: Option<Stamp>,
    ) -> Option<Activity> {
        let note = SessionNote::of(&self.mailbox(team, who), session, &self.state);
        let record = Record::read(&note).ok()??;
        asking(record.asked_at, went_on, self.now()).or(record.rests.then_some(Activity::Idle))
    }

    /// Marks as read what was before the model.
    fn mark_presented(
        &self,
        team: &TeamName,
        who: &MemberName,
        mailbox: &Mailbox,
        seen: &[Message],
    ) -> Result<Vec<String>, OfficeError> {
        if seen.is_empty() {
            return Ok(Vec::new());
        }
        let marked = mailbox.mark_read(&seen.iter().map(Receipt::of).collect())?;
        let mut warnings: Vec<String> = marked.warnings.iter().map(ToString::to_string).collect();
        if let Err(error) = self.note_handed_over(team, who, mailbox, seen, "atm hook") {
            warnings.push(format!("{error}; the mail is read without it"));
        }
        Ok(warnings)
    }
}

/// The client asks for a permission: its user is needed, and the mail can wait. Or that was answered, and the turn goes on.
fn note_asking(
    mailbox: &Mailbox,
    note: &SessionNote,
    asked_at: Option<Stamp>,
) -> Result<Hooked, OfficeError> {
    let _turn = mailbox.turn()?;
    let record = Record::read(note)?.unwrap_or_default();
    Record { asked_at, rests: false, ..record }.write(note)?;
    Ok(Hooked::default())
}

/// Whether this message keeps an agent going that wants to stop.
fn holds(held_by: HeldBy, message: &Message) -> bool {
    match held_by {
        HeldBy::Nothing => false,
        HeldBy::Wanted => wants_something(message),
        HeldBy::Any => wants_something(message) || message.kind() != IDLE,
    }
}

fn wants_something(message: &Message) -> bool {
    message.is_pending() || is_tagged(&message.text) || message.ack_id().is_some()
}

pub(crate) fn receipt(message: &Message) -> String {
    Receipt::of(message).to_string()
}
