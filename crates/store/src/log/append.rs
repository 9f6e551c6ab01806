//! Appending lines beside others who append: one `write` with `O_APPEND`.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use atm_wire::message::Priority;
use atm_wire::{Draft, Message};
use memchr::memmem;
use uuid::Uuid;

use super::LogInbox;
use super::lines::siblings;
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{Access, sync_folder};
use crate::interrupt;
use crate::lock::Deadline;
use crate::lock::flock::Flock;
use crate::paths::with_suffix;
use crate::witness::Witnesses;

/// How often a line is written again when the file was replaced under the write.
const TRIES: usize = 5;
/// Above this many ids it is cheaper to read all lines once than to search the file for each.
const SEARCH_AT_MOST: usize = 8;
/// Seconds by which a file's time may lie before that of the write: kernels stamp it with the last tick of a coarse clock, which
/// can still be in the second before, and some file systems keep even seconds alone.
const MTIME_LAG: i64 = 2;
/// How much of each end of a log is looked at to see what stands there.
const AN_END: usize = 1 << 15;

/// What came of appending drafts to a queue.
pub(super) struct Addition {
    /// The ids that were there already.
    pub(super) known: HashSet<String>,
    /// What stood before the others.
    pub(super) before: Witnesses,
    /// Why a power cut could still undo it.
    pub(super) unsynced: Option<StoreError>,
}

/// Appends those of the drafts to one queue whose ids are not there yet, durably; says which were, what stood before the
/// others, and why a power cut could still undo it. It has to be our turn at the inbox.
///
/// Nobody drains a log, but shells rewrite it: one that keeps the last lines takes the earlier before the later, and one
/// that wrote back what it had read leaves what stood before ours. So the same witnesses tell as in an array.
pub(super) fn append(
    inbox: &LogInbox,
    queue: Priority,
    drafts: &[&Draft],
    deadline: &Deadline,
) -> Result<Addition, StoreError> {
    let path = inbox.file(queue);
    let (known, mut before) = look(&path, drafts)?;
    let mut fresh = HashSet::new();
    let is_new = |draft: &&Draft| !known.contains(&draft.id) && fresh.insert(draft.id.clone());
    let mut left: Vec<&Draft> = drafts.iter().copied().filter(is_new).collect();
    let mut unsynced = None;
    for _ in 0..TRIES {
        if left.is_empty() {
            break;
        }
        let mut text = String::new();
        for draft in &left {
            text.push_str(&draft.line().map_err(|error| StoreError::bad(&path, error.to_string()))?);
        }
        let written = write(inbox, &path, &text, deadline)?;
        unsynced = written.unsynced;
        if is_still_there(&written.file, &path) {
            left.clear();
            break;
        }
        // The file is another one now. Its writer may have had our lines already.
        let (there, stands) = look(&path, &left)?;
        before = stands;
        left.retain(|draft| !there.contains(&draft.id));
    }
    if left.is_empty() {
        Ok(Addition { known, before, unsynced })
    } else {
        Err(StoreError::Unsettled { path })
    }
}

/// Appends a line whatever ids there are. It has to be our turn at the inbox.
pub(super) fn append_again(
    inbox: &LogInbox,
    queue: Priority,
    draft: &Draft,
    deadline: &Deadline,
) -> Result<(), StoreError> {
    let path = inbox.file(queue);
    let line = draft.line().map_err(|error| StoreError::bad(&path, error.to_string()))?;
    write(inbox, &path, &line, deadline)?.synced().map(drop)
}

/// Makes the queue's file, if there is none. It has to be our turn at the inbox.
pub(super) fn create(inbox: &LogInbox, queue: Priority, deadline: &Deadline) -> Result<(), StoreError> {
    let path = inbox.file(queue);
    if path.is_file() { Ok(()) } else { write(inbox, &path, "", deadline)?.synced().map(drop) }
}

/// Lines that are in a file.
pub(super) struct Written {
    file: File,
    /// Why a power cut could still undo it.
    unsynced: Option<StoreError>,
}

impl Written {
    /// The file, if the lines are safe.
    pub(super) fn synced(self) -> Result<File, StoreError> {
        self.unsynced.map_or(Ok(self.file), Err)
    }
}

