//! Folders in which files are expected, that may come and go.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders below another one, `top`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    folders: Vec<PathBuf>,
    top: PathBuf,
}

impl Expected {
    /// These folders.
    pub fn new(folders: Vec<PathBuf>, top: PathBuf) -> Self {
        Self { folders, top }
    }

    /// The folders to watch: each that is there; in the place of one that is not, the next one above it that is, in which something
    /// changes when it comes.
    pub fn there(&self) -> BTreeSet<PathBuf> {
        self.folders.iter().filter_map(|folder| self.nearest(folder)).map(ToOwned::to_owned).collect()
    }

    fn nearest<'a>(&self, folder: &'a Path) -> Option<&'a Path> {
        let mut above = folder.ancestors().take_while(|folder| folder.starts_with(&self.top));
        above.find(|folder| folder.is_dir())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_there_is_waited_for_in_the_next_folder_above_it_and_never_above_the_top() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().join("root");
        let (teams, demo) = (top.join("teams"), top.join("teams").join("demo"));
        let expected = Expected::new(vec![teams.clone(), demo.join("inboxes")], top.clone());
        let there = |folders: &[&PathBuf]| folders.iter().copied().cloned().collect::<BTreeSet<_>>();
        assert_eq!(expected.there(), there(&[]), "not even the top is there");
        fs::create_dir(&top).unwrap();
        assert_eq!(expected.there(), there(&[&top]));
        fs::create_dir(&teams).unwrap();
        assert_eq!(expected.there(), there(&[&teams]));
        fs::create_dir(&demo).unwrap();
        assert_eq!(expected.there(), there(&[&teams, &demo]));
        fs::create_dir(demo.join("inboxes")).unwrap();
        assert_eq!(expected.there(), there(&[&teams, &demo.join("inboxes")]));
    }
}
