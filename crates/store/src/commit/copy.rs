//! Copying a shared file while nobody who locks it is at work.

use std::io;
use std::path::Path;

use super::{Held, LOCKED_TRIES, OPTIMISTIC_TRIES, SharedFile};
use crate::error::StoreError;
use crate::files::{Snapshot, resolve};
use crate::lock::Deadline;

impl SharedFile {
    /// Lets `copy` take the file's bytes while nobody who locks it is at work: under no foreign lock first, which is then
    /// taken for the compare alone; if the file changed meanwhile, inside the locks. The last copy is the one that counts.
    /// No lock file is made for it, and our own writers do not wait.
    pub(crate) fn copy<T>(
        &self,
        mut copy: impl FnMut(&Path) -> Result<(Snapshot, T), StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = self.times.deadline();
        let target = resolve(&self.path)?;
        for _ in 0..OPTIMISTIC_TRIES {
            let (mut seen, value) = copy(&target)?;
            seen.settle(&target)?;
            let held = self.lock_to_read(&deadline)?;
            if held.is_still_ours() && seen.is_current(&target)? {
                return Ok(value);
            }
        }
        let _held = self.lock_to_read(&deadline)?;
        for _ in 0..LOCKED_TRIES {
            let (seen, value) = copy(&target)?;
            if seen.is_current(&target)? {
                return Ok(value);
            }
        }
        Err(StoreError::Unsettled { path: self.path.clone() })
    }

    /// The locks that others may hold at this moment; where we may not write, none.
    fn lock_to_read(&self, deadline: &Deadline) -> Result<Held, StoreError> {
        let flock = self.flock.clone().filter(|path| path.exists());
        match (Self { flock, ..self.clone() }).lock(deadline) {
            Err(StoreError::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                Ok(Held { mkdir: None, _flock: None })
            }
            held => held,
        }
    }
}
