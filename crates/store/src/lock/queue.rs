//! Our own queue, one per shared file: `atm` processes wait for each other here, holding nobody else's lock.
//!
//! The queue's file doubles as a note: it holds the name of the temp file that its owner is preparing and, from the
//! commit on, the ids of the messages in it. A process that enters and finds a note knows that its predecessor died: a
//! temp file that still exists is removed; one that is gone although its ids are noted was renamed into place.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Seek};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::Deadline;
use super::flock::Flock;
use crate::boot::is_older_than_boot;
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{is_temp_of_ours, sync_folder};
use crate::paths::{create_private_folders, with_suffix};

/// Our turn at one shared file; ends on drop.
#[derive(Debug)]
pub(crate) struct Queue {
    lock: Flock,
    path: PathBuf,
    /// The one before us died in the middle.
    follows_a_death: bool,
    /// The temp file that our note names.
    named: RefCell<Option<PathBuf>>,
}

impl Queue {
    pub(crate) fn enter(path: &Path, deadline: &Deadline) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            create_private_folders(folder)?;
        }
        Self::begin(Flock::take(path, deadline)?, path)
    }

    /// The same without waiting; `None` where somebody is in it.
    pub(crate) fn try_enter(path: &Path) -> Result<Option<Self>, StoreError> {
        if let Some(folder) = path.parent() {
            create_private_folders(folder)?;
        }
        Flock::try_take(path)?.map(|lock| Self::begin(lock, path)).transpose()
    }

    fn begin(lock: Flock, path: &Path) -> Result<Self, StoreError> {
        let mut queue =
            Self { lock, path: path.to_owned(), follows_a_death: false, named: RefCell::new(None) };
        queue.clean_up_after_the_dead()?;
        Ok(queue)
    }

    /// Whether nobody else can be in it: not where the file system knows no `flock`.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.lock.is_real()
    }

    /// Whether the one before us died in the middle, perhaps with a lock in its hand.
    pub(crate) fn follows_a_death(&self) -> bool {
        self.follows_a_death
    }

    /// The ids that dead owners had put in place and could tell nobody.
    pub(crate) fn left(&self) -> Vec<String> {
        let left = disk::read_to_string(self.beside()).unwrap_or_default();
        left.lines().map(ToOwned::to_owned).collect()
    }

    /// Somebody knows of them now.
    pub(crate) fn left_is_told(&self) {
        let _ = disk::remove_file(self.beside());
    }

    fn beside(&self) -> PathBuf {
        self.file_beside(".left")
    }

    /// A file of ours that belongs to this queue.
    pub(crate) fn file_beside(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.path, suffix)
    }

    /// Notes which temp file is about to be made. Not synced: after a power cut there may be a temp file too many,
    /// never a message too few. A change that adds no messages goes on without it, as on a full disk.
    pub(crate) fn note(&self, temp: &Path) {
        self.clear();
        let noted = disk::write_all(self.lock.file(), temp.as_os_str().as_bytes());
        *self.named.borrow_mut() = noted.ok().map(|()| temp.to_owned());
    }

    /// Adds to the note which messages are in the temp file that is about to be put in place. The name before them
    /// stays, so that there is no instant without it. Without this note a crash could have them written twice, so an
    /// error here is one of the commit.
    pub(crate) fn note_ids(&self, ids: &[String]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids: String = ids.iter().flat_map(|id| ["\0", id]).collect();
        let noted = match &*self.named.borrow() {
            Some(_) => disk::write_all(self.lock.file(), ids.as_bytes()),
            None => Err(io::ErrorKind::StorageFull.into()),
        };
        noted.doing("note what is written in", &self.path)
    }

    /// Takes the ids out of the note again and leaves the temp file's name; says whether that could be done.
    pub(crate) fn forget_ids(&self) -> bool {
        let length = self.named.borrow().as_ref().map_or(0, |temp| temp.as_os_str().len());
        disk::set_len(self.lock.file(), length as u64).is_ok()
    }

    /// Clears the note after a change that was given up, unless its temp file had to stay.
    pub(crate) fn give_up(&self) {
        if self.named.borrow().as_deref().is_none_or(is_gone) {
            self.clear();
        }
    }

    pub(crate) fn clear(&self) {
        let mut file = self.lock.file();
        let _ = disk::set_len(file, 0).and_then(|()| file.rewind());
    }

    fn clean_up_after_the_dead(&mut self) -> Result<(), StoreError> {
        let mut note = Vec::new();
        disk::read_to_end(self.lock.file(), &self.path, &mut note).doing("read", &self.path)?;
        if note.is_empty() {
            return Ok(());
        }
        self.follows_a_death = true;
        let mut parts = note.split(|byte| *byte == 0);
        let temp = PathBuf::from(OsString::from_vec(parts.next().unwrap_or_default().to_vec()));
        if !is_temp_of_ours(&temp) {
            self.clear();
            return Ok(());
        }
        match disk::remove_file(&temp) {
            // A file system that may not be written says so before it looks.
            Err(_) if is_gone(&temp) => {}
            // One that is there and cannot be removed was not put in place either.
            removed => {
                removed.doing("remove", &temp)?;
                self.clear();
                return Ok(());
            }
        }
        // They are kept beside the queue until they are recorded: the next note is about something else.
        let left: String =
            parts.flat_map(|id| [String::from_utf8_lossy(id).into_owned(), "\n".to_owned()]).collect();
        let metadata = self.lock.file().metadata().doing("look at", &self.path)?;
        // After a power cut the note may be there, and neither the temp file's name nor the new one: whether the
        // messages were put in place is then told by the file alone.
        if !left.is_empty() && !is_older_than_boot(&metadata) {
            // The dead one may not have come to that, and what we say of its messages is to be true for good.
            sync_folder(temp.parent().unwrap_or(Path::new("/")))?;
            let beside = disk::open(OpenOptions::new().append(true).create(true).mode(0o600), self.beside())
                .doing("open", &self.path)?;
            disk::write_all(&beside, left.as_bytes()).doing("write", &self.path)?;
        }
        self.clear();
        Ok(())
    }
}

fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockTimes;
    use crate::files::Staged;
    use std::fs;

    #[test]
    fn what_a_dead_owner_had_put_in_place_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue/bob");
        let enter = || Queue::enter(&path, &LockTimes::default().deadline()).unwrap();
        let renamed = Staged::name_for(&folder.path().join("bob.json"));
        let note = |ids: &[&str]| {
            let queue = enter();
            queue.note(&renamed);
            queue.note_ids(&ids.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        };
        note(&["a", "b"]);
        assert_eq!(enter().left(), ["a", "b"]);
        enter().note(&renamed);
        assert_eq!(enter().left(), ["a", "b"], "until somebody is told");
        enter().left_is_told();

        fs::write(&renamed, "not renamed yet").unwrap();
        note(&["a"]);
        assert!(enter().left().is_empty() && !renamed.exists());
    }

    #[test]
    fn what_a_dead_owner_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("queue/bob");
        let enter = || Queue::enter(&path, &LockTimes::default().deadline()).unwrap();
        let left = Staged::name_for(&folder.path().join("bob.json"));
        let precious = folder.path().join("precious");
        for file in [&left, &precious] {
            fs::write(file, "x").unwrap();
            enter().note(file);
            drop(enter());
        }
        assert!(!left.exists() && precious.exists());
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}
