//! What we remember of one conversation of an agent: which mail was put before it, and for which it was kept going.
//!
//! A note is no promise: if it is lost, mail is put before the agent once more. So it is replaced whole but not synced.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::mailbox::Mailbox;
use crate::paths::{Root, State, create_private_folders};

/// One such note. Who writes it has the mailbox's [`turn`](Mailbox::turn).
#[derive(Debug)]
pub struct SessionNote {
    folder: PathBuf,
    path: PathBuf,
}

impl SessionNote {
    /// The note on the conversation `session` of the owner of `mailbox`. The id may be anything: it is hashed.
    pub fn of(mailbox: &Mailbox, session: &str, state: &State) -> Self {
        Self::in_folder(state.sessions(&mailbox.owner()), session)
    }

    /// The note on whose the conversation `session` of a client is that works with the tree `root`.
    pub fn of_client(root: &Root, session: &str, state: &State) -> Self {
        Self::in_folder(state.sessions(root.path()), session)
    }

    /// The note on the conversation `session` itself, in the register of those that work with the tree `root`.
    pub fn in_register(root: &Root, session: &str, state: &State) -> Self {
        Self::in_folder(state.register(root.path()), session)
    }

    /// What the register of conversations that work with the tree `root` says. A note that cannot be read says nothing.
    pub fn register(root: &Root, state: &State) -> Vec<String> {
        let notes = fs::read_dir(state.register(root.path())).into_iter().flatten().flatten();
        notes.filter_map(|note| disk::read_to_string(note.path()).ok()).collect()
    }

    /// The folder of that register, made if it is not there: for those who want to see who comes.
    pub fn register_folder(root: &Root, state: &State) -> Result<PathBuf, StoreError> {
        let folder = state.register(root.path());
        create_private_folders(&folder)?;
        Ok(folder)
    }

    /// The same with the time when each note was written, in milliseconds since the epoch.
    pub fn register_with_times(root: &Root, state: &State) -> Vec<(String, i64)> {
        let notes = fs::read_dir(state.register(root.path())).into_iter().flatten().flatten();
        let with_time = |note: fs::DirEntry| {
            let written =
                note.metadata().ok()?.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            let text = disk::read_to_string(note.path()).ok()?;
            Some((text, i64::try_from(written.as_millis()).unwrap_or(i64::MAX)))
        };
        notes.filter_map(with_time).collect()
    }

    fn in_folder(folder: PathBuf, session: &str) -> Self {
        let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, session.as_bytes()).simple().to_string();
        Self { path: folder.join(name), folder }
    }

    /// What all notes of the owner of `mailbox` say. One that cannot be read says nothing.
    pub fn all_of(mailbox: &Mailbox, state: &State) -> Vec<String> {
        let notes = fs::read_dir(state.sessions(&mailbox.owner())).into_iter().flatten().flatten();
        notes.filter_map(|note| disk::read_to_string(note.path()).ok()).collect()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says, if there is one.
    pub fn read(&self) -> Result<Option<String>, StoreError> {
        match disk::read(&self.path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &self.path),
        }
    }

    /// Puts `text` in its place.
    pub fn write(&self, text: &str) -> Result<(), StoreError> {
        create_private_folders(&self.folder)?;
        let (staged, file) = Staged::begin_beside(&self.path)?;
        disk::write_all(&file, text.as_bytes()).doing("write", staged.temp())?;
        staged.commit()
    }

    /// The conversation is over.
    pub fn remove(&self) -> Result<(), StoreError> {
        match disk::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).doing("remove", &self.path)
            }
            _ => Ok(()),
        }
    }

    /// Removes the notes on conversations of the same mailbox that nobody has touched for `age`: they ended without
    /// saying so.
    pub fn forget_older(&self, age: Duration) {
        let Some(limit) = SystemTime::now().checked_sub(age) else { return };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let old = entry.metadata().and_then(|found| found.modified()).is_ok_and(|time| time < limit);
            if old && entry.path() != self.path {
                let _ = disk::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockTimes;

    #[test]
    fn a_note_is_of_one_conversation_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        let mailbox =
            Mailbox::open(&folder.path().join("team"), &"bob".parse().unwrap(), &state, LockTimes::default());
        let note = |session| SessionNote::of(&mailbox, session, &state);
        note("../../a").write("one").unwrap();
        note("b").write("two").unwrap();
        note("b").write("three").unwrap();
        assert_eq!(note("../../a").read().unwrap().as_deref(), Some("one"));
        assert_eq!(note("b").read().unwrap().as_deref(), Some("three"));
        assert_eq!(note("c").read().unwrap(), None);
        let mut all = SessionNote::all_of(&mailbox, &state);
        all.sort();
        assert_eq!(all, ["one", "three"]);
        note("b").forget_older(Duration::from_secs(60));
        assert!(note("../../a").read().unwrap().is_some(), "too young to go");
        note("b").forget_older(Duration::ZERO);
        assert_eq!(note("../../a").read().unwrap(), None);
        note("b").remove().unwrap();
        note("b").remove().unwrap();
        assert_eq!(note("b").read().unwrap(), None);
    }
}
