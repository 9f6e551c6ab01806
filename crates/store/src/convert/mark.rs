//! What stands in a member's folder while its mail is on the way from one layout into the other.
//!
//! Two files cannot change in one instant. So the mark says beforehand which of them counts until when; it is asked
//! where there are both, and nowhere else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, sync_folder};

/// The name of the mark.
pub(crate) const NAME: &str = ".atm-converting";
/// What a file is called that was taken out of its place, until it is in the quarantine.
const TAKEN_OUT: &str = ".atm-converted";

/// How much of the lines does not count, since it is in the array. That is so while there is an array, and none that was
/// [taken out](taken_out).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Of each file.
    pub(crate) in_array: Vec<Carried>,
}

/// How much of a file is in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// Which file.
    pub(crate) inode: u64,
    /// How many bytes of it, up to the end of a line.
    pub(crate) bytes: u64,
}

impl Mark {
    /// The mark in a member's folder, if there is one.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&disk::read(folder.join(NAME)).ok()?).ok()
    }

    /// Puts it into the member's folder, durably.
    pub(crate) fn put(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(NAME);
        let text = serde_json::to_string(self).map_err(|error| StoreError::bad(&path, error.to_string()))?;
        Staged::write_beside(&path, None, &[text])?.commit()?;
        sync_folder(folder)
    }

    /// Takes it away, durably.
    pub(crate) fn remove(folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(NAME);
        match disk::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.doing("remove", &path).and_then(|()| sync_folder(folder)),
        }
    }
}

/// What a file is called while it is on its way out: hidden, beside its place.
pub(crate) fn taken_out(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{TAKEN_OUT}"))
}

/// The files in a folder that are on their way out.
pub(crate) fn all_taken_out(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_out = |name: &str| name.starts_with('.') && name.ends_with(TAKEN_OUT);
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(is_out)).map(|e| e.path()).collect();
    found.sort();
    found
}

/// Where a file was before it was [taken out](taken_out).
pub(crate) fn was_at(taken_out: &Path) -> PathBuf {
    let name = taken_out.file_name().unwrap_or_default().to_string_lossy();
    taken_out.with_file_name(name.trim_start_matches('.').trim_end_matches(TAKEN_OUT))
}

/// Whether a file is there for a conversion alone: what was carried out of it is elsewhere.
pub(crate) fn is_of_conversion(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == NAME || (name.starts_with('.') && name.ends_with(TAKEN_OUT))
}
