//! Temp file, write, fsync, rename, fsync of the folder: the one place that writes shared files.
//!
//! After a crash at any instruction the file is either the old one or the new one, whole. What can be left over is
//! the temp file; its name is in the queue's note (see [`crate::lock`]), and the next writer of that inbox removes it.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::access::{Access, PRIVATE_FILE, PRIVATE_FOLDER};
use super::folder::{Folder, in_real_folder};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::fresh::fresh_id;
use crate::interrupt;

const TEMP_MARK: &str = ".atm-";

/// A complete, synced new version of a file, not yet in its place.
#[derive(Debug)]
pub(crate) struct Staged {
    folder: Folder,
    temp: PathBuf,
    target: PathBuf,
}

impl Staged {
    /// The name that a temp file for `target` will have: hidden, beside it, and recognisable.
    pub(crate) fn name_for(target: &Path) -> PathBuf {
        Self::name_with(target, fresh_id())
    }

    /// The same for the holder of `queue`: always the same name.
    pub(crate) fn name_in(target: &Path, queue: &Path) -> PathBuf {
        Self::name_with(target, Uuid::new_v5(&Uuid::NAMESPACE_URL, queue.as_os_str().as_encoded_bytes()))
    }

    fn name_with(target: &Path, id: Uuid) -> PathBuf {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        target.with_file_name(format!(".{name}{TEMP_MARK}{}", id.simple()))
    }

    /// Writes and syncs the new version under the name `temp`, with the old one's mode and owner; without an old one, for
    /// the owner alone, or for the folder's group as well.
    pub(crate) fn write<P: AsRef<[u8]>>(
        temp: PathBuf,
        target: &Path,
        old: Option<&Metadata>,
        pieces: &[P],
    ) -> Result<Self, StoreError> {
        let (staged, file) = Self::begin(temp, target, old)?;
        let mut writer = BufWriter::with_capacity(1 << 16, disk::Writer(file));
        for piece in pieces {
            writer.write_all(piece.as_ref()).doing("write", &staged.temp)?;
        }
        let disk::Writer(file) =
            writer.into_inner().map_err(io::IntoInnerError::into_error).doing("write", &staged.temp)?;
        if old.is_none() {
            let access = Access::inside(target.parent().unwrap_or(Path::new("/")));
            access.give(&file).doing("set the mode of", &staged.temp)?;
        }
        disk::sync_all(&file).doing("sync", &staged.temp)?;
        Ok(staged)
    }

    /// The same for a file that nobody else can be replacing, wherever its folder really is.
    pub(crate) fn write_beside<P: AsRef<[u8]>>(
        target: &Path,
        old: Option<&Metadata>,
        pieces: &[P],
    ) -> Result<Self, StoreError> {
        let target = in_real_folder(target)?;
        Self::write(Self::name_for(&target), &target, old, pieces)
    }

    /// Makes the empty temp file for such a file.
    pub(crate) fn begin_beside(target: &Path) -> Result<(Self, File), StoreError> {
        let target = in_real_folder(target)?;
        Self::begin(Self::name_for(&target), &target, None)
    }

    /// Creates the empty temp file; the caller fills and syncs it. Dropping the answer removes the file. The folder has
    /// to be named by its real path.
    pub(crate) fn begin(
        temp: PathBuf,
        target: &Path,
        old: Option<&Metadata>,
    ) -> Result<(Self, File), StoreError> {
        let mode = old.map_or(PRIVATE_FILE, |metadata| metadata.mode() & 0o7777);
        let folder = Folder::open(target.parent().unwrap_or(Path::new("/"))).doing("create", &temp)?;
        let create = || match folder.create_new(name_of(&temp), mode) {
            // It is our turn: only a dead one can have left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                folder.remove(name_of(&temp))?;
                folder.create_new(name_of(&temp), mode)
            }
            opened => opened,
        };
        let file = interrupt::create(&temp, create).doing("create", &temp)?;
        let staged = Self { folder, temp, target: target.to_owned() };
        if let Some(metadata) = old {
            keep_owner(&file, metadata.uid(), metadata.gid());
            if file.metadata().doing("look at", &staged.temp)?.mode() & 0o7777 != mode {
                disk::set_file_permissions(&file, Permissions::from_mode(mode))
                    .doing("set the mode of", &staged.temp)?;
            }
        }
        Ok((staged, file))
    }

    pub(crate) fn temp(&self) -> &Path {
        &self.temp
    }

    /// The instant of commit: the new version takes the old one's place.
    pub(crate) fn commit(self) -> Result<(), StoreError> {
        self.put_in_place()
    }

    /// The same, for a caller that decides what becomes of the temp file on an error.
    pub(crate) fn put_in_place(&self) -> Result<(), StoreError> {
        match self.folder.rename(name_of(&self.temp), name_of(&self.target)) {
            // Some network file systems report an error for a rename that they have carried out.
            Err(_) if self.temp.symlink_metadata().is_err() && self.target.exists() => Ok(()),
            renamed => renamed.doing("replace", &self.target),
        }
    }

    /// Leaves the temp file where it is, for the next writer to remove.
    pub(crate) fn leave(mut self) {
        interrupt::forget(&self.temp);
        self.temp.clear();
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.temp.as_os_str().is_empty() {
            return;
        }
        // After the rename there is nothing of that name any more.
        let _ = self.folder.remove(name_of(&self.temp));
        interrupt::forget(&self.temp);
    }
}

