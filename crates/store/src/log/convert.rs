//! Making a log of other mail, and taking one apart.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use atm_wire::message::Priority;
use atm_wire::{Stamp, json};

use super::cursor::{self, Cursor};
use super::lines::{QueueFiles, siblings};
use super::{LogInbox, QUEUES};
use crate::carry;
use crate::commit::Plan;
use crate::convert::Progress;
use crate::convert::mark::{self, Carried, all_taken_out, taken_out};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Staged, is_temp_of_ours, sync_folder};
use crate::lock::Deadline;
use crate::lock::flock::Flock;
use crate::lock::queue::Queue;
use crate::mailbox::Warning;
use crate::paths::with_suffix;

/// All that is in a log.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// The messages: of each queue those that were read, then the others.
    pub(crate) runs: Vec<Vec<carry::Carried>>,
    /// How much of which file that is.
    pub(crate) read: Vec<Carried>,
    /// What is no message, and what is not quite text.
    pub(crate) warnings: Vec<Warning>,
}

/// A log that is complete and not in its place.
#[derive(Debug, Default)]
pub(crate) struct StagedLog {
    files: Vec<(PathBuf, Staged)>,
    /// All of it, as what is in the array.
    pub(crate) in_array: Vec<Carried>,
}

impl StagedLog {
    /// Puts it in place.
    pub(crate) fn put(&mut self) -> Result<(), StoreError> {
        if let Some((path, _)) = self.files.iter().find(|(path, _)| path.exists()) {
            // A shell has just begun one.
            return Err(StoreError::Unsettled { path: path.clone() });
        }
        let folder = self.files.first().and_then(|(path, _)| path.parent()).map(ToOwned::to_owned);
        self.files.drain(..).try_for_each(|(_, staged)| staged.commit())?;
        // It has to be there for good before the array goes.
        folder.map_or(Ok(()), |folder| sync_folder(&folder))
    }
}

/// The last message of a queue that was read.
struct Spot {
    queue: Priority,
    line: usize,
    text: String,
    inode: u64,
    time: Option<Stamp>,
}

impl LogInbox {
    /// Our turn at this inbox: nobody of us writes it meanwhile.
    pub(crate) fn hold(&self, deadline: &Deadline) -> Result<Queue, StoreError> {
        self.ensure_folders()?;
        Queue::enter(&self.state.queue(&self.file(Priority::Normal)), deadline)
    }

    /// Whether there are files with lines in the folder, be it only rotated ones.
    pub(crate) fn has_files(&self) -> Result<bool, StoreError> {
        Ok(!self.mail_files()?.is_empty())
    }

    /// Whether one of the files in the folder is among these, in its place or taken out of it.
    pub(crate) fn has_any_of(&self, carried: &[Carried]) -> Result<bool, StoreError> {
        let files = self.mail_files()?.into_iter().map(|(_, path)| path).chain(all_taken_out(&self.folder));
        let mut inodes = files.filter_map(|path| Some(fs::metadata(path).ok()?.ino()));
        Ok(inodes.any(|inode| carried.iter().any(|file| file.inode == inode)))
    }

    /// All files with lines, each with its queue.
    fn mail_files(&self) -> Result<Vec<(Priority, PathBuf)>, StoreError> {
        let mut found = Vec::new();
        for queue in QUEUES {
            let path = self.file(queue);
            let files = siblings(&path)?.into_iter().chain([path].into_iter().filter(|path| path.is_file()));
            found.extend(files.map(|path| (queue, path)));
        }
        Ok(found)
    }

    /// Reads all of it.
    pub(crate) fn whole(&self) -> Result<Whole, StoreError> {
        let cursor = Cursor::load(&self.cursor_path())?;
        let mut whole = Whole::default();
        for queue in QUEUES {
            let files = QueueFiles::read(&self.file(queue))?;
            let place = files.place(cursor.of(queue).as_ref());
            let (mut read, mut unread) = (Vec::new(), Vec::new());
            for line in files.lines().filter(|line| self.counts(line)) {
                match whole.read.last_mut().filter(|file| file.inode == line.inode) {
                    Some(file) => file.bytes = line.end as u64,
                    None => whole.read.push(Carried { inode: line.inode, bytes: line.end as u64 }),
                }
                let is_read = line.at < place;
                match carry::Carried::from_line(line.text, queue, is_read) {
                    Ok(carried) if is_read => read.push(carried),
                    Ok(carried) => unread.push(carried),
                    Err(_) if line.text.trim().is_empty() => {}
                    Err(flaw) => {
                        let (path, position) = (line.path.to_owned(), line.number);
                        whole.warnings.push(Warning::SkippedEntry { path, position, flaw });
                    }
                }
                if line.is_lossy {
                    let place = format!("line {}", line.number);
                    let why = "is not UTF-8; what is no text in it is shown as \u{fffd}".to_owned();
                    whole.warnings.push(Warning::Damaged { path: line.path.to_owned(), place, why });
                }
            }
            whole.runs.extend([read, unread]);
        }
        Ok(whole)
    }

