//! Reading a file that others may be writing in place at this moment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::Snapshot;
use crate::error::StoreError;

/// How often, and after which waits, a file that seems torn is looked at again: a client that writes in place is done
/// within milliseconds.
const TORN_RETRY_MS: [u64; 5] = [2, 5, 10, 20, 40];
/// For how long a torn file is looked at again while its lock is held: on a busy machine a client may be stopped in the
/// middle of a write.
const WHILE_LOCKED: Duration = Duration::from_secs(2);

/// Reads a file, again and again while `look` finds it torn and says `None`. The last look is told that it is the last:
/// what is torn then stays so, and `look` has to make something of it.
pub(crate) fn read_patiently<T>(
    path: &Path,
    mut look: impl FnMut(&Snapshot, bool) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let begun = Instant::now();
    let mut waits = TORN_RETRY_MS.into_iter();
    let held = lock_of(path);
    loop {
        if let Some(value) = look(&Snapshot::read(path)?, false) {
            return Ok(Some(value));
        }
        let is_being_written = || begun.elapsed() < WHILE_LOCKED && held.symlink_metadata().is_ok();
        let last = TORN_RETRY_MS[TORN_RETRY_MS.len() - 1];
        let Some(wait) = waits.next().or_else(|| is_being_written().then_some(last)) else { break };
        thread::sleep(Duration::from_millis(wait));
    }
    Ok(look(&Snapshot::read(path)?, true))
}

/// The folder that clients make beside a file while they write it.
fn lock_of(path: &Path) -> PathBuf {
    let mut lock = OsString::from(path);
    lock.push(".lock");
    lock.into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(path: &Path) -> Option<bool> {
        read_patiently(path, |seen, is_last| {
            let is_whole = seen.bytes().is_some_and(|bytes| bytes == b"{}");
            (is_whole || is_last).then_some(is_whole)
        })
        .unwrap()
    }

    #[test]
    fn a_torn_file_is_waited_for_while_its_lock_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs::write(&path, "{}}").unwrap();
        fs::create_dir(lock_of(&path)).unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(|| read(&path));
            // Longer than a file without a lock is waited for.
            thread::sleep(Duration::from_millis(400));
            fs::write(&path, "{}").unwrap();
            fs::remove_dir(lock_of(&path)).unwrap();
            assert_eq!(reader.join().unwrap(), Some(true));
        });
    }

    #[test]
    fn a_torn_file_whose_lock_is_left_behind_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        fs::write(&path, "{}}").unwrap();
        let begun = Instant::now();
        assert_eq!(read(&path), Some(false));
        assert!(begun.elapsed() < Duration::from_secs(1), "nobody writes it");
        fs::create_dir(lock_of(&path)).unwrap();
        assert_eq!(read(&path), Some(false));
        assert!(begun.elapsed() >= WHILE_LOCKED);
    }
}
