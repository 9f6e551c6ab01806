//! Looking after the ledger: is it sound, and if not, making a new one from the files.

use std::path::PathBuf;

use serde::Serialize;

use super::{Ailment, Finding, Remedy};
use crate::error::OfficeError;
use crate::office::Office;

/// What a look at the ledger found.
#[derive(Debug, Clone, Serialize)]
pub struct Checkup {
    /// The database.
    pub ledger: PathBuf,
    /// Whether it can be used and is sound.
    pub sound: bool,
    /// What is wrong with it.
    pub trouble: Option<String>,
    /// Where the old one is, if it was replaced.
    pub set_aside: Option<PathBuf>,
    /// How many messages are in it.
    pub messages: u64,
    /// What of the archive could not be read while it was made anew.
    pub warnings: Vec<String>,
}

impl Checkup {
    /// What is, or was, wrong with the ledger, as a finding.
    pub fn finding(&self) -> Option<Finding> {
        let trouble = self.trouble.as_ref()?;
        let aside = self.set_aside.as_ref().map(|place| format!("it was set aside as {}", place.display()));
        Some(Finding {
            ailment: Ailment::Ledger,
            team: None,
            path: Some(self.ledger.clone()),
            message: "the ledger cannot be used".to_owned(),
            evidence: std::iter::once(trouble.clone()).chain(aside).collect(),
            safe: true,
            remedy: Some(Remedy::Ledger),
        })
    }
}

impl Office {
    /// Looks whether the ledger is sound; with `fix`, one that is not is set aside and made anew
    /// from the files: the archives and the inboxes. So is one that is new.
    pub fn check_ledger(&self, fix: bool) -> Result<Checkup, OfficeError> {
        let ledger = self.state.ledger();
        let trouble = match self.books.with(|ledger| ledger.check()) {
            Ok(trouble) => trouble,
            Err(error) if error.is_damage() => Some(error.to_string()),
            // Locked, out of reach, or of a newer atm: there is nothing to mend about it.
            Err(error) => return Err(error.into()),
        };
        let sound = trouble.is_none();
        let mut checkup =
            Checkup { ledger, sound, trouble, set_aside: None, messages: 0, warnings: Vec::new() };
        let is_empty = || self.books.with(|ledger| ledger.count()).is_ok_and(|messages| messages == 0);
        if fix && (!sound || is_empty()) {
            if !sound {
                checkup.set_aside = self.state.set_ledger_aside()?;
            }
            checkup.warnings = self.remember_archives()?;
            self.catch_up(None)?;
            checkup.sound = true;
        }
        if checkup.sound {
            checkup.messages = self.books.with(|ledger| ledger.count())?;
        }
        Ok(checkup)
    }
}
