//! Where things go that cannot stay and must not be lost.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use atm_wire::Stamp;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{sync_folder, write_new};
use crate::paths::create_private_folders;

/// The quarantine folder. What is in it says by its name where it is from, when it came, and why.
#[derive(Debug, Clone)]
pub struct Quarantine {
    folder: PathBuf,
}

/// A file that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// When it came there.
    pub at: Stamp,
}

impl Quarantine {
    /// The quarantine at `folder`, which is made when something has to go there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps a copy of `bytes`, durably, and says where.
    pub(crate) fn keep(&self, origin: &Path, bytes: &[u8], why: &str) -> Result<PathBuf, StoreError> {
        let place = self.place_for(origin, why)?;
        write_new(&place, bytes)?;
        sync_folder(&self.folder)?;
        Ok(place)
    }

    /// Moves a file away, also to another file system.
    pub(crate) fn move_in(&self, origin: &Path, why: &str) -> Result<PathBuf, StoreError> {
        self.move_in_as(origin, origin, why)
    }

    /// The same with a file that was taken out of its place before: `named` says where that was.
    pub(crate) fn move_in_as(&self, origin: &Path, named: &Path, why: &str) -> Result<PathBuf, StoreError> {
        let place = self.place_for(named, why)?;
        if disk::rename(origin, &place).is_err() {
            let bytes = match disk::read(origin) {
                // Its writer removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(place),
                read => read.doing("read", origin)?,
            };
            write_new(&place, &bytes)?;
            disk::remove_file(origin).doing("remove", origin)?;
        }
        sync_folder(&self.folder)?;
        Ok(place)
    }

    /// What is kept there, the newest first.
    pub fn list(&self) -> Result<Vec<SetAside>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.doing("list", &self.folder)?,
        };
        let kept = entries.filter_map(Result::ok).filter_map(|entry| {
            let found = fs::symlink_metadata(entry.path()).ok().filter(fs::Metadata::is_file)?;
            let at = Stamp::from_millis(found.ctime().saturating_mul(1_000));
            Some(SetAside { path: entry.path(), bytes: found.len(), at })
        });
        let mut kept: Vec<SetAside> = kept.collect();
        kept.sort_by_key(|one| std::cmp::Reverse(one.at));
        Ok(kept)
    }

    /// Removes what came before a time, and says how many that were.
    pub fn remove_before(&self, time: Stamp) -> Result<usize, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries.doing("list", &self.folder)?,
        };
        let mut removed = 0;
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            // A file that was moved here has the time of its last change; the system knows when its name changed.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            let came = found.ctime().saturating_mul(1_000);
            if found.is_file() && came < time.as_millis() {
                disk::remove_file(&path).doing("remove", &path)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn place_for(&self, origin: &Path, why: &str) -> Result<PathBuf, StoreError> {
        create_private_folders(&self.folder)?;
        let parts: Vec<_> = origin.iter().rev().take(3).map(|part| part.to_string_lossy()).collect();
        let name = parts.into_iter().rev().collect::<Vec<_>>().join("_");
        let stem = format!("{name}.{}.{why}", now().file_name());
        let taken = self.folder.join(&stem).exists();
        Ok(self.folder.join(if taken {
            format!("{stem}.{}", crate::fresh::fresh_id().simple())
        } else {
            stem
        }))
    }
}

fn now() -> Stamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Stamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_came_before_a_time_is_removed_whenever_it_was_last_changed() {
        let folder = tempfile::tempdir().unwrap();
        let quarantine = Quarantine::new(folder.path().join("quarantine"));
        assert_eq!(quarantine.remove_before(now()).unwrap(), 0, "there is none");
        let origin = folder.path().join("bob.json");
        fs::write(&origin, "{").unwrap();
        let old = SystemTime::now() - Duration::from_secs(900_000);
        fs::File::open(&origin).unwrap().set_modified(old).unwrap();
        let place = quarantine.move_in(&origin, "damaged").unwrap();
        let minute = Duration::from_secs(60);
        assert_eq!(quarantine.remove_before(now().saturating_sub(minute)).unwrap(), 0, "it came just now");
        assert!(place.exists());
        assert_eq!(quarantine.remove_before(now().saturating_add(minute)).unwrap(), 1);
        assert!(!place.exists());
    }
}
