//! What a conversation that is taken up again still has of the mail that was presented in it.
//!
//! A client that is killed in a turn leaves what it was shown unread. Some of it stands in the conversation's own file, and is
//! before the model again, as far as the client goes on with it: that must not be told twice. The rest is new once more.

use std::collections::HashSet;

use atm_ledger::Stage;
use atm_store::{Mailbox, SessionNote};
use atm_wire::MemberName;

use super::{Hooked, Record, Remembers, receipt};
use crate::error::OfficeError;
use crate::team::Team;

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
        if let Some(record) = Record::read(note)? {
            let presented = self.kept(whose, mailbox, &record, remembers);
            Record { presented, held: record.held, ..Record::default() }.write(note)?;
        }
        Ok(Hooked::default())
    }

    /// Of what was presented in a conversation, what is before the model when it is taken up again. Where that cannot be told, none:
    /// it is better told twice than lost.
    pub(super) fn kept(
        &self,
        whose: (&MemberName, &str),
        mailbox: &Mailbox,
        record: &Record,
        remembers: Remembers,
    ) -> Vec<String> {
        let is_remembered = |receipt: &&String| match remembers {
            Remembers::Nothing => false,
            Remembers::Turns => !record.told_at_start.contains(receipt),
            Remembers::All => true,
        };
        let presented: HashSet<&str> =
            record.presented.iter().filter(is_remembered).map(String::as_str).collect();
        if presented.is_empty() {
            return Vec::new();
        }
        self.find_kept(whose, mailbox, &presented).unwrap_or_default()
    }

    fn find_kept(
        &self,
        (who, session): (&MemberName, &str),
        mailbox: &Mailbox,
        presented: &HashSet<&str>,
    ) -> Result<Vec<String>, OfficeError> {
        let (office, team) = (self.office(), self.name());
        let (unread, _) = mailbox.fold(Vec::new, |found, message| {
            let receipt = receipt(&message);
            if !message.read && presented.contains(receipt.as_str()) {
                found.push((receipt, message.id));
            }
        })?;
        let ids: Vec<&str> = unread.iter().map(|(_, id)| id.as_str()).collect();
        let Some(file) = office.look_for_presented(team, (who, session), &ids)? else {
            return Ok(Vec::new());
        };
        let (inbox, file) = (self.inbox_key(who), file.display().to_string());
        let is_there = |id: &str| {
            office.books.with(|ledger| {
                let Some(message) = ledger.message_in(&inbox, id)? else { return Ok(false) };
                let stages = ledger.stages(&message)?;
                let is_in_it = |record: &atm_ledger::StageRecord| {
                    record.stage == Stage::Seen && record.evidence.file.as_deref() == Some(file.as_str())
                };
                Ok(stages.iter().any(is_in_it))
            })
        };
        let mut kept = Vec::new();
        for (receipt, id) in unread {
            if is_there(&id)? {
                kept.push(receipt);
            }
        }
        Ok(kept)
    }
}
