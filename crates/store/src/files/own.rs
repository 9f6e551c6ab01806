//! Files of the user's own that are replaced whole: settings.

use std::fs;
use std::path::Path;

use super::{Staged, sync_folder};
use crate::error::StoreError;
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
}
