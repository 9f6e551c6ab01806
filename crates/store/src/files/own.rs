//! Files of the user's own: settings, and what a long-lived process remembers. They are replaced whole, or appended to.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::{Staged, sync_folder};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::paths::create_private_folders;

/// Puts `text` in the place of a file, or makes it, with the mode that it had (else for its owner alone): whole or not at
/// all. Where the path is a link, the file that it leads to is replaced.
pub fn replace_own(path: &Path, text: &str) -> Result<(), StoreError> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("/"));
    create_private_folders(folder)?;
    let old = fs::metadata(&path).ok();
    Staged::write_beside(&path, old.as_ref(), &[text])?.commit()?;
    sync_folder(folder)
}

/// Appends `text` to a file that is `size` bytes long, and syncs it. Says whether it did: a file that is missing or of another
/// size is not as its writer left it. After an error, a part of the text may be there.
pub fn append_own(path: &Path, size: u64, text: &str) -> Result<bool, StoreError> {
    let file = match disk::open(OpenOptions::new().append(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.doing("open", path)?,
    };
    if file.metadata().doing("look at", path)?.len() != size {
        return Ok(false);
    }
    disk::write_all(&file, text.as_bytes()).doing("write", path)?;
    disk::sync_data(&file).doing("sync", path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_stays_and_so_does_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        replace_own(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        let made = folder.path().join("a/b.toml");
        replace_own(&made, "x").unwrap();
        assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn only_a_file_as_its_writer_left_it_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        assert!(!append_own(&path, 0, "one\n").unwrap());
        assert!(!path.exists(), "it is not made");
        replace_own(&path, "").unwrap();
        assert!(append_own(&path, 0, "one\n").unwrap());
        assert!(append_own(&path, 4, "two\n").unwrap());
        assert!(!append_own(&path, 4, "three\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        append_own(folder.path(), 0, "").unwrap_err();
    }
}
