//! The files that the settings are from, and whether they are still what they were.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::watching::above;

/// Files with what was in them, whether they are there or not.
#[derive(Debug)]
pub struct SettingsFiles(Vec<(PathBuf, Option<Vec<u8>>)>);

impl SettingsFiles {
    /// Remembers what is in them. Do so before the settings are loaded: what is written later is a change.
    pub fn read(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(
            paths
                .into_iter()
                .map(|path| (fs::read(&path).ok(), path))
                .map(|(text, path)| (path, text))
                .collect(),
        )
    }

    pub(crate) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, before)| fs::read(path).ok() != *before)
    }

    /// The folders in which they are or would come: where a folder is not there yet, the one above it sees it come.
    pub(crate) fn folders(&self) -> BTreeSet<PathBuf> {
        self.0.iter().map(|(path, _)| above(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_after_the_reading_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("atm/config.toml");
        let read = || SettingsFiles::read([path.clone()]);
        let none = read();
        assert!(!none.have_changed());
        assert_eq!(none.folders(), BTreeSet::from([folder.path().to_owned()]));
        fs::create_dir(path.parent().unwrap()).unwrap();
        assert_eq!(none.folders(), BTreeSet::from([folder.path().join("atm")]));
        fs::write(&path, "").unwrap();
        assert!(none.have_changed(), "an empty file is not none");
        let empty = read();
        fs::write(&path, "x = 1").unwrap();
        assert!(empty.have_changed());
        assert!(!read().have_changed());
    }
}
