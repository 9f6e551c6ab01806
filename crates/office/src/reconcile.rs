//! Bringing the ledger up to date with what files and transcripts show.
//!
//! One function of both: only what changed in size or time since the last look is read again.

use std::collections::HashMap;
use std::path::Path;

use atm_ledger::{Evidence, InboxKey, Known, Ledger, LedgerError, Observed, Stage};
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, Message, TeamName};

use crate::effects;
use crate::error::OfficeError;
use crate::office::{Office, USER};
use crate::outbox::parse_draft;
use crate::protocol::signed;
use crate::transcript;

impl Office {
    /// Looks at everything of a team that changed since the last look, and finishes what was left undone.
    pub fn reconcile(&self, team: &TeamName) -> Result<(), OfficeError> {
        let folder = self.folder(team)?;
        let config = folder.load()?;
        let members = config.members.iter().filter_map(|member| member.checked_name().ok());
        let mut names: Vec<MemberName> = members.chain(folder.inbox_names()).collect();
        names.sort();
        names.dedup();
        self.complete_accepted(team, None);
        for name in &names {
            self.reconcile_inbox(team, name)?;
            self.books.with(|ledger| self.read_transcripts(ledger, team, &config, name))?;
        }
        self.bury_deleted_teams()?;
        self.books.tidy();
        Ok(())
    }

    pub(crate) fn reconcile_inbox(&self, team: &TeamName, name: &MemberName) -> Result<(), OfficeError> {
        let mailbox = self.mailbox(team, name);
        let inbox = self.inbox_key(team, name);
        let signature = mailbox.signature().to_string();
        if self.books.with(|ledger| ledger.signature(&inbox))?.as_deref() == Some(&signature) {
            return Ok(());
        }
        // First what the ledger knows, then the file: what is known was written before, so its absence means something.
        let mut known = self.books.with(|ledger| ledger.known(&inbox, Stage::Written, Stage::Taken))?;
        let messages = mailbox.list()?.messages;
        let file = mailbox.file();
        let now = self.now().as_millis();
        let archived = self.take_archived(team, name, &mut known, &messages)?;
        let (mut observed, undone) = compare(&known, &messages, &file);
        observed.extend(archived);
        let mut put_back = Vec::new();
        for id in undone {
            if self.books.with(|ledger| ledger.has_reached(&inbox, &id, Stage::Restored))? {
                let evidence = taken("gone again after it was put back", UNREAD, &others(&messages), &file);
                observed.push(Observed { id, new: None, stages: vec![evidence] });
            } else {
                put_back.push(id);
            }
        }
        self.books.with(|ledger| {
            let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
            let unknown = ledger.unknown(&inbox, &ids)?;
            let new: Vec<&Message> = messages.iter().filter(|m| unknown.contains(m.id.as_str())).collect();
            observed.extend(new.iter().map(|message| found(message, now, &file)));
            ledger.observe(&inbox, &observed, Some(&signature), now)?;
            note_signers(ledger, &inbox, &new, now)?;
            new.iter().try_for_each(|message| effects::record(ledger, &inbox, message, now))
        })?;
        for id in put_back {
            self.put_back(&inbox, &mailbox, &id)?;
        }
        Ok(())
    }

    /// A writer without a lock undid our message: it goes in again, once, under its old id.
    fn put_back(&self, inbox: &InboxKey, mailbox: &atm_store::Mailbox, id: &str) -> Result<(), OfficeError> {
        let Some(draft) = self.books.with(|ledger| ledger.draft(inbox, id))?.as_deref().and_then(parse_draft)
        else {
            return Ok(());
        };
        mailbox.append(&[draft], false)?;
        let evidence = Evidence::certain("it was gone while an older unread one was there: put back once")
            .changed("not in the inbox", UNREAD)
            .in_file(mailbox.file());
        let now = self.now().as_millis();
        Ok(self.books.with(|ledger| ledger.advance(inbox, id, Stage::Restored, now, &evidence))?)
    }

    /// Looks for open messages in what the recipient's conversation gained.
    fn read_transcripts(
        &self,
        ledger: &mut Ledger,
        team: &TeamName,
        config: &TeamConfig,
        name: &MemberName,
    ) -> Result<(), LedgerError> {
        let inbox = self.inbox_key(team, name);
        let mut open = ledger.known(&inbox, Stage::Written, Stage::Seen)?;
        if open.is_empty() {
            return Ok(());
        }
        for found in transcript::transcripts_of(self.root.path(), config, team.as_str(), name.as_str()) {
            let path = found.path.display().to_string();
            let offset = ledger.transcript_offset(&path, found.inode)?;
            if offset == found.length {
                continue;
            }
            let Ok((told, end)) = found.heard_since(offset) else { continue };
            let evidence = Evidence::certain("in the recipient's conversation")
                .changed(
                    format!("{offset} bytes of it, without the message"),
                    format!("{end} bytes, with it"),
                )
                .in_file(&found.path);
            self.note_seen(ledger, &inbox, &evidence, &told, &mut open)?;
            ledger.set_transcript_offset(&path, found.inode, end)?;
        }
        Ok(())
    }

