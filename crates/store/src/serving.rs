//! The one bridge of a state folder, and how it wakes those who wait for it.

use std::path::PathBuf;

use crate::error::StoreError;
use crate::files::Staged;
use crate::paths::{State, create_private_folders};
use crate::sole::{Holder, Sole};

/// The lock of the bridge, for as long as it lives.
#[derive(Debug)]
pub struct Serving {
    _lock: Sole,
}

impl Serving {
    /// Takes it; `None` if another process has it.
    pub fn take(state: &State) -> Result<Option<Self>, StoreError> {
        create_private_folders(&state.bridge())?;
        Ok(Sole::take(&lock(state))?.ok().map(|lock| Self { _lock: lock }))
    }

    /// Whether a process has it.
    pub fn is_taken(state: &State) -> bool {
        Holder::of(&lock(state)) != Holder::Nobody
    }
}

fn lock(state: &State) -> PathBuf {
    state.bridge().join("lock")
}

/// Wakes those who wait for what a bridge brings into the ledger: a ledger itself gives no event that a reader of it would
/// not cause, too. It is no promise, and not synced.
#[derive(Debug)]
pub struct Bell {
    folder: PathBuf,
}

impl Bell {
    /// The bell of a state folder.
    pub fn of(state: &State) -> Self {
        Self { folder: state.bridge().join("bell") }
    }

    /// The folder to watch, if a bridge ever rang.
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.is_dir().then(|| self.folder.clone())
    }

    /// Something came.
    pub fn ring(&self) -> Result<(), StoreError> {
        create_private_folders(&self.folder)?;
        let (staged, _) = Staged::begin_beside(&self.folder.join("rung"))?;
        staged.commit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        assert!(!Serving::is_taken(&state));
        let first = Serving::take(&state).unwrap().unwrap();
        assert!(Serving::is_taken(&state));
        assert!(Serving::take(&state).unwrap().is_none());
        drop(first);
        assert!(!Serving::is_taken(&state));
        assert!(Serving::take(&state).unwrap().is_some());
    }
}
