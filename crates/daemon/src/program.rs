//! The file that this program was started from: an upgrade replaces it, and an old daemon has no business beside a new
//! program.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What tells the file from a later one.
type Identity = (u64, u64, i64, i64);

/// The program's file as it was at the start.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    identity: Identity,
}

impl Program {
    /// None where it cannot be told.
    pub(crate) fn of_process() -> Option<Self> {
        Self::at(&env::current_exe().ok()?)
    }

    fn at(path: &Path) -> Option<Self> {
        Some(Self { path: path.to_owned(), identity: identity(path)? })
    }

    /// Whether another file stands there now, or none.
    pub(crate) fn is_replaced(&self) -> bool {
        identity(&self.path) != Some(self.identity)
    }

    /// Whether a file stands there now.
    pub(crate) fn is_there(&self) -> bool {
        self.path.is_file()
    }

    /// Where a change of it shows.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_and_a_removal_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("atm");
        fs::write(&path, "one").unwrap();
        let program = Program::at(&path).unwrap();
        assert!(!program.is_replaced());
        fs::write(folder.path().join("new"), "two").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(program.is_replaced() && program.is_there());
        let program = Program::at(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(program.is_replaced() && !program.is_there());
    }
}
