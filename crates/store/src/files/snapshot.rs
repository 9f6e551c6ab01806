//! A file's bytes together with what tells whether it is still the same file.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::disk;
use crate::error::{IoContext, StoreError};

/// Kernels stamp changes with a clock that ticks every 1 to 10 ms: two changes in one tick have one mtime.
pub(crate) const TICK: Duration = Duration::from_millis(11);
/// From this size on, bytes are compared before the locks are taken, if they have to be at all.
const LARGE: u64 = 1 << 16;
/// How much is compared at a time.
const PIECE: usize = 1 << 16;
/// Some file systems keep whole seconds, or pairs of them.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Which file it was, and which version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    mtime: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether a change right after `now` could leave the mtime as it is.
    fn is_young(&self, now: SystemTime) -> bool {
        is_young(self.mtime, now)
    }
}

/// Whether a change right after `now` could leave an mtime, in seconds and nanoseconds, as it is.
pub(crate) fn is_young((seconds, nanos): (i64, i64), now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else { return true };
    let tick = if nanos == 0 { COARSE_TICK } else { TICK };
    now.checked_sub(Duration::new(seconds, nanos)).is_none_or(|age| age < tick)
}

/// A file as it was at one moment; `None` inside means that there was none.
#[derive(Debug)]
pub(crate) struct Snapshot {
    file: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    identity: Identity,
    metadata: Metadata,
    kept: Kept,
    /// Stays open until the commit is over: a rename over a file that nobody has open frees its blocks there and
    /// then, which for 10 MB takes milliseconds that a client would wait for us.
    file: File,
    /// Too young for its mtime to betray the next change: then only the bytes can.
    young: bool,
}

/// The bytes that were read.
#[derive(Debug)]
enum Kept {
    /// Not at all: the file was old enough for its time to tell of a change.
    Nothing,
    Memory(Vec<u8>),
    /// In another file, which has `gap` bytes more from `split` on.
    Copy {
        file: File,
        split: u64,
        gap: u64,
    },
}

impl Snapshot {
    pub(crate) fn read(path: &Path) -> Result<Self, StoreError> {
        let now = SystemTime::now();
        let Some((file, metadata)) = open(path)? else { return Ok(Self { file: None }) };
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        disk::read_to_end(&file, path, &mut bytes).doing("read", path)?;
        Self::seen(path, file, metadata, now, Kept::Memory(bytes))
    }

    /// No file.
    pub(crate) fn missing() -> Self {
        Self { file: None }
    }

    /// A file that was opened by [`open`] at `opened` and copied since, with `gap` bytes put in at `split`.
    pub(crate) fn copied(
        path: &Path,
        (file, metadata): (File, Metadata),
        opened: SystemTime,
        copy: File,
        split: u64,
        gap: u64,
    ) -> Result<Self, StoreError> {
        Self::seen(path, file, metadata, opened, Kept::Copy { file: copy, split, gap })
    }

    /// A file that was opened by [`open`] at `opened`, when it was settled, and read since without keeping its bytes.
    pub(crate) fn unkept(
        path: &Path,
        (file, metadata): (File, Metadata),
        opened: SystemTime,
    ) -> Result<Self, StoreError> {
        Self::seen(path, file, metadata, opened, Kept::Nothing)
    }

    fn seen(
        path: &Path,
        file: File,
        metadata: Metadata,
        opened: SystemTime,
        kept: Kept,
    ) -> Result<Self, StoreError> {
        let identity = Identity::of(&metadata);
        // A writer was at work while we read: these bytes are no version of the file. They may serve as a first
        // look; the comparison at the commit will fail.
        let changed = Identity::of(&file.metadata().doing("look at", path)?) != identity;
        let young = identity.is_young(opened) || changed;
        Ok(Self { file: Some(Seen { identity, metadata, kept, file, young }) })
    }

