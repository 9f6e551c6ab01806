//! What waits for one that returns: unread mail gets the tag that makes agents act on it, once.

use atm_ledger::{Evidence, Stage};
use atm_store::Layout;
use atm_wire::message::Delivery;
use atm_wire::{Draft, MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::mail::outbox::parse_draft;
use crate::mail::tag;
use crate::office::Office;

impl Office {
    /// Tags unread mail that came while its reader was still there, so that it is not taken for old noise. What was
    /// queued has its tag. Says how many unread messages have one now.
    ///
    /// Only mail of ours is changed: an entry that somebody else wrote stays as it is, and so does a line of a log.
    pub(super) fn offer_backlog(&self, team: &TeamName, name: &MemberName) -> Result<usize, OfficeError> {
        let mailbox = self.mailbox(team, name);
        self.complete_accepted(team, Some(name));
        self.offer_lost(team, name)?;
        let unread: Vec<Message> = mailbox.list()?.messages.into_iter().filter(|m| !m.read).collect();
        let mut tagged = unread.iter().filter(|message| tag::is_tagged(&message.text)).count();
        if mailbox.layout() == Layout::Log || !self.books.exist() {
            return Ok(tagged);
        }
        let inbox = self.inbox_key(team, name);
        for message in unread {
            let plain = !message.content().is_protocol() && message.outer_type.as_deref() == Some("message");
            if !plain || tag::is_tagged(&message.text) {
                continue;
            }
            let draft = self.books.with(|ledger| ledger.draft(&inbox, &message.id))?;
            let Some(draft) = draft.as_deref().and_then(parse_draft) else { continue };
            if !mailbox.offer(&with_tag(draft), &|| !self.was_recalled(&inbox, &message.id))? {
                continue;
            }
            let evidence = Evidence::certain("was unread when its reader returned, and got its tag");
            let now = self.now().as_millis();
            self.books.with(|ledger| ledger.advance(&inbox, &message.id, Stage::Queued, now, &evidence))?;
            tagged += 1;
        }
        Ok(tagged)
    }
}

fn with_tag(draft: Draft) -> Draft {
    let text = tag::tagged(&format!("unread since {}, before you returned", draft.timestamp), &draft.text);
    Draft { text, delivery: Delivery::Queued, ..draft }
}
