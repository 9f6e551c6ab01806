//! The directory lock of agent clients: `mkdir` takes it, `rmdir` gives it back.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::{Deadline, LockTimes, flock};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::interrupt::{self, Critical};
use crate::quarantine::Quarantine;

/// The waits between tries, as real clients have them; the last one repeats.
const GAPS_MS: [u64; 6] = [5, 10, 20, 40, 80, 100];

/// The mode of our lock directories. Clients make theirs with the usual 0755, so this says whose it is, from the
/// very instant it exists. Removing a directory takes rights on its parent only: anybody can still clear it.
const OUR_MODE: u32 = 0o500;

/// A directory lock, removed on drop.
#[derive(Debug)]
pub(crate) struct MkdirLock {
    path: PathBuf,
    /// As we made it. An inode's number alone may be somebody else's by now: it is used again at once.
    made: Watched,
    _critical: Critical,
}

/// How a lock is waited for.
pub(crate) struct Terms<'a> {
    pub(crate) deadline: &'a Deadline,
    pub(crate) times: &'a LockTimes,
    /// How long a directory of ours is watched before it counts as a dead one's. No time at all while we hold the
    /// `flock` that every `atm` process takes first; a while where there is none, for an `atm` with another state.
    pub(crate) ours_after: Duration,
    pub(crate) quarantine: &'a Quarantine,
}

impl MkdirLock {
    pub(crate) fn take(path: &Path, terms: &Terms) -> Result<Self, StoreError> {
        let mut watched: Option<Watched> = None;
        let mut gaps = GAPS_MS.iter().chain(std::iter::repeat(&GAPS_MS[GAPS_MS.len() - 1]));
        loop {
            let critical = interrupt::critical();
            match disk::create_dir(OUR_MODE, path) {
                Ok(()) => {
                    let made = Watched::new(&fs::symlink_metadata(path).doing("look at", path)?);
                    return Ok(Self { path: path.to_owned(), made, _critical: critical });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).doing("make the lock", path),
            }
            drop(critical);
            let Ok(found) = fs::symlink_metadata(path) else { continue };
            let same = watched.as_ref().filter(|seen| seen.is(&found));
            let abandoned = if found.is_dir() {
                is_stale(&found, same, terms.times.stale)
                    || (is_ours(&found) && same.is_some_and(|seen| seen.since.elapsed() >= terms.ours_after))
            } else {
                is_stale(&found, same, terms.times.stale) && !flock::is_held(path)
            };
            if abandoned {
                clear(path, &found, terms.quarantine)?;
                watched = None;
                continue;
            }
            if same.is_none() {
                watched = Some(Watched::new(&found));
            }
            let gap = Duration::from_millis(*gaps.next().unwrap_or(&100));
            if terms.deadline.left() < gap {
                return Err(give_up(path, &found, terms.deadline));
            }
            terms.deadline.check(path)?;
            thread::sleep(gap);
        }
    }
}

impl MkdirLock {
    /// Whether nobody judged us dead and took the lock.
    pub(crate) fn is_still_ours(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|there| self.made.is(&there) && is_ours(&there))
    }
}

impl Drop for MkdirLock {
    fn drop(&mut self) {
        if self.is_still_ours() {
            let _ = disk::remove_dir(&self.path);
        }
    }
}

/// The lock as it was at the first look: one that is unchanged for the whole time of staleness is stale, whatever the
/// clocks say.
#[derive(Debug)]
struct Watched {
    inode: u64,
    mtime: (i64, i64),
    since: Instant,
}

impl Watched {
    fn new(found: &Metadata) -> Self {
        Self { inode: found.ino(), mtime: (found.mtime(), found.mtime_nsec()), since: Instant::now() }
    }

    fn is(&self, found: &Metadata) -> bool {
        (self.inode, self.mtime) == (found.ino(), (found.mtime(), found.mtime_nsec()))
    }
}

fn is_stale(found: &Metadata, watched: Option<&Watched>, stale: Duration) -> bool {
    let age = found.modified().ok().and_then(|mtime| SystemTime::now().duration_since(mtime).ok());
    age.is_some_and(|age| age > stale) || watched.is_some_and(|seen| seen.since.elapsed() > stale)
}

fn is_ours(found: &Metadata) -> bool {
    found.mode() & 0o777 == OUR_MODE
}

/// Removes an abandoned lock, if it is still the one that was judged.
fn clear(path: &Path, judged: &Metadata, quarantine: &Quarantine) -> Result<(), StoreError> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.ino() == judged.ino() && there.modified().ok() == judged.modified().ok() => {}
        _ => return Ok(()),
    }
    if !judged.is_dir() {
        return quarantine.move_in(path, "file-in-place-of-a-lock").map(drop);
    }
    match disk::remove_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            let why = "it is a folder with files in it; move it away if no program uses it".to_owned();
            Err(StoreError::LockBlocked { lock: path.to_owned(), why })
        }
        Err(error) => Err(error).doing("remove the stale lock", path),
    }
}

