//! Looking after the ledger: is it sound, and if not, making a new one from the files.

use std::path::PathBuf;

use atm_office::{Office, OfficeError};
use serde::Serialize;

use super::{Ailment, Finding, Remedy};

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
    /// What of the archive could not be read while it was made anew, and what of an older ledger is lost.
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
            phantom: None,
        })
    }
}

/// Looks whether the ledger is sound; with `fix`, one that is not is set aside and made anew
/// from the files: the archives and the inboxes. So is one that is new.
pub fn check_ledger(office: &Office, fix: bool) -> Result<Checkup, OfficeError> {
    let ledger = office.state().ledger();
    let trouble = office.ledger_damage()?;
    let sound = trouble.is_none();
    let mut checkup = Checkup { ledger, sound, trouble, set_aside: None, messages: 0, warnings: Vec::new() };
    let is_empty = || office.count_recorded().is_ok_and(|messages| messages == 0);
    if fix && (!sound || is_empty()) {
        if !sound {
            checkup.set_aside = office.state().set_ledger_aside()?;
        }
        checkup.warnings = office.rebuild_ledger()?;
        checkup.sound = true;
    }
    if checkup.sound {
        checkup.messages = office.count_recorded()?;
        if office.has_lost_history()? {
            let lost =
                "the ledger of an older version, ledger.db, is damaged: its history was taken over in part";
            checkup.warnings.push(lost.to_owned());
        }
        if office.is_ledger_written_beside()? {
            let beside = "an older version of atm writes a ledger of its own, ledger.db, which nobody reads: \
                          end its processes, then delete that file";
            checkup.warnings.push(beside.to_owned());
        }
    }
    Ok(checkup)
}
