//! Checking files against the rules of their formats. Looking changes nothing.
//!
//! The rules themselves are [`atm_wire::lint`]'s; here is what needs the disk: which files there are, reading them in
//! pieces, and what only several of them together can tell.

mod detect;
mod read;
mod tasks;
mod walk;

use std::path::{Path, PathBuf};

use atm_office::{Office, OfficeError};
use atm_store::TeamFolder;
use atm_wire::TeamName;
use atm_wire::lint::{Counts, Finding, Findings, Format};

pub use detect::detect;

/// What was found in one file.
#[derive(Debug, Clone)]
pub struct FileReport {
    /// The file.
    pub file: PathBuf,
    /// What it was checked as.
    pub format: Format,
    /// The findings that were kept, by place.
    pub findings: Vec<Finding>,
    /// How many there were of each level.
    pub counts: Counts,
}

impl FileReport {
    /// A report of what was found in `file`.
    pub fn new(file: PathBuf, format: Format, findings: Findings) -> Self {
        let counts = findings.counts();
        Self { file, format, findings: findings.into_list(), counts }
    }
}

/// Checks every file of a team, its tasks included.
pub fn validate_team(office: &Office, team: &TeamName) -> Result<Vec<FileReport>, OfficeError> {
    let folder = office.folder(team)?;
    Ok(walk::team(folder.path(), Some(&office.root().tasks(team))))
}

/// Checks every file of every team.
pub fn validate_all(office: &Office) -> Result<Vec<FileReport>, OfficeError> {
    let teams = TeamFolder::list(office.root())?;
    let reports = teams.iter().map(|team| validate_team(office, team)).collect::<Result<Vec<_>, _>>()?;
    Ok(reports.into_iter().flatten().collect())
}

/// Checks one file. Settings are no business of the office: they give an empty report.
pub fn validate_file(path: &Path, format: Format) -> FileReport {
    read::check(path, format)
}

/// Checks a team's folder, wherever it is.
pub fn validate_folder(folder: &Path) -> Vec<FileReport> {
    walk::team(folder, None)
}
