//! A file's bytes together with what tells whether it is still the same file.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{IoContext, StoreError};

/// Kernels stamp changes with a clock that ticks every 1 to 10 ms: two changes in one tick have one mtime.
const TICK: Duration = Duration::from_millis(20);
/// Some file systems keep whole seconds, or pairs of them.
const COARSE_TICK: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
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

    /// Whether a change right after `now` could leave the mtime as it is.
    fn is_young(&self, now: SystemTime) -> bool {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(self.mtime.0), u32::try_from(self.mtime.1)) else {
            return true;
        };
        let tick = if nanos == 0 { COARSE_TICK } else { TICK };
        now.checked_sub(Duration::new(seconds, nanos)).is_none_or(|age| age < tick)
    }
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
    bytes: Vec<u8>,
    /// Stays open until the commit is over: a rename over a file that nobody has open frees its blocks there and
    /// then, which for 10 MB takes milliseconds that a client would wait for us.
    _file: File,
    /// Too young for its mtime to betray the next change: then only the bytes can.
    young: bool,
}

impl Snapshot {
    pub(crate) fn read(path: &Path) -> Result<Self, StoreError> {
        let now = SystemTime::now();
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { file: None }),
            Err(error) => return Err(error).doing("open", path),
        };
        let metadata = file.metadata().doing("look at", path)?;
        if !metadata.is_file() {
            return Err(StoreError::bad(path, "is not a regular file"));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
        file.read_to_end(&mut bytes).doing("read", path)?;
        let identity = Identity::of(&metadata);
        // A writer was at work while we read: these bytes are no version of the file. They may serve as a first
        // look; the comparison at the commit will fail.
        let young =
            identity.is_young(now) || Identity::of(&file.metadata().doing("look at", path)?) != identity;
        Ok(Self { file: Some(Seen { identity, metadata, bytes, _file: file, young }) })
    }

    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|seen| seen.bytes.as_slice())
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
                !seen.young || Self::read(path)?.bytes() == Some(&seen.bytes)
            }
            _ => false,
        })
    }

    /// Looks again while no lock is held, so that the look under the lock need not read the bytes of a file whose
    /// mtime has come of age meanwhile. Changes nothing when the file is no longer the same.
    pub(crate) fn settle(&mut self, path: &Path) -> Result<(), StoreError> {
        if self.file.as_ref().is_some_and(|seen| seen.young) {
            let again = Self::read(path)?;
            if again.bytes() == self.bytes() {
                *self = again;
            }
        }
        Ok(())
    }
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
