//! Temp files of processes that died, as the notes of their queues name them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::files::{is_temp_of_ours, read_small};
use crate::lock::LockTimes;
use crate::lock::flock;
use crate::lock::queue::Queue;
use crate::paths::State;

/// A note is a path, and perhaps ids.
const LARGEST_NOTE: u64 = 1 << 20;

/// A temp file whose maker died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The file.
    pub temp: PathBuf,
    /// The queue whose note names it.
    pub queue: PathBuf,
}

/// All that are there.
pub fn find(state: &State) -> Vec<Leftover> {
    let files = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let queues = files(state.path().join("queue")).flat_map(|folder| files(folder.path()));
    let mut all: Vec<Leftover> = queues.filter_map(|queue| leftover(queue.path())).collect();
    all.sort_by(|a, b| a.temp.cmp(&b.temp));
    all
}

/// Removes one, if its maker is still dead.
pub fn clear(queue: &Path, times: LockTimes) -> Result<(), StoreError> {
    Queue::enter(queue, &times.deadline()).map(drop)
}

fn leftover(queue: PathBuf) -> Option<Leftover> {
    let note = read_small(&queue, LARGEST_NOTE).ok()??.bytes;
    let temp = note.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    let temp = PathBuf::from(OsString::from_vec(temp.to_vec()));
    (is_temp_of_ours(&temp) && temp.is_file() && !flock::is_held(&queue)).then_some(Leftover { temp, queue })
}
