//! The archive: looking into it, recording what goes there, and what it tells about mail that is not in its inbox.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use atm_ledger::{Evidence, InboxKey, Known, Observed, Stage};
use atm_store::archive::{ALWAYS, Whence};
use atm_store::{Archive, Receipt};
use atm_wire::archive::Archived;
use atm_wire::{MemberName, Message, Stamp, TeamName};

use crate::error::OfficeError;
use crate::mail::inbox::{Filter, Look};
use crate::office::Office;
use crate::trail::effects;
use crate::trail::intake::Outline;
use crate::trail::look::{READ, UNREAD, found};
use crate::view::Viewer;

/// How many messages of the archive are put into the ledger at a time.
const BATCH: usize = 1000;

impl Office {
    /// The team whose archive is meant: one that is there or, by its name, one that was.
    pub fn choose_archived_team(&self, wanted: Option<&str>, cwd: &Path) -> Result<TeamName, OfficeError> {
        match (self.choose_team(wanted, cwd), wanted.map(TeamName::parse)) {
            (Err(OfficeError::NoTeam { .. }), Some(Ok(team)))
                if Archive::names(&self.state, &team, self.times).is_ok_and(|names| !names.is_empty()) =>
            {
                Ok(team)
            }
            (chosen, _) => chosen,
        }
    }

    /// Looks into the archive of `who`'s inbox. What stands in the inbox too counts as there.
    pub fn archived(&self, team: &TeamName, who: &MemberName, filter: &Filter) -> Result<Look, OfficeError> {
        let archive = self.archive_of(team, who);
        let mailbox = if self.folder_of(team).exists() && !archive.exists() {
            Some(self.team(team)?.known_mailbox(who)?)
        } else {
            self.folder_of(team).exists().then(|| self.mailbox(team, who))
        };
        let (inbox, old) = match &mailbox {
            Some(mailbox) => (mailbox.list()?.messages, mailbox.old_archive()?),
            None => Default::default(),
        };
        let elsewhere: HashSet<Receipt> = inbox.iter().chain(&old.messages).map(Receipt::of).collect();
        let start = filter.since.map_or(i64::MIN, Stamp::as_millis);
        let end = filter.until.map_or(i64::MAX, Stamp::as_millis);
        let view = archive.view(start..=end)?;
        let mut warnings = old.warnings;
        warnings.extend(view.warnings().iter().cloned());
        let fits = |message: &Message| filter.lets_through(message, &HashSet::new());
        let key = self.inbox_key(team, who);
        let wanted = filter.last.unwrap_or(usize::MAX);
        // From the newest on, so that the last few are found without reading the rest.
        let mut newest_first: Vec<Message> = Vec::new();
        for block in view.blocks().into_iter().rev() {
            if newest_first.len() >= wanted {
                break;
            }
            let messages = view.read(block, &mut warnings).into_iter().filter(|m| is_of(m, &key));
            let messages = messages.map(|archived| archived.message).filter(|m| fits(m));
            let mut fitting: Vec<Message> =
                messages.filter(|message| !elsewhere.contains(&Receipt::of(message))).collect();
            fitting.reverse();
            newest_first.extend(fitting);
        }
        // The layout's own archive was made before ours took over.
        newest_first.extend(old.messages.into_iter().rev().filter(|message| fits(message)));
        newest_first.truncate(wanted);
        let viewer = Viewer::new(self, who, team);
        Ok(Look {
            messages: newest_first.iter().rev().map(|message| viewer.view(message)).collect(),
            warnings: warnings.iter().map(ToString::to_string).collect(),
        })
    }

    /// The archive of an inbox, whether there is one or not.
    pub fn archive_of(&self, team: &TeamName, name: &MemberName) -> Archive {
        Archive::new(&self.state, team, name, self.times)
    }

    /// Where mail is from that is archived now.
    pub fn whence(&self, team: &TeamName, name: &MemberName) -> Whence {
        let InboxKey { root, team, name: to } = self.inbox_key(team, name);
        Whence { root, team, to, at: self.now() }
    }

    /// Records why these are not in the inbox any more: they are in its archive.
    pub fn record_archived(
        &self,
        team: &TeamName,
        name: &MemberName,
        moved: &[Message],
    ) -> Result<(), OfficeError> {
        if moved.is_empty() {
            return Ok(());
        }
        let inbox = self.inbox_key(team, name);
        let now = self.now().as_millis();
        let archive = self.archive_of(team, name).file();
        let file = self.mailbox(team, name).file();
        Ok(self.books.with(|ledger| {
            let ids: Vec<&str> = moved.iter().map(|message| message.id.as_str()).collect();
            let unknown = ledger.unknown(&inbox, &ids)?;
            let new: Vec<&Message> = moved.iter().filter(|m| unknown.contains(m.id.as_str())).collect();
            let observed: Vec<Observed> =
                moved.iter().map(|message| observed(message, now, &file, &archive)).collect();
            effects::record_beside(ledger, &inbox, &new, now, |ledger| {
                ledger.observe(&inbox, &observed, None, now)
            })
        })?)
    }

