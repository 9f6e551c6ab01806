//! `flock` on a lock file, with a bounded wait.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use rustix::fs::OFlags;

use super::Deadline;
use crate::disk;
use crate::error::{IoContext, StoreError};

/// An exclusive `flock`, released on drop.
#[derive(Debug)]
pub(crate) struct Flock {
    file: File,
    /// False where the file system knows no `flock`: then nobody there can hold one either.
    real: bool,
}

impl Flock {
    /// Takes the lock on the file at `path`, which is made if it is missing.
    ///
    /// The lock file gets the read and write bits of its folder, so that every user who may write there may lock too.
    pub(crate) fn take(path: &Path, deadline: &Deadline) -> Result<Self, StoreError> {
        loop {
            let (file, real) = lock_within(open(path)?, path, deadline)?;
            // Somebody may have removed the file while we waited: then our lock excludes nobody.
            if same_file(&file, path) {
                return Ok(Self { file, real });
            }
        }
    }

    /// Takes the lock if nobody holds it now.
    pub(crate) fn try_take(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(path)?;
        let taken = try_lock(&file, path)?.map(|real| Self { file, real });
        Ok(taken.filter(|lock| same_file(&lock.file, path)))
    }

    pub(crate) fn is_real(&self) -> bool {
        self.real
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

/// A link in a lock's place could have us make a file anywhere.
#[expect(clippy::cast_possible_wrap, reason = "the flags are the system's own, which takes an int")]
const NO_LINKS: i32 = OFlags::NOFOLLOW.bits() as i32;

fn open(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(mode(path)).custom_flags(NO_LINKS);
    let opened = match disk::open(&options, path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open_to_read(path),
        opened => opened,
    };
    match opened {
        Err(_) if path.is_symlink() => {
            let why = "it is a link, where programs expect a file to `flock`".to_owned();
            Err(StoreError::LockBlocked { lock: path.to_owned(), why })
        }
        Err(_) if path.is_dir() => {
            let why = "it is a folder, where programs expect a file to `flock`".to_owned();
            Err(StoreError::LockBlocked { lock: path.to_owned(), why })
        }
        opened => opened.doing("open the lock", path),
    }
}

fn open_to_read(path: &Path) -> io::Result<File> {
    disk::open_to_read_with(OpenOptions::new().read(true).custom_flags(NO_LINKS), path)
}

/// Locks the file if nobody else does; says whether the file system has such locks at all.
fn try_lock(file: &File, path: &Path) -> Result<Option<bool>, StoreError> {
    match disk::try_lock(file) {
        Ok(()) => Ok(Some(true)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) if is_unsupported(&error) => Ok(Some(false)),
        Err(TryLockError::Error(error)) => Err(error).doing("lock", path),
    }
}

/// Whether somebody holds an `flock` on the file at `path` at this moment.
pub(crate) fn is_held(path: &Path) -> bool {
    path.is_file()
        && open_to_read(path).is_ok_and(|file| matches!(disk::try_lock(&file), Err(TryLockError::WouldBlock)))
}

/// Waits in the kernel's own line, which is fair; polling would starve beside programs that wait there.
///
/// `flock` has no time limit, so the wait happens in a thread. If we give up, that thread gets the lock some time
/// later, finds nobody to hand it to, and drops it.
fn lock_within(file: File, path: &Path, deadline: &Deadline) -> Result<(File, bool), StoreError> {
    if let Some(real) = try_lock(&file, path)? {
        return Ok((file, real));
    }
    let (hand_over, receive) = mpsc::channel();
    thread::Builder::new()
        .name("flock".to_owned())
        .spawn(move || {
            let locked = file.lock().map(|()| file);
            let _ = hand_over.send(locked);
        })
        .doing("wait for", path)?;
    loop {
        if let Ok(locked) = receive.recv_timeout(deadline.next_look()) {
            return Ok((locked.doing("lock", path)?, true));
        }
        deadline.check(path)?;
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
        || error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error())
        || error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error())
}

fn same_file(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

fn mode(path: &Path) -> u32 {
    path.parent().and_then(|folder| fs::metadata(folder).ok()).map_or(0o600, |folder| folder.mode() & 0o666)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockTimes;
    use std::time::Duration;

    fn deadline(ms: u64) -> Deadline {
        LockTimes { wait: Duration::from_millis(ms), ..LockTimes::default() }.deadline()
    }

    #[test]
    fn a_held_lock_is_busy_in_time_and_free_again_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let held = Flock::take(&path, &deadline(0)).unwrap();
        assert!(is_held(&path));
        assert!(matches!(Flock::take(&path, &deadline(30)), Err(StoreError::Busy { .. })));
        drop(held);
        // The waiter that gave up may get it first, and must let it go by itself.
        Flock::take(&path, &deadline(5_000)).unwrap();
    }

    #[test]
    fn a_removed_lock_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let first = Flock::take(&path, &deadline(0)).unwrap();
        fs::remove_file(&path).unwrap();
        let second = Flock::take(&path, &deadline(0)).unwrap();
        assert!(same_file(&second.file, &path) && !same_file(&first.file, &path));
    }

    #[test]
    fn a_link_in_its_place_is_reported_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join(".lock"), folder.path().join("elsewhere"));
        std::os::unix::fs::symlink(&target, &path).unwrap();
        for _ in 0..2 {
            let error = Flock::take(&path, &deadline(0)).unwrap_err();
            assert!(matches!(&error, StoreError::LockBlocked { .. }), "{error}");
            assert!(matches!(Flock::try_take(&path), Err(StoreError::LockBlocked { .. })));
            assert!(!target.exists() && !is_held(&path));
            assert!(open_to_read(&path).is_err());
            // Once more, with a link to what is there.
            fs::write(folder.path().join("there"), "").unwrap();
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("there", &path).unwrap();
        }
    }

    #[test]
    fn a_folder_in_its_place_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Flock::take(folder.path(), &deadline(0)), Err(StoreError::LockBlocked { .. })));
    }
}
