//! Messages that a writer without a lock undid go into their inbox again, under their old ids.
//!
//! What a look has judged is decided again in the inbox's queue: another process may have judged the same, put the message
//! back, and a client may have taken it since. The ledger tells, since it learns of a put-back before the queue is left.
//! The store, for its part, writes nothing whose id is in the file.

use atm_ledger::{Evidence, InboxKey, LedgerError};
use atm_store::{Mailbox, Outbox, StoreError, Witnesses};
use atm_wire::Draft;

use crate::mail::outbox::parse_draft;
use crate::office::Office;
use crate::trail::look::UNREAD;

/// So many times. After that somebody means it, or does not know better: a person has to see to it.
pub(crate) const AT_MOST: usize = 3;

/// Puts messages back, each with how often that was done before.
pub(crate) fn put_back(
    office: &Office,
    inbox: &InboxKey,
    mailbox: &Mailbox,
    undone: &[(String, usize)],
) -> Result<(), StoreError> {
    mailbox.deliver(&mut Undone { office, inbox, mailbox, messages: undone }, false).map(drop)
}

struct Undone<'a> {
    office: &'a Office,
    inbox: &'a InboxKey,
    mailbox: &'a Mailbox,
    messages: &'a [(String, usize)],
}

impl Outbox for Undone<'_> {
    fn waiting(&mut self) -> Vec<Draft> {
        let drafts = self.office.books.with(|ledger| {
            let draft = |(id, times): &(String, usize)| ledger.draft_to_restore(self.inbox, id, *times);
            self.messages.iter().map(draft).collect::<Result<Vec<_>, LedgerError>>()
        });
        // Without the ledger nobody would know how often it was put back: the next look does it.
        let drafts = drafts.unwrap_or_default();
        drafts.iter().flatten().filter_map(|draft| parse_draft(draft)).collect()
    }

    fn written(&mut self, ids: &[String], before: Option<&Witnesses>) -> bool {
        // Those before which nothing is known to stand were there: nobody put them back.
        let Some(before) = before else { return true };
        let evidence = Evidence::certain("it was gone, and one that stood before it was there: put back")
            .changed("not in the inbox", UNREAD)
            .in_file(self.mailbox.file());
        let (now, witnesses) = (self.office.now().as_millis(), before.0.join(" "));
        // If that fails, the next look finds the message in the file.
        let _ = self
            .office
            .books
            .with(|ledger| ledger.restored(self.inbox, ids, now, &evidence, Some(&witnesses)));
        true
    }

    fn knows_of_the_dead(&self) -> bool {
        false
    }
}
