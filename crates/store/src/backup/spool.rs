//! Copies of files, one behind the other, in a file that has no name: it is gone with the process, however that ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use atm_wire::backup::hex;
use sha2::{Digest, Sha256};

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::interrupt;

const PIECE: usize = 1 << 16;

/// The copies.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    /// Where it was made, for errors.
    path: PathBuf,
    length: u64,
}

/// One copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) sha256: String,
}

impl Spool {
    /// In the same folder as `beside`, where there has to be room for what is made of it.
    pub(super) fn new(beside: &Path) -> Result<Self, StoreError> {
        let path = Staged::name_for(beside);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = interrupt::create(&path, || disk::open(&options, &path)).doing("create", &path)?;
        disk::remove_file(&path).doing("remove", &path)?;
        interrupt::forget(&path);
        Ok(Self { file, path, length: 0 })
    }

    /// How much was copied.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Forgets the copies from `length` on.
    pub(super) fn truncate(&mut self, length: u64) {
        self.length = length;
    }

    /// Copies at most `most` bytes of what is read from `path`.
    pub(super) fn take(
        &mut self,
        mut source: impl Read,
        path: &Path,
        most: u64,
    ) -> Result<Piece, StoreError> {
        let start = self.length;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; PIECE];
        let mut left = most;
        while left > 0 {
            interrupt::check().doing("read", path)?;
            let room = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
            let read = match source.read(&mut buffer[..room]) {
                Ok(0) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.doing("read", path)?,
            };
            hasher.update(&buffer[..read]);
            disk::write_all_at(&self.file, &buffer[..read], self.length).doing("write", &self.path)?;
            self.length += read as u64;
            left -= read as u64;
        }
        Ok(Piece { start, size: self.length - start, sha256: hex(&hasher.finalize()) })
    }

    /// A handle to compare with.
    pub(super) fn handle(&self) -> Result<File, StoreError> {
        self.file.try_clone().doing("open", &self.path)
    }

    /// A copy, to be read.
    pub(super) fn read(&self, piece: &Piece) -> impl Read + '_ {
        Copied { file: &self.file, at: piece.start, end: piece.start + piece.size }
    }
}

/// The hash of a file.
pub(super) fn hash(mut file: &File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; PIECE];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

struct Copied<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Copied<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..room], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
