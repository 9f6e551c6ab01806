//! The seam between the store and the file system: every operation that changes or syncs anything, and every read whose
//! failure matters, is called by a function of this module.
//!
//! In a release build they are the system's own operations and nothing else. With the feature `faults`, which only tests
//! turn on, a test decides before each operation whether it happens or fails, and sees what happened: see `faults`.
//! Clippy refuses the direct calls elsewhere in this crate (`clippy.toml`).

#![allow(clippy::disallowed_methods, reason = "this is the one place for them")]

#[cfg(feature = "faults")]
pub mod faults;

use std::borrow::Borrow;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
#[cfg(not(feature = "faults"))]
use std::time::Duration;
use std::time::SystemTime;

/// An operation that is about to happen.
#[derive(Debug, Clone, Copy)]
pub enum Op<'a> {
    /// A file is opened to be written to, and perhaps made.
    Open(&'a Path),
    /// A file or folder is opened to be read or synced.
    OpenToRead(&'a Path),
    /// Bytes are read.
    Read(&'a Path),
    /// Bytes are written: here, or where the file's own position is.
    Write(&'a File, Option<u64>, &'a [u8]),
    /// A file is made shorter, or longer by zeroes.
    SetLength(&'a File, u64),
    /// A file, or a folder's names, are brought to the disk.
    Sync(&'a File),
    /// A file or folder gets another name, which may be taken.
    Rename(&'a Path, &'a Path),
    /// A file or folder gets another name, which has to be free.
    RenameNew(&'a Path, &'a Path),
    /// A folder is made.
    CreateFolder(&'a Path),
    /// A folder and its missing parents are made.
    CreateFolders(&'a Path),
    /// An empty folder is removed.
    RemoveFolder(&'a Path),
    /// A folder is removed with all that is in it.
    RemoveTree(&'a Path),
    /// A file is removed.
    RemoveFile(&'a Path),
    /// Mode, owner or time of what stands here are set.
    SetAttributes(&'a Path),
    /// Mode, owner or time of a file are set.
    SetFileAttributes(&'a File),
    /// An `flock` is tried.
    Lock(&'a File),
}

/// Does `real`, unless a test wants otherwise.
#[cfg(not(feature = "faults"))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "nothing may be left of the seam")]
pub(crate) fn run<T>(_: Op, real: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    real()
}

#[cfg(feature = "faults")]
pub(crate) use faults::run;

pub(crate) fn open(options: &OpenOptions, path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    run(Op::Open(path), || options.open(path))
}

pub(crate) fn open_to_read(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    run(Op::OpenToRead(path), || File::open(path))
}

/// The same with options that do not write.
pub(crate) fn open_to_read_with(options: &OpenOptions, path: &Path) -> io::Result<File> {
    run(Op::OpenToRead(path), || options.open(path))
}

pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    run(Op::Read(path), || fs::read(path))
}

pub(crate) fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let path = path.as_ref();
    run(Op::Read(path), || fs::read_to_string(path))
}

/// Reads on from a file's position. `path` says in reports which file it is.
pub(crate) fn read_to_end(mut file: impl Read, path: &Path, bytes: &mut Vec<u8>) -> io::Result<usize> {
    run(Op::Read(path), || file.read_to_end(bytes))
}

/// Replaces a file's content in place.
pub(crate) fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_all(&open(OpenOptions::new().write(true).create(true).truncate(true), path)?, bytes.as_ref())
}

/// Writes at the file's position, perhaps only the first of the bytes.
pub(crate) fn write_some(file: &File, bytes: &[u8]) -> io::Result<usize> {
    write_as(file, None, bytes, |bytes| { file }.write(bytes))
}

pub(crate) fn write_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    Writer(file).write_all(bytes)
}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match write_as(file, Some(at), bytes, |bytes| file.write_at(bytes, at)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                at += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(not(feature = "faults"))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "nothing may be left of the seam")]
fn write_as(
    _: &File,
    _: Option<u64>,
    bytes: &[u8],
    real: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    real(bytes)
}

#[cfg(feature = "faults")]
use faults::write_as;

/// A file for whatever writes to a [`Write`].
#[derive(Debug)]
pub(crate) struct Writer<F>(pub(crate) F);

impl<F: Borrow<File>> Write for Writer<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_some(self.0.borrow(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn set_len(file: &File, length: u64) -> io::Result<()> {
    run(Op::SetLength(file, length), || file.set_len(length))
}

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    run(Op::Sync(file), || file.sync_all())
}

pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    run(Op::Sync(file), || file.sync_data())
}

pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref(), to.as_ref());
    run(Op::Rename(from, to), || fs::rename(from, to))
}

/// Renames to a name that has to be free, where the file system can be asked for that.
pub(crate) fn rename_new(from: &Path, to: &Path) -> rustix::io::Result<()> {
    let (here, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::NOREPLACE);
    let renamed =
        run(Op::RenameNew(from, to), || Ok(rustix::fs::renameat_with(here, from, here, to, flags)?));
    renamed.map_err(|error| rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO))
}

/// Makes a folder that must not exist yet.
pub(crate) fn create_dir(mode: u32, path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::CreateFolder(path), || DirBuilder::new().mode(mode).create(path))
}

/// Makes a folder and its parents, where they are missing.
pub(crate) fn create_dir_all(mode: u32, path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::CreateFolders(path), || DirBuilder::new().recursive(true).mode(mode).create(path))
}

pub(crate) fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::RemoveFolder(path), || fs::remove_dir(path))
}

pub(crate) fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::RemoveTree(path), || fs::remove_dir_all(path))
}

pub(crate) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::RemoveFile(path), || fs::remove_file(path))
}

pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    run(Op::Open(to), || fs::copy(from, to))
}

pub(crate) fn set_permissions(path: impl AsRef<Path>, to: Permissions) -> io::Result<()> {
    let path = path.as_ref();
    run(Op::SetAttributes(path), || fs::set_permissions(path, to))
}

pub(crate) fn set_file_permissions(file: &File, to: Permissions) -> io::Result<()> {
    run(Op::SetFileAttributes(file), || file.set_permissions(to))
}

pub(crate) fn chown(path: &Path, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    run(Op::SetAttributes(path), || std::os::unix::fs::chown(path, user, group))
}

pub(crate) fn fchown(file: &File, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    run(Op::SetFileAttributes(file), || std::os::unix::fs::fchown(file, user, group))
}

pub(crate) fn set_modified(file: &File, to: SystemTime) -> io::Result<()> {
    run(Op::SetFileAttributes(file), || file.set_modified(to))
}

/// Waits for other programs to do something. A test whose own the files are does not wait.
#[cfg(not(feature = "faults"))]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(feature = "faults")]
pub(crate) use faults::pause;

/// Takes an `flock` if it is free.
pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    let mut is_held = false;
    let tried = run(Op::Lock(file), || match file.try_lock() {
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => {
            is_held = true;
            Ok(())
        }
        Ok(()) => Ok(()),
    });
    match tried {
        Err(error) => Err(TryLockError::Error(error)),
        Ok(()) if is_held => Err(TryLockError::WouldBlock),
        Ok(()) => Ok(()),
    }
}