    fn note_seen(
        &self,
        ledger: &mut Ledger,
        inbox: &InboxKey,
        evidence: &Evidence,
        told: &[String],
        open: &mut Vec<Known>,
    ) -> Result<(), LedgerError> {
        for text in told {
            let seen = |m: &Known| transcript::has_message(text, &m.sender, &m.text);
            while let Some(at) = open.iter().position(seen) {
                let message = open.remove(at);
                ledger.advance(inbox, &message.id, Stage::Seen, self.now().as_millis(), evidence)?;
            }
        }
        Ok(())
    }

    /// Mail that nobody had taken when its team was deleted.
    fn bury_deleted_teams(&self) -> Result<(), OfficeError> {
        let root = self.root_key();
        let now = self.now().as_millis();
        for inbox in self.books.with(|ledger| ledger.inboxes_with_open(&root))? {
            let gone = TeamName::parse(&inbox.team).is_ok_and(|team| !self.folder_of(&team).exists());
            if !gone || inbox.name == USER {
                continue;
            }
            let evidence = Evidence::certain("the team's folder was deleted; the text is kept here");
            self.books.with(|ledger| {
                for message in ledger.known(&inbox, Stage::Accepted, Stage::Taken)? {
                    ledger.withdraw(&inbox, &message.id, now, &evidence)?;
                    ledger.advance(&inbox, &message.id, Stage::Failed, now, &evidence)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    pub(crate) fn root_key(&self) -> String {
        InboxKey::new(self.root.path(), "", "").root
    }

    pub(crate) fn inbox_key(&self, team: &TeamName, name: &MemberName) -> InboxKey {
        InboxKey::new(self.root.path(), team.as_str(), name.as_str())
    }
}

/// Who signs is remembered: clients empty the inboxes that would show it.
fn note_signers(
    ledger: &mut Ledger,
    inbox: &InboxKey,
    new: &[&Message],
    now: i64,
) -> Result<(), LedgerError> {
    for message in new.iter().filter(|message| signed::is_signed(message)) {
        let sender = InboxKey { name: message.from.clone(), ..inbox.clone() };
        ledger.note_fact(&sender, signed::SIGNS, now)?;
    }
    Ok(())
}

/// What the file tells about the messages that should be in it, and which of ours were undone.
fn compare(known: &[Known], messages: &[Message], file: &Path) -> (Vec<Observed>, Vec<String>) {
    let there: HashMap<&str, &Message> =
        messages.iter().map(|message| (message.id.as_str(), message)).collect();
    let oldest_unread = messages.iter().filter(|m| !m.read).filter_map(|m| m.sent_at).min();
    let (mut observed, mut undone) = (Vec::new(), Vec::new());
    for message in known {
        let is_there = there.get(message.id.as_str());
        let older_is_there = || oldest_unread.is_some_and(|oldest| oldest.as_millis() <= message.sent_at);
        let (what, after) = match is_there {
            Some(found) if found.read => ("marked as read", READ.to_owned()),
            Some(_) => continue,
            None if message.ours && older_is_there() => {
                undone.push(message.id.clone());
                continue;
            }
            None if messages.is_empty() => ("the inbox was emptied", others(messages)),
            None => ("gone from the inbox", others(messages)),
        };
        let evidence = taken(what, UNREAD, &after, file);
        observed.push(Observed { id: message.id.clone(), new: None, stages: vec![evidence] });
    }
    (observed, undone)
}

/// How a message is before its reader comes by.
pub(crate) const UNREAD: &str = "in the inbox, unread";
/// And after.
pub(crate) const READ: &str = "in the inbox, read";

/// What the inbox holds instead of a message that is gone.
fn others(messages: &[Message]) -> String {
    format!("not in the inbox, which has {} others", messages.len())
}

fn taken(what: &str, before: &str, after: &str, file: &Path) -> (Stage, Evidence) {
    let what = format!("{what}, by its reader's client");
    (Stage::Taken, Evidence::likely(what).changed(before, after).in_file(file))
}

/// A message of the file that the ledger may not know.
pub(crate) fn found(message: &Message, now: i64, file: &Path) -> Observed {
    let evidence = Evidence::certain("found in the inbox").in_file(file);
    let new = Some(Box::new((effects::noticed(message, now), evidence)));
    let read = message.read.then(|| taken("found marked as read", "not known", READ, file));
    Observed { id: message.id.clone(), new, stages: read.into_iter().collect() }
}