fn name_of(path: &Path) -> &Path {
    Path::new(path.file_name().unwrap_or_default())
}

/// Another user's file stays theirs where we may give it back (as root); otherwise it becomes ours, as with any editor.
/// Its group it keeps if we are in it.
fn keep_owner(file: &File, uid: u32, gid: u32) {
    let is_same = file.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (uid, gid));
    if !is_same && disk::fchown(file, Some(uid), Some(gid)).is_err() {
        let _ = disk::fchown(file, None, Some(gid));
    }
}

/// Whether a file name is one that [`Staged::name_for`] makes.
pub(crate) fn is_temp_of_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.')
        && name
            .rsplit_once(TEMP_MARK)
            .is_some_and(|(_, id)| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Makes a rename in `folder` survive a power cut, on file systems that can be asked to.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    match disk::open_to_read(folder).and_then(|handle| disk::sync_all(&handle)) {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced.doing("sync", folder),
    }
}

/// Creates `folder` if it is missing, but not its parents: a deleted team is not brought back to life by a send.
pub(crate) fn ensure_folder(folder: &Path) -> Result<(), StoreError> {
    ensure_folder_like(folder, folder.parent().unwrap_or(Path::new("/")))
}

/// The same; who may read it is told by another folder than the one that it is in.
pub(crate) fn ensure_folder_like(folder: &Path, like: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    match Access::inside(like).create_folder(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => {
            created.doing("create", folder)?;
            sync_folder(folder.parent().unwrap_or(Path::new("/")))
        }
    }
}

/// Writes a note of ours, for us alone. What it says can be found out again: it is not synced, and may fail.
pub(crate) fn write_note(path: &Path, text: &str) {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(PRIVATE_FILE);
    let _ = disk::open(options, path).and_then(|file| disk::write_all(&file, text.as_bytes()));
}

/// Removes a folder of ours with all that is in it, whatever the modes there are.
pub(crate) fn remove_folder(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let _ = disk::set_permissions(entry.path(), Permissions::from_mode(PRIVATE_FOLDER));
            remove_folder(&entry.path());
        }
    }
    let _ = disk::remove_dir_all(folder);
}

/// Renames a file or folder to a name that must be free.
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match disk::rename_new(from, to) {
        Err(rustix::io::Errno::EXIST) => Err(StoreError::Exists { path: to.to_owned() }),
        // Not every file system can be asked for it.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP)
            if !to.exists() =>
        {
            disk::rename(from, to).doing("put in place", to)
        }
        renamed => renamed.doing("put in place", to),
    }
}

/// Creates and syncs a file that must not exist yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let file = disk::open(OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE), path)
        .doing("create", path)?;
    let written = disk::write_all(&file, bytes).and_then(|()| disk::sync_all(&file)).doing("write", path);
    if written.is_err() {
        let _ = disk::remove_file(path);
    }
    written
}

/// The real file behind `path`: links are followed, also one whose target is yet to be made.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, StoreError> {
    let mut real = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&real) {
            Ok(target) => real = real.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(real),
        }
    }
    Err(StoreError::bad(path, "is a link that leads to itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temp_names_are_recognised_and_others_are_not() {
        assert!(is_temp_of_ours(&Staged::name_for(Path::new("/x/bob.json"))));
        for other in ["bob.json", ".bob.json", "bob.json.tmp.0123abcd", ".x.atm-", ".x.atm-nothex"] {
            assert!(!is_temp_of_ours(Path::new(other)), "{other}");
        }
    }

    #[test]
    fn dropping_a_staged_file_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().canonicalize().unwrap().join("bob.json");
        drop(Staged::write(Staged::name_for(&target), &target, None, &["[]"]).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn mode_is_kept_and_new_files_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().canonicalize().unwrap().join("bob.json");
        for wanted in [0o600, 0o644, 0o440] {
            if wanted != 0o600 {
                fs::set_permissions(&target, Permissions::from_mode(wanted)).unwrap();
            }
            let old = fs::metadata(&target).ok();
            let staged = Staged::write(Staged::name_for(&target), &target, old.as_ref(), &["[", "]"]);
            staged.unwrap().commit().unwrap();
            assert_eq!(target.metadata().unwrap().mode() & 0o777, wanted);
        }
    }

    #[test]
    fn links_are_followed_even_when_dangling() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        assert_eq!(resolve(&link).unwrap(), folder.path().join("real.json"));
        std::os::unix::fs::symlink("loop", folder.path().join("loop")).unwrap();
        assert!(resolve(&folder.path().join("loop")).is_err());
    }
}
