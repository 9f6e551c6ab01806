//! Reading the file of a backup, which may be from anywhere: nothing in it is believed.
//!
//! What is refused: paths that lead elsewhere, links and devices, a file twice, one that the manifest does not name, one
//! that it names and that is not there, other sizes, other hashes, and more than is allowed when it is unpacked.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use atm_wire::backup::{FileEntry, FolderEntry, MANIFEST, Manifest, Place, hex};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tar::{Entry, EntryType};

use super::Progress;
use crate::error::{IoContext, StoreError};
use crate::files;
use crate::interrupt;

/// The largest manifest.
const LARGEST_MANIFEST: u64 = 256 << 20;
/// The longest name, which a tar has in an entry of its own.
const LONGEST_NAME: u64 = 8192;
/// What a file or folder may take beside its bytes: headers, a long name, padding.
const OVERHEAD: u64 = 16 << 10;
/// What stands behind the last file at most.
const TAIL: u64 = 1 << 20;
/// How much all files together may have, unless it is said.
const MOST: u64 = 16 << 30;
/// From this size on, how much smaller a file is when it is packed counts.
const SMALL: u64 = 256 << 20;
/// Mail is packed to a tenth or a hundredth.
const LARGEST_RATIO: u64 = 1000;

/// How much a backup may hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// All of its files together, in bytes. If it is not said: 16 GiB, and no more than a thousand times what it has
    /// packed.
    pub most: Option<u64>,
}

/// What is done with the content of a backup, once its manifest is known.
pub(super) trait Sink {
    fn begin(&mut self, manifest: &Manifest) -> Result<(), StoreError>;
    fn folder(&mut self, folder: &FolderEntry) -> Result<(), StoreError>;
    fn file(&mut self, file: &FileEntry, content: &mut dyn Read) -> Result<(), StoreError>;
}

/// Reads a backup's manifest and nothing else: what it says is not checked yet.
pub fn manifest(backup: &Path) -> Result<Manifest, StoreError> {
    let (reading, source, _) = Reading::open(backup)?;
    let mut tar = tar::Archive::new(source);
    let mut entries = reading.sound(tar.entries())?.raw(true);
    reading.manifest(&mut entries)
}

/// Reads the whole backup, checks everything, and gives its manifest.
pub fn check(backup: &Path, limits: Limits, progress: Progress) -> Result<Manifest, StoreError> {
    struct Nothing;
    impl Sink for Nothing {
        fn begin(&mut self, _: &Manifest) -> Result<(), StoreError> {
            Ok(())
        }
        fn folder(&mut self, _: &FolderEntry) -> Result<(), StoreError> {
            Ok(())
        }
        fn file(&mut self, _: &FileEntry, content: &mut dyn Read) -> Result<(), StoreError> {
            io::copy(content, &mut io::sink()).map(drop).doing("read", Path::new(MANIFEST))
        }
    }
    unpack(backup, limits, &mut Nothing, progress)
}

/// Hands all that is in a backup to `sink`. When this is done, everything is as the manifest says.
pub(super) fn unpack(
    backup: &Path,
    limits: Limits,
    sink: &mut dyn Sink,
    progress: Progress,
) -> Result<Manifest, StoreError> {
    let (reading, source, packed) = Reading::open(backup)?;
    let mut tar = tar::Archive::new(source);
    // As they stand: a long name, for one, would be read into memory however long it is.
    let mut entries = reading.sound(tar.entries())?.raw(true);
    let manifest = reading.manifest(&mut entries)?;
    reading.allow(&manifest, limits, packed)?;
    sink.begin(&manifest)?;
    let folders: HashMap<&[u8], &FolderEntry> =
        manifest.folders.iter().map(|folder| (folder.path.as_bytes(), folder)).collect();
    let files: HashMap<&[u8], &FileEntry> =
        manifest.files.iter().map(|file| (file.path.as_bytes(), file)).collect();
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut done = 0;
    while let Some((name, kind, mut entry)) = reading.next(&mut entries)? {
        // What leads elsewhere is told as such, whether the manifest names it or not.
        let place = Place::parse(&name).map_err(|why| reading.bad(why))?;
        if !matches!(kind, EntryType::Regular | EntryType::Directory) {
            return Err(reading.bad(format!("{place} is {}, not a file", kind_of(kind))));
        }
        if !seen.insert(name.clone()) {
            return Err(reading.bad(format!("{place} is in it twice")));
        }
        match (kind, folders.get(name.as_slice()), files.get(name.as_slice())) {
            (EntryType::Directory, Some(folder), _) => sink.folder(folder)?,
            (EntryType::Regular, _, Some(file)) => {
                reading.file(file, &mut entry, sink)?;
                done += file.size;
                progress(done, manifest.total());
            }
            _ => return Err(reading.bad(format!("{place} is not in its manifest"))),
        }
    }
    let missing = files.keys().chain(folders.keys()).find(|name| !seen.contains(**name));
    if let Some(missing) = missing {
        return Err(reading.bad(format!("{} is missing in it", String::from_utf8_lossy(missing))));
    }
    Ok(manifest)
}

