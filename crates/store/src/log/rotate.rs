//! Giving a large log another name, `inbox.<time>`, and beginning a new one.
//!
//! The cursor comes first: it marks the last line read, by which the place is found under the new name too, and tells
//! recipes 0, who count in the new file from then on. Who has the old file open goes on writing into it under its new
//! name, where it is read as before.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use atm_wire::Stamp;
use atm_wire::message::Priority;

use super::archive::Standing;
use super::cursor::{self, Cursor};
use super::lines::QueueFiles;
use super::{LogInbox, QUEUES};
use crate::commit::{Look, Plan, SharedFile};
use crate::disk;
use crate::equal::Numbers;
use crate::error::{IoContext, StoreError};
use crate::files::{Access, rename_new, sync_folder};
use crate::lock::flock::Flock;
use crate::lock::queue::Queue;
use crate::paths::with_suffix;
use crate::points;
use crate::upkeep::Rotated;

impl LogInbox {
    /// Rotates what is larger than `over`.
    pub(crate) fn rotate(&self, over: u64, now: Stamp, force: bool) -> Result<Rotated, StoreError> {
        let mut rotated = Rotated::default();
        for queue in QUEUES {
            let path = self.file(queue);
            let is_large = fs::metadata(&path).is_ok_and(|metadata| metadata.len() > over);
            if !is_large {
                continue;
            }
            let deadline = self.times.deadline();
            // Our own writers wait; others who take the lock do so for the rename alone.
            let _turn = Queue::enter(&self.state.queue(&self.file(Priority::Normal)), &deadline)?;
            let cursor = self.cursor_file();
            let unread = cursor.update(|look| self.plan_rotation(&cursor, look, queue, force))?;
            if unread > 0 && !force {
                rotated.stays.push((path, unread));
                continue;
            }
            points::reached("cursor_moved");
            let _flock = Flock::take(&with_suffix(&path, ".lock"), &deadline)?;
            rotated.files.push(rename(&path, now)?);
        }
        if !rotated.files.is_empty() {
            sync_folder(&self.folder)?;
        }
        Ok(rotated)
    }

    /// Says how many messages are unread; if that is no hindrance, the cursor is marked and tells recipes 0.
    fn plan_rotation(
        &self,
        file: &SharedFile,
        look: Look,
        queue: Priority,
        force: bool,
    ) -> Result<Plan<usize>, StoreError> {
        let Some(text) = cursor::readable(file, look)? else { return Ok(Plan::Unsure) };
        let cursor = Cursor::parse(&text, fs::metadata(file.path()).ok().as_ref());
        let files = QueueFiles::read(&self.file(queue))?;
        let standing = Standing::new(&files, cursor.of(queue).as_ref(), &mut Numbers::default());
        let unread = standing.unread_in(files.newest());
        match standing.last_read.map(|at| standing.line(at)) {
            Some(line) if unread == 0 || force => {
                let text = cursor::with_mark(file, &text, queue, (line.inode, line.text), line.number, 0)?;
                Ok(Plan::Replace(text, unread))
            }
            _ => Ok(Plan::Keep(unread)),
        }
    }
}

/// Renames the file and begins a new one with its mode. Gives the new name.
fn rename(path: &Path, now: Stamp) -> Result<PathBuf, StoreError> {
    let old = fs::metadata(path).doing("look at", path)?;
    let named = |second: u64| {
        let time = now.saturating_add(Duration::from_secs(second)).file_name();
        with_suffix(path, &format!(".{}", &time[..15]))
    };
    // Two in one second, one of them a recipe's perhaps: the later is of the next one.
    let mut second = 0;
    let rotated = loop {
        match rename_new(path, &named(second)) {
            Err(StoreError::Exists { .. }) => second += 1,
            renamed => break renamed.map(|()| named(second))?,
        }
    };
    points::reached("rotated");
    let new = disk::open(OpenOptions::new().append(true).create_new(true).mode(old.mode() & 0o777), path);
    match new {
        // A shell that appended at this instant has made it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        new => {
            let file = new.doing("create", path)?;
            Access::inside(path.parent().unwrap_or(Path::new("/")))
                .give(&file)
                .doing("set the mode of", path)?;
        }
    }
    Ok(rotated)
}