    /// The content, where it was read into memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.file.as_ref()?.kept {
            Kept::Memory(bytes) => Some(bytes),
            Kept::Copy { .. } | Kept::Nothing => None,
        }
    }

    /// Which version of the file it is.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.file.as_ref().map(|seen| seen.identity)
    }

    /// The same, unless the next change might leave that as it is.
    pub(crate) fn settled_identity(&self) -> Option<Identity> {
        self.file.as_ref().filter(|seen| !seen.young).map(|seen| seen.identity)
    }

    /// Another handle of the file, which stays that file when its name is given to another.
    pub(crate) fn handle(&self) -> Option<io::Result<File>> {
        self.file.as_ref().map(|seen| seen.file.try_clone())
    }

    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.file.as_ref().map(|seen| &seen.metadata)
    }

    /// Whether `path` still holds what was read.
    pub(crate) fn is_current(&self, path: &Path) -> Result<bool, StoreError> {
        let now = match path.metadata() {
            Ok(metadata) => Some(Identity::of(&metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).doing("look at", path),
        };
        Ok(match (&self.file, now) {
            (None, None) => true,
            (Some(seen), Some(now)) if seen.identity == now => {
                !seen.young || seen.has_same_bytes().doing("read", path)?
            }
            _ => false,
        })
    }

    /// Looks again while no lock is held, so that the look under the lock need not read the bytes of a large file
    /// whose mtime has come of age meanwhile.
    pub(crate) fn settle(&mut self, path: &Path) -> Result<(), StoreError> {
        let now = SystemTime::now();
        let Some(seen) = self.file.as_mut().filter(|seen| seen.young && seen.identity.size >= LARGE) else {
            return Ok(());
        };
        if !seen.identity.is_young(now) && seen.has_same_bytes().doing("read", path)? {
            seen.young = false;
        }
        Ok(())
    }
}

impl Seen {
    /// Whether the file that we have open still holds what was read from it.
    fn has_same_bytes(&self) -> io::Result<bool> {
        match self.compare() {
            // It got shorter while we looked.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            compared => compared,
        }
    }

    fn compare(&self) -> io::Result<bool> {
        let length = self.identity.size;
        let mut there = vec![0; PIECE];
        let mut other = vec![0; PIECE];
        let mut at = 0;
        while at < length {
            let piece = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
            self.file.read_exact_at(&mut there[..piece], at)?;
            match &self.kept {
                Kept::Nothing => return Ok(false),
                Kept::Memory(bytes) => {
                    let start = usize::try_from(at).unwrap_or(usize::MAX);
                    if bytes.get(start..start.saturating_add(piece)) != Some(&there[..piece]) {
                        return Ok(false);
                    }
                }
                Kept::Copy { file, split, gap } => {
                    let before = usize::try_from(split.saturating_sub(at)).unwrap_or(PIECE).min(piece);
                    file.read_exact_at(&mut other[..before], at)?;
                    file.read_exact_at(&mut other[before..piece], at + before as u64 + gap)?;
                    if other[..piece] != there[..piece] {
                        return Ok(false);
                    }
                }
            }
            at += piece as u64;
        }
        Ok(true)
    }
}

/// Whether a file was not changed between two looks, as far as its time tells.
pub(crate) fn is_same_file(before: &Metadata, now: &Metadata) -> bool {
    Identity::of(before) == Identity::of(now)
}

/// Whether the next change of a file that was opened at `now` would show in its time.
pub(crate) fn is_settled(file: &Metadata, now: SystemTime) -> bool {
    !Identity::of(file).is_young(now)
}

/// Opens a regular file and says what it is; `None` where there is none.
pub(crate) fn open(path: &Path) -> Result<Option<(File, Metadata)>, StoreError> {
    // Without waiting for a writer, should it be a pipe.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match disk::open_to_read_with(File::options().read(true).custom_flags(nonblocking), path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).doing("open", path),
    };
    let metadata = file.metadata().doing("look at", path)?;
    if !metadata.is_file() {
        return Err(StoreError::bad(path, "is not a regular file"));
    }
    Ok(Some((file, metadata)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_change_in_the_same_tick_and_size_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "aaaa").unwrap();
        let seen = Snapshot::read(&path).unwrap();
        let mtime = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, "bbbb").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(mtime).unwrap();
        assert!(!seen.is_current(&path).unwrap());
    }

    #[test]
    fn an_old_file_is_judged_without_reading_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "aaaa").unwrap();
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        let seen = Snapshot::read(&path).unwrap();
        assert!(!seen.file.as_ref().unwrap().young);
        assert!(seen.is_current(&path).unwrap());
        fs::write(&path, "cccc").unwrap();
        assert!(!seen.is_current(&path).unwrap());
    }

    #[test]
    fn a_file_from_the_future_is_young() {
        let metadata_now = SystemTime::now();
        let identity = Identity { device: 1, inode: 1, size: 1, mtime: (i64::MAX, 1) };
        assert!(identity.is_young(metadata_now));
    }

    #[test]
    fn a_missing_file_is_current_until_it_appears() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let seen = Snapshot::read(&path).unwrap();
        assert!(seen.is_current(&path).unwrap());
        fs::write(&path, "").unwrap();
        assert!(!seen.is_current(&path).unwrap());
    }
}