    /// Makes a log: of each queue what was read, then the others, with the cursor between them. The files are complete,
    /// and not in their places yet. There may be none.
    pub(crate) fn stage(
        &self,
        to: &str,
        carried: &[carry::Carried],
        like: Option<&Metadata>,
        progress: Progress,
    ) -> Result<StagedLog, StoreError> {
        let mut log = StagedLog::default();
        let (all, mut done, mut spots) = (carried.len(), 0, Vec::new());
        // `inbox` comes last: without it there is no log.
        for queue in [Priority::High, Priority::Low, Priority::Normal] {
            let path = self.file(queue);
            let of_queue =
                |read: bool| carried.iter().filter(move |c| c.priority == queue && c.message.read == read);
            let mut lines = Vec::new();
            for carried in of_queue(true).chain(of_queue(false)) {
                let text = carried.as_line(to).map_err(|flaw| StoreError::bad(&path, flaw.to_string()))?;
                lines.push(text);
                done += 1;
                progress(done, all);
            }
            if lines.is_empty() && queue != Priority::Normal {
                continue;
            }
            let staged = Staged::write_beside(&path, like, &lines)?;
            let inode = fs::metadata(staged.temp()).doing("look at", staged.temp())?.ino();
            let bytes = lines.iter().map(|line| line.len() as u64).sum();
            log.in_array.push(Carried { inode, bytes });
            log.files.push((path, staged));
            if let Some(last) = of_queue(true).count().checked_sub(1) {
                let time = of_queue(true).next_back().and_then(|carried| carried.message.sent_at);
                spots.push(Spot { queue, line: last + 1, text: lines.swap_remove(last), inode, time });
            }
        }
        self.set_cursors(&spots)?;
        Ok(log)
    }

    /// What else the cursor's file says stays.
    fn set_cursors(&self, spots: &[Spot]) -> Result<(), StoreError> {
        let file = self.cursor_file();
        file.update(|look| {
            let Some(text) = cursor::readable(&file, look)? else { return Ok(Plan::Unsure) };
            let mut text = cursor::at_the_start(&file, &text)?;
            for Spot { queue, line, text: last, inode, time } in spots {
                let last = last.trim_end_matches('\n');
                text = cursor::with_mark(&file, &text, *queue, (*inode, last), *line, *line)?;
                let noted = Cursor::parse(&text, None).time();
                if let Some(time) = time.filter(|time| *queue == Priority::Normal && noted < Some(*time)) {
                    let time = time.to_string();
                    text = json::set_member(&text, text.trim(), "lastProcessedTimestamp", &time)
                        .map_err(|error| StoreError::bad(file.path(), error.to_string()))?
                        .apply(&text);
                }
            }
            Ok(Plan::Replace(text, ()))
        })
    }

    /// The next line that comes is the first.
    pub(crate) fn reset_cursor(&self) -> Result<(), StoreError> {
        let file = self.cursor_file();
        if !file.path().exists() {
            return Ok(());
        }
        file.update(|look| match cursor::readable(&file, look) {
            Ok(Some(text)) => Ok(Plan::Replace(cursor::at_the_start(&file, &text)?, ())),
            // One that says nothing has nothing to be reset.
            Ok(None) => Ok(Plan::Unsure),
            Err(_) => Ok(Plan::Keep(())),
        })
    }

    /// Removes what a conversion was writing that died. It has to be our turn.
    pub(crate) fn remove_left(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        let is_left = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            is_temp_of_ours(path)
                && (name.starts_with(".inbox") || name.starts_with(&format!(".{}", mark::NAME)))
        };
        for path in entries.map(|entry| entry.path()).filter(is_left) {
            let _ = disk::remove_file(path);
        }
    }

    /// Takes the files with lines out of their places, each under its lock. Who has one open goes on writing into it.
    pub(crate) fn take_out(&self, deadline: &Deadline) -> Result<(), StoreError> {
        for (queue, path) in self.mail_files()? {
            let _flock = Flock::take(&with_suffix(&self.file(queue), ".lock"), deadline)?;
            let out = free_place_for(&path);
            match disk::rename(&path, &out) {
                // A recipe rotated it: it is taken out under that name.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                renamed => renamed.doing("move", &path)?,
            }
        }
        if self.has_files()? { self.take_out(deadline) } else { sync_folder(&self.folder) }
    }

    /// What was appended to files that were taken out, behind what was `read`; then that was read, too. The last time, a
    /// line that has no end counts.
    pub(crate) fn late(
        &self,
        read: &mut Vec<Carried>,
        is_last: bool,
    ) -> Result<Vec<carry::Carried>, StoreError> {
        let mut late = Vec::new();
        for path in all_taken_out(&self.folder) {
            let queue = queue_of(&path);
            let mut text = String::from_utf8_lossy(&disk::read(&path).doing("read", &path)?).into_owned();
            if is_last && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let inode = fs::metadata(&path).doing("look at", &path)?.ino();
            let place = read.iter().position(|carried| carried.inode == inode).unwrap_or_else(|| {
                read.push(Carried { inode, bytes: 0 });
                read.len() - 1
            });
            let from = usize::try_from(read[place].bytes).unwrap_or(usize::MAX);
            let rest = text.get(from..).unwrap_or_default();
            let whole = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
            late.extend(whole.lines().filter_map(|line| carry::Carried::from_line(line, queue, false).ok()));
            read[place].bytes += whole.len() as u64;
        }
        Ok(late)
    }
}

fn queue_of(path: &Path) -> Priority {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.trim_start_matches('.') {
        name if name.starts_with("inbox-high") => Priority::High,
        name if name.starts_with("inbox-low") => Priority::Low,
        _ => Priority::Normal,
    }
}

/// Where a file is put on its way out.
fn free_place_for(path: &Path) -> PathBuf {
    let out = taken_out(path);
    if !out.exists() {
        return out;
    }
    // A shell has begun the file anew while the first was on its way out.
    taken_out(&with_suffix(path, &format!(".{}", crate::fresh::fresh_id().simple())))
}
