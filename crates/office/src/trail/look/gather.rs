//! What a look compares: the messages that should be in an inbox, and what stands there. Nothing here holds the ledger
//! while a file is read.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use atm_ledger::{InboxKey, Known, Observed, Stage};
use atm_store::Warning;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, Stamp, TeamName};

use super::judge::Reader;
use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::intake::{Outline, outline};

/// What the ledger knows of an inbox, read before its file.
#[derive(Debug)]
pub(super) struct KnownInbox {
    /// What it looked like from outside at the last look.
    pub(super) signature: Option<String>,
    /// What should be in it, unread.
    pub(super) messages: Vec<Known>,
    /// The same of what was taken and offered again.
    on_offer: Vec<Known>,
    /// What it looked like before anything was read.
    looks_like: String,
}

/// An inbox as it stands, beside what is known of it.
#[derive(Debug)]
pub(super) struct GatheredInbox {
    pub(super) key: InboxKey,
    pub(super) known_signature: Option<String>,
    /// What should be in it, unread, and was not archived.
    pub(super) known: Vec<Known>,
    /// What was taken and offered again, and should be in it, unread.
    pub(super) on_offer: Vec<Known>,
    /// How often those that are not there were put back before.
    pub(super) restored: HashMap<String, usize>,
    /// What the archive says about those that are there.
    pub(super) archived: Vec<Observed>,
    pub(super) messages: Vec<Outline>,
    /// There is such a file. Who drains one leaves an empty one.
    pub(super) exists: bool,
    /// It was neither broken nor replaced while it was read, nor did it vanish just now. Otherwise it does not show what is
    /// gone.
    pub(super) is_whole: bool,
    pub(super) signature: String,
    /// When it was last written, in milliseconds since the epoch.
    pub(super) changed_at: Option<i64>,
    pub(super) file: PathBuf,
    pub(super) reader: Reader,
}

impl Office {
    /// What is known of an inbox; nothing if it looks as it did at the last look.
    pub(super) fn known_inbox(
        &self,
        team: &TeamName,
        name: &MemberName,
    ) -> Result<Option<KnownInbox>, OfficeError> {
        let key = self.inbox_key(team, name);
        let looks_like = self.mailbox(team, name).signature().to_string();
        let signature = self.books.with(|ledger| ledger.signature(&key))?;
        if signature.as_deref() == Some(&looks_like) {
            return Ok(None);
        }
        // Before the file: what is known was written before, so its absence means something.
        let messages = self.books.with(|ledger| ledger.outlines(&key, Stage::Written, Stage::Taken))?;
        let on_offer = self.books.with(|ledger| ledger.on_offer(&key))?;
        Ok(Some(KnownInbox { signature, messages, on_offer, looks_like }))
    }

    /// Reads the inbox, and what belongs to it.
    pub(super) fn gather_inbox(
        &self,
        team: &TeamName,
        name: &MemberName,
        config: Option<&TeamConfig>,
        known: KnownInbox,
    ) -> Result<GatheredInbox, OfficeError> {
        let (key, mailbox) = (self.inbox_key(team, name), self.mailbox(team, name));
        let (messages, warnings) = outline(&mailbox)?;
        self.note_flaws(&warnings);
        let is_broken = warnings.iter().any(|warning| matches!(warning, Warning::Unparsable { .. }));
        let signature = mailbox.signature();
        let mut expected = known.messages;
        let archived = self.take_archived(team, name, &mut expected, &messages)?;
        let there: HashSet<&str> = messages.iter().map(Outline::id).collect();
        let mut restored = HashMap::new();
        let gone = expected.iter().filter(|message| message.ours && !there.contains(message.id.as_str()));
        for message in gone {
            let times = self.books.with(|ledger| ledger.times_restored(&key, &message.id))?;
            restored.insert(message.id.clone(), times);
        }
        let reader = match config {
            _ if expected.is_empty() => Reader::OneByOne,
            Some(config) => Reader::of(config, name.as_str()),
            None => self
                .folder(team)?
                .load()
                .map_or(Reader::OneByOne, |config| Reader::of(&config, name.as_str())),
        };
        let exists = mailbox.exists();
        let is_settled = exists || !changed_lately(&mailbox.file(), self.now());
        Ok(GatheredInbox {
            key,
            known_signature: known.signature,
            known: expected,
            on_offer: known.on_offer,
            restored,
            archived,
            exists,
            is_whole: !is_broken && is_settled && signature.to_string() == known.looks_like,
            signature: known.looks_like,
            changed_at: signature.changed_at(),
            file: mailbox.file(),
            reader,
            messages,
        })
    }
}

/// A team is deleted file by file, its inboxes first. So where a file vanished, it is waited for so long whether the team's
/// folder goes, too: who drains an inbox leaves an empty file.
const DELETED_WITHIN: Duration = Duration::from_secs(5);

/// Whether something changed lately where a file stood.
fn changed_lately(file: &Path, now: Stamp) -> bool {
    let place = file.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok());
    let changed = place.and_then(|place| place.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let changed = changed.and_then(|changed| i64::try_from(changed.as_millis()).ok()).map(Stamp::from_millis);
    changed.is_some_and(|changed| changed.since(now).max(now.since(changed)) < DELETED_WITHIN)
}
