//! Who can read a team's files, beside their owner.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_office::Office;
use atm_store::Group;
use atm_wire::TeamName;

/// A folder that every user of this machine can come into, and what is in it for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(crate) folder: PathBuf,
    pub(crate) mode: u32,
}

impl Exposed {
    pub(crate) fn message(&self) -> String {
        let Self { folder, mode } = self;
        format!("other users of this machine can read what is in {} (mode {mode:04o})", folder.display())
    }
}

/// What one should know of who can read a team's files, in words.
pub fn warnings(office: &Office, team: &TeamName) -> Vec<String> {
    let exposed = exposed(office, team);
    let mut warnings: Vec<String> = exposed.iter().map(Exposed::message).collect();
    if let Some(last) = warnings.last_mut() {
        last.push_str("; `atm doctor --fix` closes it");
    }
    warnings.extend(office.group_of(team).and_then(|group| shuts_out(office, team, &group)));
    warnings
}

/// The folders of a team that every user can come at. Clients write their files readable for all, so what counts is
/// whether any folder on the way is closed.
pub(crate) fn exposed(office: &Office, team: &TeamName) -> Vec<Exposed> {
    let (folder, tasks) = (office.folder_of(team).path().to_owned(), office.root().tasks(team));
    let inside = ["config.json", "inboxes", "members"].map(|name| folder.join(name));
    let is_open = inside.iter().any(|path| mode_of(path) & 0o005 != 0);
    let is_open_below = mode_of(&tasks) & 0o004 != 0;
    [(folder, is_open), (tasks, is_open_below)]
        .into_iter()
        .filter(|(_, is_open)| *is_open)
        .filter_map(|(folder, _)| folder.canonicalize().ok())
        .filter(|folder| folder.ancestors().all(|path| mode_of(path) & 0o001 != 0))
        .map(|folder| Exposed { mode: mode_of(&folder), folder })
        .collect()
}

/// Why the group cannot come at its team, if it cannot.
pub(crate) fn shuts_out(office: &Office, team: &TeamName, group: &Group) -> Option<String> {
    let folder = office.folder_of(team).path().canonicalize().ok()?;
    let closed = |path: &&Path| {
        fs::metadata(path).is_ok_and(|found| {
            let passes = if found.gid() == group.id { 0o010 } else { 0o001 };
            found.mode() & passes == 0
        })
    };
    let above = folder.ancestors().filter(closed).last()?;
    let mode = mode_of(above);
    Some(format!(
        "the group {group} cannot come at the team: {} lets nobody pass (mode {mode:04o}); `chmod o+x` lets it",
        above.display()
    ))
}

/// What is in a group's team and not for the group to read.
pub(crate) fn kept_from(office: &Office, team: &TeamName, group: &Group) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [office.folder_of(team).path(), &office.root().tasks(team)] {
        walk(folder, group.id, &mut found);
    }
    found
}

fn walk(path: &Path, group: u32, found: &mut Vec<PathBuf>) {
    let Ok(looks) = fs::symlink_metadata(path) else { return };
    let needs = if looks.is_dir() { 0o050 } else { 0o040 };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Locks and files that are being made are nobody's to read.
    if looks.is_symlink() || name.ends_with(".lock") || name.contains(".atm-") {
        return;
    }
    if looks.gid() != group || looks.mode() & needs != needs {
        found.push(path.to_owned());
    } else if looks.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.for_each(|entry| walk(&entry.path(), group, found));
    }
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |found| found.mode() & 0o7777)
}