fn give_up(path: &Path, found: &Metadata, deadline: &Deadline) -> StoreError {
    if found.is_dir() {
        return deadline.busy(path);
    }
    let why = "a file stands where clients make a directory, and a program holds it open or just made it; \
               remove it if no program uses it";
    StoreError::LockBlocked { lock: path.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    struct Bench {
        folder: tempfile::TempDir,
        quarantine: Quarantine,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let quarantine = Quarantine::new(folder.path().join("quarantine"));
            Self { folder, quarantine }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("bob.json.lock")
        }

        fn take(&self, wait_ms: u64, stale_ms: u64, sole: bool) -> Result<MkdirLock, StoreError> {
            let ours_after = if sole { Duration::ZERO } else { Duration::from_secs(1) };
            let times =
                LockTimes { wait: Duration::from_millis(wait_ms), stale: Duration::from_millis(stale_ms) };
            let deadline = times.deadline();
            let terms =
                Terms { deadline: &deadline, times: &times, ours_after, quarantine: &self.quarantine };
            MkdirLock::take(&self.path(), &terms)
        }
    }

    fn set_age(path: &Path, mtime: SystemTime) {
        File::open(path).unwrap().set_modified(mtime).unwrap();
    }

    #[test]
    fn a_held_lock_is_busy_and_names_itself() {
        let bench = Bench::new();
        fs::create_dir(bench.path()).unwrap();
        let error = bench.take(60, 10_000, true).unwrap_err();
        assert!(error.to_string().contains("bob.json.lock"), "{error}");
        assert!(bench.path().is_dir(), "somebody else's lock stays");
    }

    #[test]
    fn a_stale_lock_is_taken_and_released() {
        let bench = Bench::new();
        fs::create_dir(bench.path()).unwrap();
        set_age(&bench.path(), SystemTime::now() - Duration::from_secs(11));
        drop(bench.take(1_000, 10_000, false).unwrap());
        assert!(!bench.path().exists());
    }

    #[test]
    fn a_clock_that_went_back_does_not_keep_a_dead_lock_for_ever() {
        let bench = Bench::new();
        fs::create_dir(bench.path()).unwrap();
        set_age(&bench.path(), SystemTime::now() + Duration::from_secs(3_600));
        drop(bench.take(5_000, 100, false).unwrap());
    }

    #[test]
    fn a_dead_lock_of_our_own_is_taken_at_once_when_nobody_of_us_can_hold_it() {
        let bench = Bench::new();
        std::mem::forget(bench.take(0, 10_000, true).unwrap());
        assert!(matches!(bench.take(40, 10_000, false), Err(StoreError::Busy { .. })));
        // The wait is shorter than the time of staleness.
        drop(bench.take(5_000, 10_000, true).unwrap());
    }

    #[test]
    fn a_lock_that_was_taken_over_is_not_removed() {
        let bench = Bench::new();
        let ours = bench.take(0, 10_000, true).unwrap();
        fs::remove_dir(bench.path()).unwrap();
        fs::create_dir(bench.path()).unwrap();
        assert!(!ours.is_still_ours());
        drop(ours);
        assert!(bench.path().is_dir(), "it is somebody else's now");
    }

    #[test]
    fn an_old_file_in_its_place_is_set_aside() {
        let bench = Bench::new();
        fs::write(bench.path(), "pid 1").unwrap();
        assert!(matches!(bench.take(20, 10_000, true), Err(StoreError::LockBlocked { .. })));
        set_age(&bench.path(), SystemTime::now() - Duration::from_secs(11));
        drop(bench.take(1_000, 10_000, true).unwrap());
        let kept: Vec<_> = fs::read_dir(bench.folder.path().join("quarantine")).unwrap().collect();
        assert_eq!(kept.len(), 1);
    }

    #[test]
    fn a_file_that_somebody_flocks_stays() {
        let bench = Bench::new();
        fs::write(bench.path(), "").unwrap();
        set_age(&bench.path(), SystemTime::now() - Duration::from_secs(11));
        let holder = File::open(bench.path()).unwrap();
        holder.lock().unwrap();
        assert!(matches!(bench.take(40, 10_000, true), Err(StoreError::LockBlocked { .. })));
        assert!(bench.path().is_file());
    }

    #[test]
    fn a_stale_lock_with_files_in_it_is_reported() {
        let bench = Bench::new();
        fs::create_dir(bench.path()).unwrap();
        fs::write(bench.path().join("x"), "").unwrap();
        set_age(&bench.path(), SystemTime::now() - Duration::from_secs(11));
        assert!(matches!(bench.take(40, 10_000, true), Err(StoreError::LockBlocked { .. })));
    }
}
