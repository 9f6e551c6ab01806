//! A folder that is held open: what is made and renamed in it stays in it, wherever its path leads meanwhile.
//!
//! Between the look at where a file really is and its rename, somebody who may write in the same folders could put a
//! link in the place of one of them. So a folder is opened by its real path, in which no link is followed, and everything
//! after that happens relative to the handle.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::disk::{self, Op};
use crate::error::{IoContext, StoreError};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which is its real one: a link in it is an error.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let handle = disk::run(Op::OpenToRead(path), || open_without_links(path))?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Makes a file that must not exist yet.
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::useless_conversion, reason = "a mode has 16 bits elsewhere")
    )]
    pub(crate) fn create_new(&self, name: &Path, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_bits_truncate(mode.try_into().unwrap_or(0o600));
        let create = || Ok(File::from(rustix::fs::openat(&self.handle, name, flags, mode)?));
        disk::run(Op::Open(&self.path.join(name)), create)
    }

    /// Renames a file within the folder.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let rename = || Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?);
        disk::run(Op::Rename(&self.path.join(from), &self.path.join(to)), rename)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &Path) -> io::Result<()> {
        let remove = || Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?);
        disk::run(Op::RemoveFile(&self.path.join(name)), remove)
    }
}

/// `path` with the real path of the folder that it is in.
pub(crate) fn in_real_folder(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize().doing("look at", folder)?.join(path.file_name().unwrap_or_default()))
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    use rustix::io::Errno;
    match openat2(CWD, path, FLAGS, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => open_and_compare(path),
        opened => Ok(opened?),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path) -> io::Result<OwnedFd> {
    open_and_compare(path)
}

/// Opens the folder, and looks afterwards whether its path is still the real one and still leads to it.
fn open_and_compare(path: &Path) -> io::Result<OwnedFd> {
    let handle = rustix::fs::open(path, FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
    let (held, there) = (File::from(handle.try_clone()?).metadata()?, path.symlink_metadata()?);
    if path.canonicalize()? != path || (held.dev(), held.ino()) != (there.dev(), there.ino()) {
        return Err(rustix::io::Errno::LOOP.into());
    }
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_on_the_way_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("real/inner")).unwrap();
        symlink("real", place.join("link")).unwrap();
        for open in [open_without_links, open_and_compare] {
            assert!(open(&place.join("real/inner")).is_ok());
            assert!(open(&place.join("link")).is_err());
            assert!(open(&place.join("link/inner")).is_err());
            assert_eq!(open(&place.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert_eq!(in_real_folder(&place.join("link/inner/x")).unwrap(), place.join("real/inner/x"));
    }

    #[test]
    fn what_happens_in_it_stays_in_it() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (inboxes, precious) = (place.join("inboxes"), place.join("precious"));
        for folder in [&inboxes, &precious] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("bob.json"), "old").unwrap();
        }
        let folder = Folder::open(&inboxes).unwrap();
        folder.create_new(Path::new("temp"), 0o600).unwrap();
        fs::rename(&inboxes, place.join("moved")).unwrap();
        symlink(&precious, &inboxes).unwrap();
        folder.rename(Path::new("temp"), Path::new("bob.json")).unwrap();
        assert_eq!(fs::read(precious.join("bob.json")).unwrap(), b"old");
        assert_eq!(fs::read(place.join("moved/bob.json")).unwrap(), b"");
    }
}
