//! Marks of conditions that belong to no team: whether people were told of one that still holds.
//!
//! A flag is an empty file. Making it is taking the step: of any number of processes one makes it, and tells. It is
//! removed when the condition is over, so that the next time is told again. It needs no ledger, which may be what is
//! wrong.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::paths::{State, create_private_folders};

/// One such mark.
#[derive(Debug, Clone)]
pub struct Flag {
    path: PathBuf,
}

impl Flag {
    /// The mark of a condition, by its name.
    pub fn of_condition(state: &State, name: &str) -> Self {
        Self { path: state.notified().join(name) }
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Raises it; says whether that was us.
    pub fn raise(&self) -> Result<bool, StoreError> {
        if let Some(folder) = self.path.parent() {
            create_private_folders(folder)?;
        }
        match disk::open(OpenOptions::new().write(true).create_new(true).mode(0o600), &self.path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error).doing("create", &self.path),
        }
    }

    /// Takes it down; says whether that was us.
    pub fn lower(&self) -> Result<bool, StoreError> {
        match disk::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).doing("remove", &self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_raises_it() {
        let folder = tempfile::tempdir().unwrap();
        let flag = Flag::of_condition(&State::new(folder.path()), "disk-state");
        assert!(!flag.is_raised() && !flag.lower().unwrap());
        let raised: Vec<bool> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| flag.raise().unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(raised.iter().filter(|ours| **ours).count(), 1);
        assert!(flag.is_raised() && flag.lower().unwrap() && flag.raise().unwrap());
    }
}
