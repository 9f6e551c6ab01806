//! Adding a team's things to a team that is there: nothing is doubled, nothing is overwritten.

use std::collections::HashSet;

use atm_office::{Office, OfficeError};
use atm_store::archive::Whence;
use atm_store::backup::{self, Files};
use atm_store::{Carried, Layout, Receipt, StoreError};
use atm_wire::archive::{Archived, Origin};
use atm_wire::json::{self, Laid, Object};
use atm_wire::migrate;
use atm_wire::team::{TeamConfig, renamed};
use atm_wire::{MemberName, Message, Stamp, TeamName};
use serde::Serialize;

use crate::backup::site;

/// How many came, and how many were there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// How many are there now that were not.
    pub added: usize,
    /// How many were there; they stay as they are.
    pub known: usize,
}

impl From<Files> for Count {
    fn from(files: Files) -> Self {
        Self { added: files.added, known: files.kept }
    }
}

impl Count {
    pub(crate) fn add(&mut self, other: Self) {
        self.added += other.added;
        self.known += other.known;
    }
}

/// What was added to a team, or would be. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Merged {
    /// The team.
    pub team: String,
    /// The team that it is from.
    pub from: String,
    /// There was no such team.
    pub created: bool,
    /// Nothing was done.
    pub dry_run: bool,
    /// Mail in inboxes.
    pub messages: Count,
    /// Mail in the archive.
    pub archived: Count,
    /// The names of members that were added.
    pub members: Vec<String>,
    /// Tasks.
    pub tasks: Count,
    /// Other files.
    pub files: Count,
    /// What went on beside it.
    pub warnings: Vec<String>,
}

/// What is merged into which team.
pub(crate) struct Merge<'a> {
    pub(crate) office: &'a Office,
    pub(crate) team: &'a TeamName,
    pub(crate) done: Merged,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(office: &'a Office, team: &'a TeamName, from: &str, dry_run: bool) -> Self {
        let done = Merged { team: team.to_string(), from: from.to_owned(), dry_run, ..Merged::default() };
        Self { office, team, done }
    }

    /// Makes the team if there is none; else adds the members whose names it does not have.
    pub(crate) fn config(&mut self, text: Option<&str>, layout: Layout) -> Result<(), OfficeError> {
        let folder = self.office.folder_of(self.team);
        let text = text.unwrap_or("{\n  \"members\": []\n}");
        let bad =
            |error: String| StoreError::BadContent { path: folder.config_file().to_owned(), why: error };
        if let Some(version) = migrate::newer(text).filter(|_| self.done.from != self.team.as_str()) {
            return Err(StoreError::Newer { path: folder.config_file().to_owned(), version }.into());
        }
        let text =
            renamed(text, &self.done.from, self.team.as_str()).map_err(|error| bad(error.to_string()))?;
        let config = TeamConfig::parse(&text).map_err(|error| bad(error.to_string()))?;
        if !folder.config_file().exists() {
            self.done.created = !folder.exists();
            self.done.members = config.members.iter().map(|member| member.name.clone()).collect();
            if !self.done.dry_run {
                folder.create_from(&text, layout)?;
            }
            return Ok(());
        }
        let there = folder.load()?;
        let object = Object::parse(&text).map_err(|error| bad(error.to_string()))?;
        let raw = object.get("members").map(|members| json::elements(members.get()));
        let raw = raw.and_then(Result::ok).unwrap_or_default();
        for member in config.members.iter().filter(|member| there.member(&member.name).is_none()) {
            if let Some(entry) = raw.get(member.index).filter(|_| !self.done.members.contains(&member.name)) {
                self.done.members.push(member.name.clone());
                if !self.done.dry_run {
                    folder.add_member(&member.name, &Laid(entry.get()))?;
                }
            }
        }
        Ok(())
    }

    /// Adds the messages that neither the inbox nor the archive has. What its reader is known to have seen comes as read.
    pub(crate) fn mail(&mut self, name: &MemberName, mut carried: Vec<Carried>) -> Result<(), OfficeError> {
        let office = self.office;
        let archived = self.among_archived(name, carried.iter().map(|carried| &carried.message))?;
        let all = carried.len();
        carried.retain(|carried| !archived.contains(&Receipt::of(&carried.message)));
        self.done.messages.known += all - carried.len();
        let mailbox = office.mailbox(self.team, name);
        if self.done.dry_run {
            let added = mailbox.lacks(&carried)?;
            self.done.messages.add(Count { added, known: carried.len() - added });
            return Ok(());
        }
        for carried in &mut carried {
            carried.message.read |= office.was_seen(self.team, name, &carried.message.id);
        }
        mailbox.create()?;
        let taken = mailbox.take_in(name.as_str(), &carried)?;
        self.done.messages.add(Count { added: taken.added.len(), known: taken.known });
        // A log has no place for what was read behind what was not.
        let read = taken.read.into_iter().map(|carried| self.as_archived(name, carried)).collect();
        self.archive(name, read)?;
        match office.look_into_inbox(self.team, name) {
            Err(OfficeError::Ledger(error)) => self.warn(error.to_string()),
            done => done?,
        }
        Ok(())
    }

    /// Adds to the archive what it does not have.
    pub(crate) fn archive(&mut self, name: &MemberName, archived: Vec<Archived>) -> Result<(), OfficeError> {
        let known = self.among_archived(name, archived.iter().map(|archived| &archived.message))?;
        let (old, new): (Vec<_>, Vec<_>) =
            archived.into_iter().partition(|archived| known.contains(&Receipt::of(&archived.message)));
        self.done.archived.add(Count { added: new.len(), known: old.len() });
        if self.done.dry_run || new.is_empty() {
            return Ok(());
        }
        let root_key = self.office.root_key();
        backup::adopt(site(self.office, self.team, &root_key), name.as_str(), &new)?;
        let messages: Vec<Message> = new.into_iter().map(|archived| archived.message).collect();
        if let Err(error) = self.office.record_archived(self.team, name, &messages) {
            self.warn(error.to_string());
        }
        Ok(())
    }

    fn as_archived(&self, name: &MemberName, carried: Carried) -> Archived {
        let Whence { root, team, to, at } = self.office.whence(self.team, name);
        let (layout, read) = (carried.form, carried.message.read);
        let origin = Origin { at, root, team, to, layout, read, id: None };
        Archived { entry: carried.entry, origin: Some(origin), message: carried.message }
    }

    /// Those of the messages that the archive has.
    fn among_archived<'m>(
        &self,
        name: &MemberName,
        messages: impl Iterator<Item = &'m Message>,
    ) -> Result<HashSet<Receipt>, OfficeError> {
        let mut times: Vec<i64> =
            messages.map(|message| message.sent_at.map_or(0, Stamp::as_millis)).collect();
        let found = self.office.archive_of(self.team, name).at_times(&mut times)?;
        Ok(found.iter().map(|archived| Receipt::of(&archived.message)).collect())
    }

    pub(crate) fn warn(&mut self, warning: String) {
        if !self.done.warnings.contains(&warning) {
            self.done.warnings.push(warning);
        }
    }
}