    /// Records those of the messages that are not recorded as archived: their archiver died before it could do so.
    pub fn record_archived_unless_known(
        &self,
        team: &TeamName,
        name: &MemberName,
        moved: Vec<Message>,
    ) -> Result<(), OfficeError> {
        let key = self.inbox_key(team, name);
        let mut unknown = Vec::new();
        for message in moved {
            if !self.books.with(|ledger| ledger.is_archived(&key, &message.id))? {
                unknown.push(message);
            }
        }
        self.record_archived(team, name, &unknown)
    }

    /// Takes those out of `known` that are not in the inbox since they were archived, and says what that tells.
    pub(crate) fn take_archived(
        &self,
        team: &TeamName,
        name: &MemberName,
        known: &mut Vec<Known>,
        messages: &[Outline],
    ) -> Result<Vec<Observed>, OfficeError> {
        let there: HashSet<&str> = messages.iter().map(Outline::id).collect();
        let mut times: Vec<i64> =
            known.iter().filter(|m| !there.contains(m.id.as_str())).map(|message| message.sent_at).collect();
        let archive = self.archive_of(team, name);
        if times.is_empty() || !archive.exists() {
            return Ok(Vec::new());
        }
        let key = self.inbox_key(team, name);
        let archived: HashMap<String, bool> = archive
            .at_times(&mut times)?
            .into_iter()
            .filter(|found| is_of(found, &key) && !there.contains(found.message.id.as_str()))
            .map(|found| (found.message.id, found.message.read))
            .collect();
        let mut observed = Vec::new();
        for (id, read) in known.iter().filter_map(|message| archived.get_key_value(&message.id)) {
            if *read || !self.books.with(|ledger| ledger.is_archived(&key, id))? {
                let stages = vec![evidence(*read, &archive.file())];
                observed.push(Observed { id: id.clone(), new: None, stages, at: None });
            }
        }
        known.retain(|message| !archived.contains_key(&message.id));
        Ok(observed)
    }

    /// Puts all that is archived into a new ledger. Gives what could not be read.
    pub(crate) fn remember_archives(&self) -> Result<Vec<String>, OfficeError> {
        let mut warnings = Vec::new();
        for archive in Archive::all(&self.state, self.times)? {
            let view = archive.view(ALWAYS)?;
            warnings.extend(view.warnings().iter().cloned());
            for block in view.blocks() {
                let messages = view.read(block, &mut warnings);
                for batch in messages.chunks(BATCH) {
                    self.remember(&archive.file(), batch)?;
                }
            }
        }
        // What a message says about others can be told once they are known.
        for archive in Archive::all(&self.state, self.times)? {
            let view = archive.view(ALWAYS)?;
            for block in view.blocks() {
                for archived in view.read(block, &mut Vec::new()) {
                    let (Some(inbox), Some(origin)) = (key_of(&archived), &archived.origin) else { continue };
                    let at = origin.at.as_millis();
                    self.books.with(|ledger| effects::record(ledger, &inbox, &archived.message, at))?;
                }
            }
        }
        Ok(warnings.iter().map(ToString::to_string).collect())
    }

    fn remember(&self, file: &Path, batch: &[Archived]) -> Result<(), OfficeError> {
        // By inbox, and by the time at which they were archived: that is when they were last there.
        let mut by_inbox: HashMap<(InboxKey, i64), Vec<Observed>> = HashMap::new();
        for archived in batch {
            let (Some(inbox), Some(origin)) = (key_of(archived), &archived.origin) else { continue };
            let at = origin.at.as_millis();
            let observed = observed(&archived.message, at, file, file);
            by_inbox.entry((inbox, at)).or_default().push(observed);
        }
        for ((inbox, at), observed) in by_inbox {
            self.books.with(|ledger| ledger.observe(&inbox, &observed, None, at))?;
        }
        Ok(())
    }
}

/// Whose inbox an archived message was in.
fn key_of(archived: &Archived) -> Option<InboxKey> {
    let origin = archived.origin.as_ref()?;
    Some(InboxKey { root: origin.root.clone(), team: origin.team.clone(), name: origin.to.clone() })
}

/// Whether it was in this inbox. Two names may be spelled the same in file names, and two roots have teams of one name;
/// a line that does not say where it is from was put there by somebody who knew.
fn is_of(archived: &Archived, key: &InboxKey) -> bool {
    key_of(archived).is_none_or(|from| from == *key)
}

/// What is known of a message that was moved from `file` into the archive.
fn observed(message: &Message, now: i64, file: &Path, archive: &Path) -> Observed {
    let (stage, evidence) = evidence(message.read, archive);
    let mut observed = found(message, now, file);
    if let Some(new) = observed.new.as_mut().filter(|_| stage == Stage::Written) {
        // One stage at one time has one evidence.
        new.1 = evidence.clone();
    }
    observed.stages = vec![(stage, evidence)];
    observed
}

/// Why a message is in the archive: its reader had it; or it was put there unread, which is no stage of its own.
fn evidence(read: bool, archive: &Path) -> (Stage, Evidence) {
    let (stage, how, before) = if read {
        (Stage::Taken, "its reader had it", READ)
    } else {
        (Stage::Written, "unread, by force", UNREAD)
    };
    (stage, Evidence::archived(how).changed(before, "in the archive").in_file(archive))
}
