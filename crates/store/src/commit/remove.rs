//! Removing a shared file, or moving it out of its place.

use std::path::Path;

use super::{Content, Held, LOCKED_TRIES, Look, OPTIMISTIC_TRIES, SharedFile};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, sync_folder};
use crate::interrupt;
use crate::lock::queue::Queue;
use crate::points;

impl SharedFile {
    /// Looks at the file under its locks and removes it, durably, if `judge` says so.
    pub(crate) fn remove<T>(
        &self,
        judge: impl FnOnce(Look) -> Result<(bool, T), StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = self.times.deadline();
        // A link in the file's own place is removed, and leads nowhere.
        self.bounds.check_folder(self.path.parent().unwrap_or(Path::new("/")))?;
        let _queue = Queue::enter(self.queue(), &deadline)?;
        let held = self.lock(&deadline)?;
        let seen = Snapshot::read(&self.path)?;
        let (goes, value) = judge(Look { content: Content::of(&seen), sure: true })?;
        if goes {
            interrupt::begin(&self.path)?;
            disk::remove_file(&self.path).doing("remove", &self.path)?;
        }
        drop(held);
        sync_folder(self.path.parent().unwrap_or(Path::new("/")))?;
        Ok(value)
    }

    /// Prepares what the file is to become elsewhere and, if it is still what was looked at, puts that in place and renames
    /// the file to `out`, durably. `prepare` may be called several times; it says `None` where only a look under the locks
    /// can tell. `put` is called under the locks, and has to be quick.
    pub(crate) fn take_out<T>(
        &self,
        out: &Path,
        mut prepare: impl FnMut(&Snapshot, bool) -> Result<Option<T>, StoreError>,
        put: impl Fn(&mut T) -> Result<(), StoreError>,
    ) -> Result<T, StoreError> {
        let deadline = self.times.deadline();
        let target = self.bounds.resolve(&self.path)?;
        let queue = Queue::enter(self.queue(), &deadline)?;
        if queue.follows_a_death() {
            drop(self.lock(&deadline)?);
        }
        let finish = |held: Held, mut value: T| {
            let _critical = interrupt::critical();
            interrupt::begin(&self.path)?;
            put(&mut value)?;
            points::reached("convert_put");
            disk::rename(&self.path, out).doing("move", &self.path)?;
            points::reached("taken_out");
            drop(held);
            sync_folder(self.path.parent().unwrap_or(Path::new("/")))?;
            Ok(value)
        };
        for _ in 0..OPTIMISTIC_TRIES {
            let mut seen = Snapshot::read(&target)?;
            let Some(value) = prepare(&seen, false)? else { break };
            seen.settle(&target)?;
            let held = self.lock(&deadline)?;
            if held.is_still_ours() && seen.is_current(&target)? {
                return finish(held, value);
            }
        }
        let held = self.lock(&deadline)?;
        for _ in 0..LOCKED_TRIES {
            let seen = Snapshot::read(&target)?;
            if let Some(value) = prepare(&seen, true)?
                && held.is_still_ours()
                && seen.is_current(&target)?
            {
                return finish(held, value);
            }
        }
        Err(StoreError::Unsettled { path: self.path.clone() })
    }
}
