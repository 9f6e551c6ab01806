//! What a conversation that is taken up again still has of the mail that was presented in it.
//!
//! A client that is killed in a turn leaves what it was shown unread. Some of it stands in the conversation's own file, and is
//! before the model again, as far as the client goes on with it: that must not be told twice. The rest is new once more.

use std::collections::HashSet;

use atm_store::{Mailbox, SessionNote};
use atm_wire::MemberName;

use super::{Hooked, Record, Remembers, receipt};
use crate::error::OfficeError;
use crate::team::Team;

impl Record {
    /// Of what was presented, what can be before the model again where it stands in the conversation.
    fn can_be_kept(&self, remembers: Remembers) -> HashSet<&str> {
        let can_be = |receipt: &&String| match remembers {
            Remembers::Nothing => false,
            Remembers::Turns => !self.told_at_start.contains(receipt) && !self.told_before.contains(receipt),
            Remembers::All => !self.told_before.contains(receipt),
        };
        self.presented.iter().filter(can_be).map(String::as_str).collect()
    }

    /// The conversation goes on with this before its model, and nothing else.
    fn keep(&mut self, kept: Vec<String>) {
        let before = std::mem::replace(&mut self.presented, kept);
        let is_new =
            |receipt: &String| !self.presented.contains(receipt) && !self.told_before.contains(receipt);
        let lost: Vec<String> = before.into_iter().filter(is_new).collect();
        self.told_before.extend(lost);
        self.told_at_start.clear();
        self.trusted.retain(|receipt| self.presented.contains(receipt));
        self.signature = None;
    }

    /// A turn has ended, and what was presented in it is read, but for what waits for its acknowledgment.
    pub(super) fn forget_told(&mut self, is_all: bool) {
        self.told_at_start.retain(|receipt| self.presented.contains(receipt));
        if is_all {
            self.told_before.retain(|receipt| self.presented.contains(receipt));
        }
    }
}

impl Team<'_> {
    /// A conversation begins in a client that keeps nothing of what it is told then.
    pub(super) fn begin_silently(
        &self,
        whose: (&MemberName, &str),
        mailbox: &Mailbox,
        note: &SessionNote,
        remembers: Remembers,
    ) -> Result<Hooked, OfficeError> {
        let _turn = mailbox.turn()?;
        if let Some(mut record) = Record::read(note)? {
            self.take_up(whose, mailbox, &mut record, remembers)?;
            Record { spent: 0, rests: false, asked_at: None, ..record }.write(note)?;
        }
        Ok(Hooked::default())
    }

    /// A conversation begins, or is taken up again: what an earlier process pushed is settled, and what is before its model stays
    /// presented. Where that cannot be told, nothing does: it is better told twice than lost.
    pub(super) fn take_up(
        &self,
        (who, session): (&MemberName, &str),
        mailbox: &Mailbox,
        record: &mut Record,
        remembers: Remembers,
    ) -> Result<(), OfficeError> {
        self.take_over_frames(who, session, mailbox, record)?;
        let can_be_kept = record.can_be_kept(remembers);
        // The conversation is not searched for nothing.
        let kept = if can_be_kept.is_empty() {
            Vec::new()
        } else {
            self.find_kept((who, session), mailbox, &can_be_kept).unwrap_or_default()
        };
        record.keep(kept);
        Ok(())
    }

    fn find_kept(
        &self,
        (who, session): (&MemberName, &str),
        mailbox: &Mailbox,
        presented: &HashSet<&str>,
    ) -> Result<Vec<String>, OfficeError> {
        let (office, team) = (self.office(), self.name());
        let (unread, _) = mailbox.fold(Vec::new, |found, message| {
            if !message.read && presented.contains(receipt(&message).as_str()) {
                found.push(message);
            }
        })?;
        // Its place is recorded where that is the first; it may stand in an earlier conversation, too.
        let _ = office.look_for_presented(team, (who, session));
        let standing = office.standing_in(team, (who, session), &unread)?.unwrap_or_default();
        Ok(unread.iter().filter(|message| standing.ids.contains(&message.id)).map(receipt).collect())
    }
}
