//! Upkeep of the inboxes: what was consumed moves into the archive, which outlives the team.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use atm_ledger::{Evidence, InboxKey, LedgerError, Observed, Stage};
use atm_store::archive::{Whence, Writer};
use atm_store::{Archive, Layout, Mailbox, Receipt, StoreError, points};
use atm_wire::{MemberName, Message, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::effects;
use crate::trail::reconcile::{READ, UNREAD, found};
use crate::upkeep::{Rule, Tended, Upkeep};

/// Told how much of how much is done.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

impl Office {
    /// Whose inboxes are meant: those of these names, which must be there, or all of the team.
    pub fn inboxes_meant(
        &self,
        team: &TeamName,
        names: &[MemberName],
    ) -> Result<Vec<MemberName>, OfficeError> {
        self.folder(team)?;
        if names.is_empty() {
            return Ok(self.inbox_names(team));
        }
        let mut names = names.to_vec();
        names.sort();
        names.dedup();
        names.iter().try_for_each(|name| self.known_mailbox(team, name).map(drop))?;
        Ok(names)
    }

    /// What [`Office::archive`] would do.
    pub fn would_archive(
        &self,
        team: &TeamName,
        name: &MemberName,
        rule: &Rule,
    ) -> Result<Tended, OfficeError> {
        let mailbox = self.mailbox(team, name);
        let now = self.now();
        let archived = mailbox.would_archive(&mut |messages| rule.chosen(messages, now))?.len();
        Ok(Tended { archived, ..self.tended(team, name, &mailbox)? })
    }

    /// Moves messages of one inbox into its archive. Each is durably there before it leaves the inbox.
    pub fn archive(
        &self,
        team: &TeamName,
        name: &MemberName,
        rule: &Rule,
        upkeep: &Upkeep,
        progress: Progress,
    ) -> Result<Tended, OfficeError> {
        let mailbox = self.mailbox(team, name);
        let mut writer = self.archive_of(team, name).writer(self.whence(team, name))?;
        let (archived, warnings) = self.move_out(team, name, &mailbox, &mut writer, rule)?;
        let packed = self.pack_if_due(&writer, upkeep, progress)?;
        points::reached("archive_left");
        Ok(Tended { archived, packed, warnings, ..self.tended(team, name, &mailbox)? })
    }

    /// Makes an inbox that is larger than `over` small again. An array gives what was read to the archive; a log, all of
    /// which was read, becomes a rotated one.
    pub fn rotate(
        &self,
        team: &TeamName,
        name: &MemberName,
        over: u64,
        force: bool,
        upkeep: &Upkeep,
        progress: Progress,
    ) -> Result<Tended, OfficeError> {
        let mailbox = self.mailbox(team, name);
        if mailbox.layout() == Layout::Array && mailbox.size() > over {
            let mut tended =
                self.archive(team, name, &Rule { force, ..Rule::default() }, upkeep, progress)?;
            if mailbox.size() > over {
                let unread = tended.unread;
                tended.warnings.push(format!("{}: {}", mailbox.file().display(), stays(unread)));
            }
            return Ok(tended);
        }
        let rotated = mailbox.rotate(over, self.now(), force)?.unwrap_or_default();
        let warnings =
            rotated.stays.iter().map(|(path, unread)| format!("{}: {}", path.display(), stays(*unread)));
        let warnings = warnings.collect();
        Ok(Tended { rotated: rotated.files, warnings, ..self.tended(team, name, &mailbox)? })
    }

    /// Clears up: processed mail that is older than `after` and the log layout's own archive go into ours, what is due
    /// there is packed, and what dead processes left is removed.
    pub fn clean(
        &self,
        team: &TeamName,
        name: &MemberName,
        after: Duration,
        upkeep: &Upkeep,
        progress: Progress,
    ) -> Result<Tended, OfficeError> {
        let mailbox = self.mailbox(team, name);
        let mut writer = self.archive_of(team, name).writer(self.whence(team, name))?;
        let rule = Rule { older_than: Some(after), ..Rule::default() };
        let (mut archived, mut warnings) = self.move_out(team, name, &mailbox, &mut writer, &rule)?;
        let old = mailbox.absorb_old_archive(&mut writer)?;
        archived += old.len();
        warnings.extend(self.record_archived(team, name, &old).err().map(|error| trouble(&error)));
        let packed = self.pack_if_due(&writer, upkeep, progress)?;
        let swept = mailbox.sweep();
        points::reached("archive_left");
        Ok(Tended { archived, packed, swept, warnings, ..self.tended(team, name, &mailbox)? })
    }

    /// What [`Office::clean`] would archive.
    pub fn would_clean(
        &self,
        team: &TeamName,
        name: &MemberName,
        after: Duration,
    ) -> Result<Tended, OfficeError> {
        let rule = Rule { older_than: Some(after), ..Rule::default() };
        let mut tended = self.would_archive(team, name, &rule)?;
        tended.archived += self.mailbox(team, name).old_archive()?.messages.len();
        Ok(tended)
    }

    fn move_out(
        &self,
        team: &TeamName,
        name: &MemberName,
        mailbox: &Mailbox,
        writer: &mut Writer,
        rule: &Rule,
    ) -> Result<(usize, Vec<String>), OfficeError> {
        let mut warnings = Vec::new();
        // First what the client did: once a message is gone from the file, that cannot be seen there any more.
        match self.reconcile_inbox(team, name) {
            Err(OfficeError::Ledger(error)) => warnings.push(trouble(&error)),
            done => done?,
        }
        warnings.extend(self.record_left(team, name, mailbox, writer)?);
        let now = self.now();
        let inbox = self.inbox_key(team, name);
        let moved = mailbox.archive(writer, &mut |messages| {
            let chosen = rule.chosen(messages, now);
            let ids: Vec<&str> = chosen.iter().map(|at| messages[*at].id.as_str()).collect();
            // Before they are out of the inbox: whoever looks then must know that nobody took them. If this fails, they
            // are still found in the archive.
            let _ = self.books.with(|ledger| ledger.removing(&inbox, &ids, now.as_millis()));
            chosen
        })?;
        match self.record_archived(team, name, &moved) {
            Err(error) => warnings.push(trouble(&error)),
            Ok(()) => writer.recorded(),
        }
        points::reached("archive_recorded");
        if moved.iter().any(|message| !message.id_given) {
            // One that is equal and comes now is another one than those that went.
            if let Err(OfficeError::Ledger(error)) = self.reconcile_inbox(team, name) {
                warnings.push(trouble(&error));
            }
        }
        warnings.dedup();
        Ok((moved.len(), warnings))
    }

    /// Records what somebody had moved who died before he could do so.
    fn record_left(
        &self,
        team: &TeamName,
        name: &MemberName,
        mailbox: &Mailbox,
        writer: &Writer,
    ) -> Result<Option<String>, OfficeError> {
        let left = writer.unrecorded();
        if left.is_empty() {
            return Ok(None);
        }
        let there: HashSet<Receipt> = mailbox.list()?.messages.iter().map(Receipt::of).collect();
        let key = self.inbox_key(team, name);
        let record = || -> Result<(), LedgerError> {
            let mut gone = Vec::new();
            for message in left.into_iter().map(|archived| archived.message) {
                let is_known = || self.books.with(|ledger| ledger.is_archived(&key, &message.id));
                if !there.contains(&Receipt::of(&message)) && !is_known()? {
                    gone.push(message);
                }
            }
            self.record_archived(team, name, &gone)
        };
        Ok(record().err().map(|error| trouble(&error)))
    }

    fn pack_if_due(&self, writer: &Writer, upkeep: &Upkeep, progress: Progress) -> Result<usize, StoreError> {
        if writer.is_due(self.now(), upkeep.rotate_over, upkeep.compress_after)? {
            writer.close()?;
        }
        Ok(writer.pack(progress)?.parts)
    }

    /// The ledger learns why these are not in the inbox any more.
    pub(crate) fn record_archived(
        &self,
        team: &TeamName,
        name: &MemberName,
        moved: &[Message],
    ) -> Result<(), LedgerError> {
        if moved.is_empty() {
            return Ok(());
        }
        let inbox = self.inbox_key(team, name);
        let now = self.now().as_millis();
        let archive = self.archive_of(team, name).file();
        let file = self.mailbox(team, name).file();
        self.books.with(|ledger| {
            let ids: Vec<&str> = moved.iter().map(|message| message.id.as_str()).collect();
            let unknown = ledger.unknown(&inbox, &ids)?;
            let new: Vec<&Message> = moved.iter().filter(|m| unknown.contains(m.id.as_str())).collect();
            let observed: Vec<Observed> =
                moved.iter().map(|message| observed(message, now, &file, &archive)).collect();
            ledger.observe(&inbox, &observed, None, now)?;
            new.iter().try_for_each(|message| effects::record(ledger, &inbox, message, now))
        })
    }

    fn tended(&self, team: &TeamName, name: &MemberName, mailbox: &Mailbox) -> Result<Tended, OfficeError> {
        let messages = mailbox.list()?.messages;
        Ok(Tended {
            team: team.to_string(),
            name: name.to_string(),
            left: messages.len(),
            unread: messages.iter().filter(|message| !message.read).count(),
            archive: self.archive_of(team, name).file(),
            ..Tended::default()
        })
    }

    pub(crate) fn archive_of(&self, team: &TeamName, name: &MemberName) -> Archive {
        Archive::new(&self.state, team, name, self.times)
    }

    pub(crate) fn whence(&self, team: &TeamName, name: &MemberName) -> Whence {
        let InboxKey { root, team, name: to } = self.inbox_key(team, name);
        Whence { root, team, to, at: self.now() }
    }
}

/// What is known of a message that was moved from `file` into the archive.
pub(crate) fn observed(message: &Message, now: i64, file: &Path, archive: &Path) -> Observed {
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
pub(crate) fn evidence(read: bool, archive: &Path) -> (Stage, Evidence) {
    let (stage, how, before) = if read {
        (Stage::Taken, "its reader had it", READ)
    } else {
        (Stage::Written, "unread, by force", UNREAD)
    };
    let what = format!("{}: {how}", Evidence::ARCHIVED);
    (stage, Evidence::certain(what).changed(before, "in the archive").in_file(archive))
}

fn stays(unread: usize) -> String {
    format!("is still as large: {unread} unread messages in it; read them, or use --force")
}

fn trouble(error: &LedgerError) -> String {
    format!("{error}; the mail is archived without it")
}
