//! Older spellings in a team's files, rewritten where they stand.

use std::path::PathBuf;

use atm_wire::migrate::{self, Step};

use crate::commit::{Content, Plan};
use crate::error::StoreError;
use crate::log::LogInbox;
use crate::mailbox::{Inbox, Mailbox};
use crate::team::TeamFolder;

/// What was changed in a file, or would be.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// The file.
    pub path: PathBuf,
    /// The changes.
    pub steps: Vec<Step>,
}

impl TeamFolder {
    /// Brings `config.json` to our version of its format and, with `dialect`, to our spelling.
    pub fn migrate(&self, dialect: bool, dry_run: bool) -> Result<Changes, StoreError> {
        let file = self.config();
        let steps = file.update(|look| {
            if matches!(look.content, Content::Missing) {
                return Ok(Plan::Keep(Vec::new()));
            }
            let Some(text) = file.whole(look)? else { return Ok(Plan::Unsure) };
            // Also where nothing is to be done, or only asked for: there is nothing that we could say of it.
            file.refuse_newer(look.content)?;
            let migrated = migrate::config(text, dialect)
                .map_err(|error| StoreError::bad(file.path(), error.to_string()))?;
            Ok(plan(migrated, dry_run))
        })?;
        Ok(Changes { path: file.path().to_owned(), steps })
    }
}

impl Mailbox {
    /// Brings the mail, and how far it was read, to our spelling.
    pub fn migrate(&self, dry_run: bool) -> Result<Vec<Changes>, StoreError> {
        let migrate = |inbox: &Inbox, lines: Option<&LogInbox>| {
            let mut changes = match inbox {
                Inbox::Array(array) => vec![array.migrate(dry_run)?],
                Inbox::Log(log) => log.migrate(dry_run)?,
            };
            if let Some(lines) = lines {
                changes.extend(lines.migrate(dry_run)?);
            }
            Ok(changes)
        };
        if dry_run { self.look(migrate) } else { self.change(migrate) }
    }
}

pub(crate) fn plan(migrated: migrate::Migrated, dry_run: bool) -> Plan<Vec<Step>> {
    if dry_run || migrated.steps.is_empty() {
        return Plan::Keep(migrated.steps);
    }
    Plan::Replace(migrated.text, migrated.steps)
}
