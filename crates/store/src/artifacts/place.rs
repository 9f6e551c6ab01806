//! A folder that is held open, and what is directly in it: no link is followed from here on.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::disk::{self, Op};
use crate::error::{IoContext, StoreError};
use crate::files::{Access, Staged};
use crate::interrupt;
use crate::lock::queue::Queue;

/// An open folder.
#[derive(Debug)]
pub(super) struct Place {
    folder: OwnedFd,
    path: PathBuf,
}

impl Place {
    /// The folder at `path`, links included; `None` if there is none.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = found(rustix::fs::open(path, flags, Mode::empty()), path)?;
        Ok(folder.map(|folder| Self { folder, path: path.to_owned() }))
    }

    /// A folder in this one.
    pub(super) fn folder(&self, name: &str) -> Result<Option<Self>, StoreError> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = found(rustix::fs::openat(&self.folder, name, flags, Mode::empty()), &path)?;
        Ok(folder.map(|folder| Self { folder, path }))
    }

    /// The names of all that is in it.
    pub(super) fn names(&self) -> Result<Vec<String>, StoreError> {
        let entries = rustix::fs::Dir::read_from(&self.folder).doing("list", &self.path)?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(ToOwned::to_owned));
        Ok(names.filter(|name| name != "." && name != "..").collect())
    }

    /// A plain file in this folder, open for reading.
    pub(super) fn file(&self, name: &str) -> Result<Option<File>, StoreError> {
        let path = self.path.join(name);
        // A pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Some(file) = found(rustix::fs::openat(&self.folder, name, flags, Mode::empty()), &path)? else {
            return Ok(None);
        };
        let file = File::from(file);
        if file.metadata().doing("look at", &path)?.is_file() {
            Ok(Some(file))
        } else {
            Err(StoreError::bad(&path, "is not a plain file"))
        }
    }

    /// Puts a new file in its place: temp file, sync, rename, sync of the folder. The queue's note names the temp file
    /// for our successor in the queue, should we die.
    pub(super) fn put(&self, name: &str, content: &mut impl Read, queue: &Queue) -> Result<u64, StoreError> {
        let path = self.path.join(name);
        let temp = Staged::name_for(&path);
        queue.note(&temp);
        let guard = Temp { place: self, path: &temp };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || Ok(rustix::fs::openat(&self.folder, guard.name(), flags, Mode::RUSR | Mode::WUSR)?);
        let make = || disk::run(Op::Open(&temp), create);
        let file = File::from(interrupt::create(&temp, make).doing("create", &temp)?);
        Access::inside(&self.path).give(&file).doing("set the mode of", &temp)?;
        let size = io::copy(content, &mut disk::Writer(&file)).doing("write", &temp)?;
        disk::sync_all(&file).doing("sync", &temp)?;
        let rename = || Ok(rustix::fs::renameat(&self.folder, guard.name(), &self.folder, name)?);
        disk::run(Op::Rename(&temp, &path), rename).doing("replace", &path)?;
        match rustix::fs::fsync(&self.folder) {
            Err(Errno::INVAL | Errno::NOTSUP) => {}
            synced => synced.doing("sync", &self.path)?,
        }
        Ok(size)
    }
}

/// A temp file that goes, unless it was renamed.
struct Temp<'a> {
    place: &'a Place,
    path: &'a Path,
}

impl Temp<'_> {
    fn name(&self) -> &std::ffi::OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        let remove = || Ok(rustix::fs::unlinkat(&self.place.folder, self.name(), AtFlags::empty())?);
        let _ = disk::run(Op::RemoveFile(self.path), remove);
        interrupt::forget(self.path);
    }
}

/// What was opened; `None` if there is nothing of that name, and an error that says so for a link.
fn found(opened: rustix::io::Result<OwnedFd>, path: &Path) -> Result<Option<OwnedFd>, StoreError> {
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => {
            Err(StoreError::bad(path, "is a link, and links are not followed here"))
        }
        Err(error) => Err(error).doing("open", path),
    }
}
