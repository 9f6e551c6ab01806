//! What upkeep asks the ledger, and what it records there about mail that it moves.

use std::path::PathBuf;

use atm_ledger::Evidence;
use atm_store::quarantine::SetAside;
use atm_wire::team::TeamConfig;
use atm_wire::{MemberName, TeamName};

use crate::error::OfficeError;
use crate::office::Office;
use crate::trail::transcript::Transcript;

pub use atm_ledger::{Recorded, Stage};

impl Office {
    /// What is wrong with the ledger, if it can be opened or is damaged. One that is locked, out of reach, or of a newer
    /// version is an error: there is nothing to mend about it.
    pub fn ledger_damage(&self) -> Result<Option<String>, OfficeError> {
        match self.books.with(|ledger| ledger.check()) {
            Err(error) if error.is_damage() => Ok(Some(error.to_string())),
            checked => Ok(checked?),
        }
    }

    /// Whether a ledger of an older version was so damaged that not all of its history could be taken over.
    pub fn has_lost_history(&self) -> Result<bool, OfficeError> {
        Ok(self.books.with(|ledger| ledger.has_lost_history())?)
    }

    /// Whether an older `atm` has written a ledger of its own beside ours.
    pub fn is_ledger_written_beside(&self) -> Result<bool, OfficeError> {
        Ok(self.books.with(|ledger| ledger.is_written_beside())?)
    }

    /// What was set aside because it does not parse, the newest first.
    pub fn set_aside(&self) -> Result<Vec<SetAside>, OfficeError> {
        Ok(self.state.quarantine().list()?)
    }

    /// How many messages the ledger knows.
    pub fn count_recorded(&self) -> Result<u64, OfficeError> {
        Ok(self.books.with(|ledger| ledger.count())?)
    }

    /// Fills a new ledger from the archives and the inboxes. Gives what could not be read.
    pub fn rebuild_ledger(&self) -> Result<Vec<String>, OfficeError> {
        let warnings = self.remember_archives()?;
        self.catch_up(None)?;
        Ok(warnings)
    }

    /// All messages of a team that the ledger knows; none, and no new ledger, where there is no ledger.
    pub fn recorded_of(&self, team: &TeamName) -> Result<Vec<Recorded>, OfficeError> {
        if !self.books.exist() {
            return Ok(Vec::new());
        }
        let root = self.root_key();
        Ok(self.books.with(|ledger| ledger.latest(&root, Some(team.as_str()), usize::MAX))?)
    }

    /// Whether a message is known to have been seen by the owner of this inbox. Without a ledger nothing is known.
    pub fn was_seen(&self, team: &TeamName, name: &MemberName, id: &str) -> bool {
        let inbox = self.inbox_key(team, name);
        self.books.exist()
            && self.books.with(|ledger| ledger.has_reached(&inbox, id, Stage::Seen)).unwrap_or(false)
    }

    /// Whether somebody of that name ever wrote: then it is not just another name misspelled.
    pub fn has_spoken(&self, team: &TeamName, name: &MemberName) -> Result<bool, OfficeError> {
        let root = self.root_key();
        if self.books.exist()
            && self.books.with(|ledger| ledger.last_word(&root, team.as_str(), name.as_str()))?.is_some()
        {
            return Ok(true);
        }
        let inboxes = self.inbox_names(team);
        let mut lists = inboxes.iter().filter_map(|inbox| self.mailbox(team, inbox).list().ok());
        Ok(lists.any(|list| list.messages.iter().any(|message| message.from == name.as_str())))
    }

    /// The files of a member's conversation in Claude Code, the one that went on last at the end.
    pub fn conversations_of(&self, team: &TeamName, config: &TeamConfig, name: &str) -> Vec<PathBuf> {
        let mut transcripts = self.conversations(team, Some(config)).of(name).to_vec();
        transcripts.retain(Transcript::is_of_inbox_reader);
        transcripts.sort_by_key(|transcript| transcript.changed_at);
        transcripts.into_iter().map(|transcript| transcript.path).collect()
    }

    /// Records that these are about to leave an inbox by our own hand, so that a look in between does not conclude that
    /// their reader took them.
    pub fn record_removal(
        &self,
        team: &TeamName,
        name: &MemberName,
        ids: &[&str],
    ) -> Result<(), OfficeError> {
        if !self.books.exist() {
            return Ok(());
        }
        let (inbox, now) = (self.inbox_key(team, name), self.now().as_millis());
        Ok(self.books.with(|ledger| ledger.removing(&inbox, ids, now))?)
    }

    /// Records that messages were moved from one inbox to another; their history goes with them.
    pub fn record_redirection(
        &self,
        team: &TeamName,
        from: &MemberName,
        to: &MemberName,
        ids: &[String],
    ) -> Result<(), OfficeError> {
        if !self.books.exist() {
            return Ok(());
        }
        let evidence = Evidence::certain(format!("brought from {from} to {to}"));
        let (from, to) = (self.inbox_key(team, from), self.inbox_key(team, to));
        let now = self.now().as_millis();
        Ok(self.books.with(|ledger| ledger.redirect(&from, &to, ids, now, &evidence))?)
    }
}
