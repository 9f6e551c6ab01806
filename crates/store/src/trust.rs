//! The project folders whose settings file a person has trusted, a file for each.
//!
//! A folder is known by its real path, and its settings file by the hash of its content: a file that changed has to be
//! trusted again. The files are in a folder that no project's settings can name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use atm_wire::backup::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::error::{IoContext, StoreError};
use crate::files::{Staged, in_real_folder, read_small, sync_folder};
use crate::paths::create_private_folders;

/// What such a file has at most.
const LARGEST: u64 = 64 * 1024;

/// All of them.
#[derive(Debug, Clone)]
pub struct TrustedFolders {
    place: PathBuf,
}

/// A folder that was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFolder {
    /// The folder, links resolved.
    pub folder: PathBuf,
    /// The hash of the settings file as it was then.
    pub sha256: String,
    /// When.
    pub at: String,
}

impl TrustedFolder {
    /// Whether this is still the content that was trusted.
    pub fn covers(&self, content: &[u8]) -> bool {
        self.sha256 == hash(content)
    }
}

impl TrustedFolders {
    /// Those that are remembered in the folder `place`.
    pub fn new(place: impl Into<PathBuf>) -> Self {
        Self { place: place.into() }
    }

    /// Whether this content of the settings file in `folder` was trusted.
    pub fn cover(&self, folder: &Path, content: &[u8]) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        self.find(&folder).is_some_and(|trusted| trusted.covers(content))
    }

    /// Trusts this content of the settings file in `folder`.
    pub fn add(&self, folder: &Path, content: &[u8], at: String) -> Result<TrustedFolder, StoreError> {
        let folder = folder.canonicalize().doing("look at", folder)?;
        if folder.to_str().is_none() {
            return Err(StoreError::bad(&folder, "its path is not UTF-8, so it cannot be remembered"));
        }
        let trusted = TrustedFolder { sha256: hash(content), at, folder };
        create_private_folders(&self.place)?;
        let path = in_real_folder(&self.file_of(&trusted.folder))?;
        // Strings and a path that is UTF-8: that cannot fail.
        let text = serde_json::to_string(&trusted).unwrap_or_default();
        Staged::write_beside(&path, None, &[text])?.commit()?;
        sync_folder(&self.place)?;
        Ok(trusted)
    }

    /// Trusts `folder` no longer; says whether it was trusted. It may be gone.
    pub fn remove(&self, folder: &Path) -> Result<bool, StoreError> {
        let real = folder.canonicalize();
        let path = self.file_of(real.as_deref().unwrap_or(folder));
        match crate::disk::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.doing("remove", &path).map(|()| true),
        }
    }

    /// All of them, by path.
    pub fn list(&self) -> Vec<TrustedFolder> {
        let entries = fs::read_dir(&self.place).into_iter().flatten().filter_map(Result::ok);
        let mut all: Vec<TrustedFolder> =
            entries.filter_map(|entry| read(&entry.path())).filter(|one| self.is_in_place(one)).collect();
        all.sort_by(|a, b| a.folder.cmp(&b.folder));
        all
    }

    fn find(&self, folder: &Path) -> Option<TrustedFolder> {
        read(&self.file_of(folder)).filter(|trusted| trusted.folder == folder)
    }

    /// Whether it is the one that a look for its folder finds.
    fn is_in_place(&self, trusted: &TrustedFolder) -> bool {
        self.find(&trusted.folder).as_ref() == Some(trusted)
    }

    fn file_of(&self, folder: &Path) -> PathBuf {
        let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, folder.as_os_str().as_encoded_bytes());
        self.place.join(format!("{}.json", key.simple()))
    }
}

fn read(path: &Path) -> Option<TrustedFolder> {
    serde_json::from_slice(&read_small(path, LARGEST).ok()??.bytes).ok()
}

fn hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_trusted_by_its_real_path_and_its_files_content() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let all = TrustedFolders::new(folder.path().join("config/trusted"));
        assert!(!all.cover(&project, b"root"));
        let trusted = all.add(&link, b"root", "now".to_owned()).unwrap();
        assert_eq!(trusted.folder, project.canonicalize().unwrap());
        assert!(all.cover(&project, b"root") && all.cover(&link, b"root"));
        assert!(!all.cover(&project, b"other") && !all.cover(folder.path(), b"root"));
        assert_eq!(all.list(), [trusted]);
        assert!(all.remove(&link).unwrap() && !all.remove(&link).unwrap());
        assert!(!all.cover(&project, b"root") && all.list().is_empty());
    }

    #[test]
    fn a_record_that_was_moved_or_damaged_trusts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let all = TrustedFolders::new(folder.path().join("trusted"));
        all.add(folder.path(), b"x", "now".to_owned()).unwrap();
        let file = fs::read_dir(folder.path().join("trusted")).unwrap().next().unwrap().unwrap().path();
        fs::rename(&file, file.with_file_name("other.json")).unwrap();
        assert!(!all.cover(folder.path(), b"x") && all.list().is_empty());
        fs::write(&file, "{").unwrap();
        assert!(!all.cover(folder.path(), b"x") && all.list().is_empty());
    }
}