/// How a backup is read, and how much more of it may come.
pub(super) struct Reading<'a> {
    backup: &'a Path,
    budget: Rc<Cell<u64>>,
}

pub(super) type Next<'a> = (Vec<u8>, EntryType, Entry<'a, Limited>);

impl<'a> Reading<'a> {
    /// The file, unpacked as it is read, and its size.
    fn open(backup: &'a Path) -> Result<(Self, Limited, u64), StoreError> {
        let reading = Reading { backup, budget: Rc::new(Cell::new(LARGEST_MANIFEST + OVERHEAD)) };
        let Some((file, metadata)) = files::open(backup)? else {
            let missing = io::Error::from(rustix::io::Errno::NOENT);
            return Err(missing).doing("open", backup);
        };
        let source = Limited { source: reading.sound(decoder(file))?, left: Rc::clone(&reading.budget) };
        Ok((reading, source, metadata.len()))
    }

    /// A tar that may be anybody's, which gives out no more than a backup may hold.
    pub(super) fn plain(
        backup: &'a Path,
        limits: Limits,
    ) -> Result<(Self, tar::Archive<Limited>), StoreError> {
        let (reading, source, packed) = Self::open(backup)?;
        let ratio = packed.saturating_mul(LARGEST_RATIO).max(SMALL);
        reading.budget.set(limits.most.unwrap_or(MOST.min(ratio)).saturating_add(TAIL));
        Ok((reading, tar::Archive::new(source)))
    }

    /// The first entry.
    fn manifest(&self, entries: &mut tar::Entries<'_, Limited>) -> Result<Manifest, StoreError> {
        match self.next(entries) {
            Ok(Some((name, EntryType::Regular, mut entry))) if name == MANIFEST.as_bytes() => {
                if entry.size() > LARGEST_MANIFEST {
                    return Err(self.bad("its manifest is too large"));
                }
                let mut text = Vec::new();
                self.sound(entry.read_to_end(&mut text))?;
                Manifest::parse(&text).map_err(|why| self.bad(why))
            }
            Err(error @ StoreError::Io { .. }) => Err(error),
            _ => Err(self.bad("it does not begin with a manifest: it is no backup of a team")),
        }
    }

    pub(super) fn bad(&self, why: impl Into<String>) -> StoreError {
        StoreError::BadBackup { path: self.backup.to_owned(), why: why.into() }
    }

    /// What the disk says is the disk's trouble; all else is the backup's.
    pub(super) fn sound<T>(&self, read: io::Result<T>) -> Result<T, StoreError> {
        match read {
            Err(error) if error.raw_os_error().is_some() => Err(error).doing("read", self.backup),
            Err(_) if self.budget.get() == 0 => Err(self.bad("there is more in it than it says")),
            Err(error) => Err(self.bad(format!("it is damaged: {error}"))),
            Ok(value) => Ok(value),
        }
    }