/// Writes whole lines, or nothing at all to only make the file, and syncs them. On an error they are not there.
pub(super) fn write(
    inbox: &LogInbox,
    path: &Path,
    text: &str,
    deadline: &Deadline,
) -> Result<Written, StoreError> {
    let is_new = !path.exists();
    let target = inbox.state.bounds().resolve(path)?;
    let file = {
        let _flock = Flock::take(&with_suffix(path, ".lock"), deadline)?;
        let mut file =
            disk::open(OpenOptions::new().read(true).append(true).create(true).mode(0o600), &target)
                .doing("open", path)?;
        if is_new {
            Access::inside(&inbox.folder).give(&file).doing("set the mode of", path)?;
        }
        interrupt::begin(path)?;
        write_lines(&mut file, text).doing("append to", path)?;
        file
    };
    let synced = disk::sync_data(&file).doing("sync", path);
    let synced = if is_new { synced.and_then(|()| sync_folder(&inbox.folder)) } else { synced };
    Ok(Written { file, unsynced: synced.err().map(|error| StoreError::unsynced(path, error)) })
}

/// Which of the drafts' ids stand in the queue already, in its file or in one that was rotated since; and what stands in
/// the file.
pub(super) fn look(path: &Path, drafts: &[&Draft]) -> Result<(HashSet<String>, Witnesses), StoreError> {
    let ids: HashSet<&str> = drafts.iter().map(|draft| draft.id.as_str()).collect();
    let oldest = ids.iter().map(|id| made_at(id)).min().unwrap_or_default();
    let (mut known, mut stands) = (HashSet::new(), Witnesses::default());
    for file in siblings(path)?.into_iter().chain([path.to_owned()]) {
        // What was last written before an id was made does not have it. So a first try reads no rotated file.
        if file != path && fs::metadata(&file).is_ok_and(|metadata| metadata.mtime() + MTIME_LAG < oldest) {
            continue;
        }
        let Ok(bytes) = disk::read(&file) else { continue };
        if ids.len() > SEARCH_AT_MOST || ids.iter().any(|id| memmem::find(&bytes, id.as_bytes()).is_some()) {
            let text = String::from_utf8_lossy(&bytes);
            let there = text.lines().filter_map(|line| Message::from_line(line).ok());
            known.extend(there.map(|message| message.id).filter(|id| ids.contains(id.as_str())));
        }
        if file == path {
            stands = Witnesses::among(&lines_at_the_ends(&bytes), |line| {
                let line = std::str::from_utf8(line).ok()?;
                Some(Message::from_line(line.trim_end_matches('\r')).ok()?.fingerprint())
            });
        }
    }
    Ok((known, stands))
}

/// The whole lines of a log; of a large one, those in its first bytes and those in its last.
fn lines_at_the_ends(bytes: &[u8]) -> Vec<&[u8]> {
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    let bytes = &bytes[..whole];
    if bytes.len() <= 2 * AN_END {
        return bytes.split(|byte| *byte == b'\n').collect();
    }
    let head = memchr::memrchr(b'\n', &bytes[..AN_END]).map_or(&bytes[..0], |end| &bytes[..end]);
    let tail = &bytes[bytes.len() - AN_END..];
    let tail = memchr::memchr(b'\n', tail).map_or(&tail[..0], |start| &tail[start + 1..]);
    head.split(|byte| *byte == b'\n').chain(tail.split(|byte| *byte == b'\n')).collect()
}

/// When an id was made, in seconds since 1970; 0 where it does not say.
fn made_at(id: &str) -> i64 {
    let stamp = Uuid::parse_str(id).ok().and_then(|id| id.get_timestamp());
    stamp.and_then(|stamp| i64::try_from(stamp.to_unix().0).ok()).unwrap_or(0)
}

/// One write. A last line without its newline (its writer died) gets one first, so that ours is not glued to it.
fn write_lines(file: &mut File, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let before = file.seek(SeekFrom::End(0))?;
    let mut out = Vec::with_capacity(text.len() + 1);
    if before > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            out.push(b'\n');
        }
    }
    out.extend_from_slice(text.as_bytes());
    let written = match disk::write_some(file, &out) {
        Ok(written) if written == out.len() => return Ok(()),
        Ok(written) => written,
        Err(error) => return Err(error),
    };
    // The disk is full in the middle of our line. Take the torn part back, unless somebody appended behind it:
    // then it stays as a line that readers skip.
    if file.metadata()?.len() == before + written as u64 {
        disk::set_len(file, before)?;
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        "only a part of the line could be written; it was taken back",
    ))
}

/// Whether what we wrote can still be found: in the file itself, or in the one that it was rotated to.
///
/// Where that cannot be told, it was written: what does not find it later puts it back.
pub(super) fn is_still_there(file: &File, path: &Path) -> bool {
    let Ok(ours) = file.metadata() else { return true };
    let same = |path: &Path| {
        fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
    };
    same(path) || siblings(path).map_or(true, |rotated| rotated.iter().any(|rotated| same(rotated)))
}
