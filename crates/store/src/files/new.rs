//! A new file: it is there whole, for its owner alone, or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Staged, sync_folder};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::interrupt;

/// A file that is being written beside its place. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    target: PathBuf,
    force: bool,
    staged: Staged,
    file: BufWriter<disk::Writer<File>>,
}

impl NewFile {
    /// Whether such a file may be made: there is none, or it may be replaced.
    pub fn check(target: &Path, force: bool) -> Result<(), StoreError> {
        match target.metadata() {
            Ok(_) if !force => Err(StoreError::Exists { path: target.to_owned() }),
            // `/dev/null` must not become a file.
            Ok(there) if !there.is_file() => Err(StoreError::bad(target, "is not a regular file")),
            _ => Ok(()),
        }
    }

    /// Begins one.
    pub fn begin(target: &Path, force: bool) -> Result<Self, StoreError> {
        Self::check(target, force)?;
        let (staged, file) = Staged::begin_beside(target)?;
        let file = BufWriter::with_capacity(1 << 16, disk::Writer(file));
        Ok(Self { target: target.to_owned(), force, staged, file })
    }

    /// Syncs it and puts it in place. Gives its size.
    pub fn finish(self) -> Result<u64, StoreError> {
        let Self { target, force, staged, file } = self;
        let synced = || -> io::Result<u64> {
            let disk::Writer(file) = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            disk::sync_all(&file)?;
            Ok(file.metadata()?.len())
        };
        let size = synced().doing("write", staged.temp())?;
        let _critical = interrupt::critical();
        Self::check(&target, force)?;
        staged.commit()?;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new(".")))?;
        Ok(size)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