    /// The next entry with its whole name.
    pub(super) fn next<'e>(
        &self,
        entries: &mut tar::Entries<'e, Limited>,
    ) -> Result<Option<Next<'e>>, StoreError> {
        let mut long = None;
        loop {
            let Some(entry) = entries.next() else {
                return if long.is_none() { Ok(None) } else { Err(self.bad("it ends after a name")) };
            };
            let mut entry = self.sound(entry)?;
            let kind = entry.header().entry_type();
            if kind != EntryType::GNULongName {
                let name = long.unwrap_or_else(|| entry.path_bytes().into_owned());
                return Ok(Some((name, kind, entry)));
            }
            if long.is_some() || entry.size() > LONGEST_NAME {
                return Err(self.bad("a name in it is too long"));
            }
            let mut name = Vec::new();
            self.sound(entry.read_to_end(&mut name))?;
            if name.last() == Some(&0) {
                name.pop();
            }
            long = Some(name);
        }
    }

    /// Refuses what is too much, and lets come what the manifest names.
    fn allow(&self, manifest: &Manifest, limits: Limits, packed: u64) -> Result<(), StoreError> {
        let total = manifest.total();
        if total > limits.most.unwrap_or(MOST) {
            let more = "--max-size allows more";
            return Err(
                self.bad(format!("it has {total} bytes when it is unpacked, which is too much; {more}"))
            );
        }
        if limits.most.is_none() && total > SMALL && total / packed.max(1) > LARGEST_RATIO {
            let times = total / packed.max(1);
            return Err(self.bad(format!(
                "it becomes {times} times as large when it is unpacked, which no mail does; --max-size allows it"
            )));
        }
        let entries = (manifest.files.len() + manifest.folders.len()) as u64;
        self.budget.set(total.saturating_add(entries.saturating_mul(OVERHEAD)).saturating_add(TAIL));
        Ok(())
    }

    fn file(
        &self,
        file: &FileEntry,
        entry: &mut Entry<Limited>,
        sink: &mut dyn Sink,
    ) -> Result<(), StoreError> {
        if entry.size() != file.size {
            let there = entry.size();
            let FileEntry { path, size, .. } = file;
            return Err(self.bad(format!("{path} has {there} bytes, and {size} in its manifest")));
        }
        let mut content = Hashed { source: entry, hasher: Sha256::new(), size: 0, error: None };
        let done = sink.file(file, &mut content);
        let Hashed { hasher, size, error, .. } = content;
        // An error of the reading is more telling than what the writer makes of it.
        error.map_or(Ok(()), |error| self.sound(Err(error)))?;
        done?;
        if size != file.size {
            return Err(self.bad(format!("it ends in the middle of {}", file.path)));
        }
        if hex(&hasher.finalize()) != file.sha256 {
            return Err(self.bad(format!("{} was changed: it has another hash in its manifest", file.path)));
        }
        Ok(())
    }
}

/// What the entry of a tar is, for people.
pub(super) fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        _ => "something else",
    }
}

/// Unpacks by what the first bytes say.
fn decoder(file: File) -> io::Result<Box<dyn Read>> {
    let mut start = [0; 4];
    let length = file.read_at(&mut start, 0)?;
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(match start.get(..length) {
        Some([0x1f, 0x8b, ..]) => Box::new(MultiGzDecoder::new(file)),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    })
}

/// Gives out no more than is allowed.
pub(super) struct Limited {
    source: Box<dyn Read>,
    left: Rc<Cell<u64>>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 && !buffer.is_empty() {
            return Err(io::Error::other("too much"));
        }
        interrupt::check()?;
        let read = self.source.read(&mut buffer[..room])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

struct Hashed<'a, R> {
    source: &'a mut R,
    hasher: Sha256,
    size: u64,
    error: Option<io::Error>,
}

impl<R: Read> Read for Hashed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.source.read(buffer) {
            Ok(read) => {
                self.hasher.update(&buffer[..read]);
                self.size += read as u64;
                Ok(read)
            }
            Err(error) => {
                let told = io::Error::new(error.kind(), error.to_string());
                self.error = Some(error);
                Err(told)
            }
        }
    }
}
