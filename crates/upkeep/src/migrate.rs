//! Bringing a team's files to the version and the spelling that we write.

use std::path::PathBuf;

use atm_office::{Office, OfficeError};
use atm_wire::TeamName;
use atm_wire::migrate::Step;
use serde::Serialize;

use crate::Progress;

/// What was changed in one file, or would be. The `--json` shape, which is a promise.
#[derive(Debug, Clone, Serialize)]
pub struct FileChanges {
    /// The file.
    pub file: PathBuf,
    /// The changes.
    pub changes: Vec<Step>,
}

/// Adds or raises the `schemaVersion` of a team's configuration; with `dialect`, rewrites older spellings in it, in
/// the inboxes and in cursors. One of a later generation than we know is refused. `progress` counts bytes of inboxes.
pub fn migrate(
    office: &Office,
    team: &TeamName,
    dialect: bool,
    dry_run: bool,
    progress: Progress,
) -> Result<Vec<FileChanges>, OfficeError> {
    let folder = office.folder(team)?;
    let mut all = vec![folder.migrate(dialect, dry_run)?];
    if dialect {
        let names = office.inbox_names(team);
        let sizes: Vec<u64> = names.iter().map(|name| office.mailbox(team, name).size()).collect();
        let (total, mut done) = (sizes.iter().sum(), 0);
        for (name, size) in names.iter().zip(sizes) {
            progress(done, total);
            all.extend(office.mailbox(team, name).migrate(dry_run)?);
            done += size;
        }
        progress(total, total);
    }
    let changed = all.into_iter().filter(|changes| !changes.steps.is_empty());
    Ok(changed.map(|changes| FileChanges { file: changes.path, changes: changes.steps }).collect())
}
