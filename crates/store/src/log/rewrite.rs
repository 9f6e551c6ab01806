//! Replacing a file of a log by a changed one, beside those who append to it without a lock.
//!
//! Who had the file open for appending writes into the old one: what comes there within a moment is brought over.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use atm_wire::message::Priority;

use super::{LogInbox, append};
use crate::commit::{Desk, Prepared, SharedFile, Step};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Snapshot, Staged};
use crate::paths::with_suffix;

/// A shell opens the inbox before it starts the program that writes the line; these are the waits, in milliseconds,
/// between the looks for such a line.
const LATE_MS: [u64; 7] = [1, 4, 10, 20, 40, 60, 80];

/// A rotated file that nobody has written into for so long is not written into any more.
const QUIET: Duration = Duration::from_secs(10);

/// A file that was replaced, and how long it was then.
struct Old {
    file: File,
    length: u64,
}

impl Old {
    /// Whether somebody wrote into it not long ago.
    fn is_young(&self) -> bool {
        let modified = self.file.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|at| at.elapsed().unwrap_or_default() < QUIET)
    }
}

impl LogInbox {
    /// Replaces a file of a queue by what `edit` makes of its bytes, if it makes anything. `edit` may be called several
    /// times; the last call is the one that counts.
    pub(super) fn rewrite<T: Default>(
        &self,
        queue: Priority,
        path: &Path,
        edit: impl Fn(&[u8]) -> (Option<Vec<u8>>, T),
    ) -> Result<T, StoreError> {
        let inbox = self.file(queue);
        let file = SharedFile::new(path.to_owned(), &self.state, self.times)
            .with_flock(with_suffix(&inbox, ".lock"));
        let ((old, value), unsynced) = file.commit(|desk| prepare(desk, &edit), |_| true)?;
        if let Some(old) = old.filter(|old| path == inbox || old.is_young()) {
            // What comes late into a rotated file is new mail; what comes into the layout's own archive is not.
            let is_archive = path == self.old_archive_path();
            self.bring_over(if is_archive { path } else { &inbox }, old)?;
        }
        unsynced.map_or(Ok(value), Err)
    }

    /// Brings lines over that somebody appends to the old file, which he had open when it was replaced.
    fn bring_over(&self, inbox: &Path, mut old: Old) -> Result<(), StoreError> {
        for (turn, wait) in LATE_MS.iter().enumerate() {
            disk::pause(Duration::from_millis(*wait));
            let length = old.file.metadata().doing("look at", inbox)?.len();
            if length <= old.length {
                continue;
            }
            let mut late = vec![0; usize::try_from(length - old.length).unwrap_or_default()];
            old.file.read_exact_at(&mut late, old.length).doing("read", inbox)?;
            if turn + 1 < LATE_MS.len() {
                // Half a line is not done yet.
                late.truncate(memchr::memrchr(b'\n', &late).map_or(0, |last| last + 1));
            }
            old.length += late.len() as u64;
            append::write(self, inbox, &String::from_utf8_lossy(&late), &self.times.deadline())?.synced()?;
        }
        Ok(())
    }
}

fn prepare<T: Default>(
    desk: &Desk,
    edit: &impl Fn(&[u8]) -> (Option<Vec<u8>>, T),
) -> Result<Step<(Option<Old>, T)>, StoreError> {
    let seen = Snapshot::read(desk.target)?;
    let (Some(bytes), Some(handle)) = (seen.bytes(), seen.handle()) else {
        return Ok(Step::Done((None, T::default())));
    };
    let (Some(new), value) = edit(bytes) else { return Ok(Step::Done((None, T::default()))) };
    let old = Old { file: handle.doing("open", desk.target)?, length: bytes.len() as u64 };
    let staged = Staged::write(desk.temp(), desk.target, seen.metadata(), &[new])?;
    Ok(Step::Ready(Box::new(Prepared { staged, seen, value: (Some(old), value), ids: Vec::new() })))
}

/// A line's text, and the newline that ends it.
pub(super) fn split_end(line: &[u8]) -> (&[u8], &[u8]) {
    let text = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let end = if line.ends_with(b"\n") { text } else { line.len() };
    line.split_at(end)
}
