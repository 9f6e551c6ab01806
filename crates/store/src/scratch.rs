//! Small files of our own that save work and can be deleted at any time: what was found out about the conversations that
//! clients keep, and about inboxes.
//!
//! A scratch file is replaced whole, by rename, and not synced: a reader finds the old one, the new one or none. Of two
//! processes that replace it at once, one wins, and the other's work is done again when it is needed.

use std::path::{Path, PathBuf};

use atm_wire::TeamName;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::Staged;
use crate::paths::{Root, State, create_private_folders};

/// One such file.
#[derive(Debug, Clone)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Whose the conversations below a root are.
    pub fn of_owners(root: &Root, state: &State) -> Self {
        Self { path: state.scratch(&root.path().join("projects"), "owners") }
    }

    /// The processes that were seen to run as members of the teams below a root.
    pub fn of_agents(root: &Root, state: &State) -> Self {
        Self { path: state.scratch(&root.teams(), "agents") }
    }

    /// How the conversations of a team are found, also when its folder is gone.
    pub fn of_team(root: &Root, team: &TeamName, state: &State) -> Self {
        Self { path: state.scratch(&root.teams().join(team.file_stem()), "conversations") }
    }

    /// Which conversations of which clients are those of a team's members, as the clients' hooks said.
    pub fn of_ties(root: &Root, team: &TeamName, state: &State) -> Self {
        Self { path: state.scratch(&root.teams().join(team.file_stem()), "ties") }
    }

    /// What is in the inboxes of a team.
    pub fn of_mail(root: &Root, team: &TeamName, state: &State) -> Self {
        Self { path: state.scratch(&root.teams().join(team.file_stem()), "mail") }
    }

    /// What is known of the last daemon.
    pub fn of_daemon(state: &State) -> Self {
        Self { path: state.daemon().join("last.json") }
    }

    /// Something to write and read, to find out whether that works.
    pub fn of_probe(state: &State) -> Self {
        Self { path: state.daemon().join("probe") }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says, if it is there and can be read.
    pub fn read(&self) -> Option<Vec<u8>> {
        disk::read(&self.path).ok()
    }

    /// Puts `bytes` in its place.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), StoreError> {
        if let Some(folder) = self.path.parent() {
            create_private_folders(folder)?;
        }
        let (staged, file) = Staged::begin_beside(&self.path)?;
        disk::write_all(&file, bytes).doing("write", staged.temp())?;
        staged.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_replaced_whole_and_its_loss_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (Root::new(folder.path().join("root")), State::new(folder.path().join("state")));
        let scratch = Scratch::of_team(&root, &"demo".parse().unwrap(), &state);
        assert_eq!(scratch.read(), None);
        scratch.replace(b"one").unwrap();
        scratch.replace(b"two").unwrap();
        assert_eq!(scratch.read().as_deref(), Some(&b"two"[..]));
        assert_ne!(scratch.path, Scratch::of_owners(&root, &state).path);
        std::fs::remove_dir_all(state.path()).unwrap();
        assert_eq!(scratch.read(), None);
    }
}
