//! The seat of the one process that waits to wake an inbox's owner, or a session. The process that takes it last has it.
//!
//! Clients start one that waits at the end of every turn, and end none. So the last one counts, and those before it
//! find that they have lost their place and leave. It is no promise, and not synced.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::fresh::fresh_id;
use crate::mailbox::Mailbox;
use crate::paths::{Root, State, create_private_folders};

/// A place that was taken, until somebody else takes or clears it.
#[derive(Debug)]
pub struct Seat {
    path: PathBuf,
    token: String,
}

impl Seat {
    /// Takes the seat, from its present holder if there is one.
    pub fn take(mailbox: &Mailbox, state: &State) -> Result<Self, StoreError> {
        Self::take_at(state.seats(&mailbox.file()))
    }

    /// Takes the seat of a session that works with the tree `root`: several share an inbox, and each is woken by itself.
    pub fn take_in_session(root: &Root, session: &str, state: &State) -> Result<Self, StoreError> {
        Self::take_at(in_session(root, session, state))
    }

    fn take_at(path: PathBuf) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            create_private_folders(folder)?;
        }
        let token = fresh_id().simple().to_string();
        let (staged, file) = Staged::begin_beside(&path)?;
        disk::write_all(&file, token.as_bytes()).doing("write", staged.temp())?;
        staged.commit()?;
        Ok(Self { path, token })
    }

    /// Whether nobody has taken or cleared it since.
    pub fn is_ours(&self) -> bool {
        disk::read(&self.path).is_ok_and(|token| token == self.token.as_bytes())
    }

    /// The folder to watch, to notice that it was taken or cleared.
    pub fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    /// Ends the wait of the present holder.
    pub fn clear(mailbox: &Mailbox, state: &State) {
        // Of one that cannot be removed, the one that waits is none the worse.
        let _ = disk::remove_file(state.seats(&mailbox.file()));
    }

    /// The same in a session.
    pub fn clear_in_session(root: &Root, session: &str, state: &State) {
        let _ = disk::remove_file(in_session(root, session, state));
    }
}

fn in_session(root: &Root, session: &str, state: &State) -> PathBuf {
    let name = Uuid::new_v5(&Uuid::NAMESPACE_URL, session.as_bytes()).simple().to_string();
    state.session_seats(root.path()).join(name)
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.is_ours() {
            let _ = disk::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::LockTimes;

    #[test]
    fn the_last_one_has_it_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        let mailbox =
            Mailbox::open(&folder.path().join("team"), &"bob".parse().unwrap(), &state, LockTimes::default());
        let first = Seat::take(&mailbox, &state).unwrap();
        assert!(first.is_ours());
        let second = Seat::take(&mailbox, &state).unwrap();
        assert!(!first.is_ours() && second.is_ours());
        drop(first);
        assert!(second.is_ours(), "who has lost it leaves it alone");
        Seat::clear(&mailbox, &state);
        assert!(!second.is_ours());
        let third = Seat::take(&mailbox, &state).unwrap();
        let path = third.path.clone();
        drop(third);
        assert!(!path.exists());
    }

    #[test]
    fn each_session_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
        let take = |session| Seat::take_in_session(&root, session, &state).unwrap();
        let (left, right) = (take("left"), take("right"));
        assert!(left.is_ours() && right.is_ours());
        let again = take("left");
        assert!(!left.is_ours() && again.is_ours() && right.is_ours());
        Seat::clear_in_session(&root, "right", &state);
        assert!(again.is_ours() && !right.is_ours());
    }
}
