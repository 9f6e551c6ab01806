//! What a peer has on disk: its entry in the registry of Claude Code's sessions, and the folder for its socket.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, is_temp_of_ours};
use crate::paths::create_private_folders;

/// The entry of one process. Nobody else writes it: its name is that process's number.
#[derive(Debug)]
pub struct PeerEntry {
    path: PathBuf,
}

impl PeerEntry {
    /// The entry at this path, whether it is there or not.
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Puts `text` in its place, whole. The registry has to be there: where it is not, nobody would read it.
    pub fn write(&self, text: &str) -> Result<(), StoreError> {
        let (staged, file) = Staged::begin_beside(&self.path)?;
        disk::write_all(&file, text.as_bytes()).doing("write", staged.temp())?;
        staged.commit()
    }

    /// Copies of entries in a registry that were not put in their place yet, or never will be, with the number of each one's process.
    pub fn unplaced(registry: &Path) -> Vec<(u64, PathBuf)> {
        let files = fs::read_dir(registry).into_iter().flatten().flatten().map(|found| found.path());
        let number = |path: &Path| {
            let name = path.file_name()?.to_str()?.strip_prefix('.')?;
            name.split_once(".json.")?.0.parse::<u64>().ok().filter(|_| is_temp_of_ours(path))
        };
        files.filter_map(|path| Some((number(&path)?, path))).collect()
    }

    /// Takes it away, if `is_meant` knows what is in it; says whether it did.
    pub fn remove_if(&self, is_meant: impl FnOnce(&str) -> bool) -> Result<bool, StoreError> {
        let found = match disk::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            read => read.doing("read", &self.path)?,
        };
        if !is_meant(&String::from_utf8_lossy(&found)) {
            return Ok(false);
        }
        match disk::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.doing("remove", &self.path).map(|()| true),
        }
    }
}

/// Makes a folder that is its owner's alone, if it is not there. One that is a link, or somebody else's, is an error.
pub fn private_folder(folder: &Path) -> Result<(), StoreError> {
    create_private_folders(folder)?;
    let found = fs::symlink_metadata(folder).doing("look at", folder)?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if !is_own {
        let why = "it is no folder of yours".to_owned();
        return Err(StoreError::BadContent { path: folder.to_owned(), why });
    }
    if found.mode() & 0o777 != 0o700 {
        disk::set_permissions(folder, Permissions::from_mode(0o700)).doing("set the mode of", folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_taken_away_only_if_it_is_the_one_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.json");
        let entry = PeerEntry::at(path.clone());
        assert!(!entry.remove_if(|_| true).unwrap(), "there is none");
        entry.write("ours").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(!entry.remove_if(|text| text == "another's").unwrap());
        assert!(entry.remove_if(|text| text == "ours").unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(PeerEntry::at(folder.path().join("none/7.json")).write("x").is_err(), "no registry is made");
    }

    #[test]
    fn a_folder_for_sockets_is_its_owners_alone() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("a/peers");
        private_folder(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        private_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(private_folder(&link).is_err());
    }
}
