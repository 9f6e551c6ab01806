//! One daemon for each state folder: who holds the lock is it.

use std::path::PathBuf;

use atm_store::{Holder, Sole, State};

use crate::error::DaemonError;

/// The lock, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock(Sole);

impl Lock {
    /// Takes it; an error that names the holder if there is one.
    pub(crate) fn take(state: &State) -> Result<Self, DaemonError> {
        Sole::take(&state.daemon_lock()?)?.map(Self).map_err(|pid| DaemonError::Runs { pid })
    }

    /// Whether the file still stands in its place: if it was removed, another daemon may take a new one.
    pub(crate) fn is_there(&self, state: &State) -> bool {
        self.0.is_at(&path(state))
    }
}

/// Who runs, by the lock alone: also of one that hangs.
pub fn holder(state: &State) -> Holder {
    Holder::of(&path(state))
}

fn path(state: &State) -> PathBuf {
    state.daemon().join("lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::new(folder.path().join("state"));
        assert_eq!(holder(&state), Holder::Nobody);
        let lock = Lock::take(&state).unwrap();
        let ours = std::process::id();
        assert!(matches!(Lock::take(&state), Err(DaemonError::Runs { pid }) if pid == ours));
        assert_eq!(holder(&state), Holder::Process(ours));
        drop(lock);
        assert_eq!(holder(&state), Holder::Nobody);
        Lock::take(&state).unwrap();
    }
}
