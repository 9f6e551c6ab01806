//! What waits for one that returns: unread mail gets the tag that makes agents act on it, once.

use atm_ledger::{Evidence, Stage};
use atm_store::Layout;
use atm_wire::message::Delivery;
use atm_wire::{Address, Draft, MemberName, Message, TeamName, counted};

use super::derived::letter_id;
use super::first_words::SYSTEM;
use super::send::Letter;
use super::summary::summarize;
use crate::error::OfficeError;
use crate::mail::outbox::parse_draft;
use crate::mail::tag::{self, Waited};
use crate::office::Office;
use crate::team::Team;

/// So many of the messages that wait are named, the oldest.
const NAMED_AT_MOST: usize = 20;

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

impl Team<'_> {
    /// What others wrote stays as it is, and so does a line of a log. So one tagged note of ours names all unread words that
    /// have no tag, and says that they wait. Says how many it names; it is written once for the same mail.
    pub(super) fn note_untagged(&self, name: &MemberName) -> Result<usize, OfficeError> {
        let waits = |message: &Message| {
            !message.read && !message.content().is_protocol() && !tag::is_tagged(&message.text)
        };
        let from_others = |message: &Message| message.from != SYSTEM && message.from != name.as_str();
        let listed = self.mailbox(name).list()?.messages;
        let waiting: Vec<&Message> = listed.iter().filter(|m| waits(m) && from_others(m)).collect();
        if waiting.is_empty() {
            return Ok(0);
        }
        let ids: Vec<&str> = waiting.iter().map(|message| message.id.as_str()).collect();
        let lines = waiting.iter().take(NAMED_AT_MOST).map(|message| {
            let what = message.summary.clone().unwrap_or_else(|| summarize(&message.text));
            format!("- from {} at {}: {what}", message.from, message.timestamp)
        });
        let mut lines: Vec<String> = lines.collect();
        if waiting.len() > NAMED_AT_MOST {
            lines.push(format!("- and {} more", waiting.len() - NAMED_AT_MOST));
        }
        let count = waiting.len();
        let (mail, verb) = (counted(count, "message"), if count == 1 { "waits" } else { "wait" });
        let words = format!("{mail} in your inbox {verb} for you to act on:\n{}", lines.join("\n"));
        let letter = Letter {
            id: Some(letter_id(&self.inbox_key(name), &ids.join(" "), "backlog")),
            ..Letter::new(Address { name: name.clone(), team: None }, tag::tagged(Waited::Noted, &words))
        };
        self.write_as_system(&letter, None)?;
        Ok(count)
    }
}

fn with_tag(draft: Draft) -> Draft {
    let text = tag::tagged(Waited::Unread { since: draft.timestamp }, &draft.text);
    Draft { text, delivery: Delivery::Queued, ..draft }
}
