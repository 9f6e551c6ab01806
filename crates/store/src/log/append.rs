//! Appending lines beside others who append: one `write` with `O_APPEND`.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use atm_wire::message::Priority;
use atm_wire::{Draft, Message};

use super::LogInbox;
use super::lines::siblings;
use crate::error::{IoContext, StoreError};
use crate::files::sync_folder;
use crate::lock::flock::Flock;
use crate::lock::queue::Queue;
use crate::paths::with_suffix;

/// How often a line is written again when the file was replaced under the write.
const TRIES: usize = 5;

/// Appends those of the drafts of one queue whose ids are not there yet; says which were.
pub(super) fn append_new(
    inbox: &LogInbox,
    queue: Priority,
    drafts: &[Draft],
    text: &str,
    ids: &HashSet<&str>,
) -> Result<Vec<String>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let path = inbox.file(queue);
    let known: HashSet<String> = match fs::read_to_string(&path) {
        Ok(there) => known_ids(&there, ids),
        Err(_) => HashSet::new(),
    };
    if known.is_empty() {
        append(inbox, queue, text)?;
        return Ok(Vec::new());
    }
    let mut rest = String::new();
    for draft in drafts.iter().filter(|draft| draft.ours.priority == queue && !known.contains(&draft.id)) {
        rest.push_str(&draft.line().map_err(|error| StoreError::bad(&path, error.to_string()))?);
    }
    append(inbox, queue, &rest)?;
    Ok(known.into_iter().collect())
}

fn known_ids(there: &str, ids: &HashSet<&str>) -> HashSet<String> {
    let maybe = ids.iter().any(|id| memchr::memmem::find(there.as_bytes(), id.as_bytes()).is_some());
    if !maybe {
        return HashSet::new();
    }
    let messages = there.lines().filter_map(|line| Message::from_line(line).ok());
    messages.map(|message| message.id).filter(|id| ids.contains(id.as_str())).collect()
}

/// Appends `text` (whole lines, or nothing at all to only make the file) to one queue, durably.
pub(super) fn append(inbox: &LogInbox, queue: Priority, text: &str) -> Result<(), StoreError> {
    let path = inbox.file(queue);
    if text.is_empty() && path.is_file() {
        return Ok(());
    }
    let deadline = inbox.times.deadline();
    let _queue = Queue::enter(&inbox.state.queue(&path), &deadline)?;
    for _ in 0..TRIES {
        let is_new = !path.exists();
        let file = {
            let _flock = Flock::take(&with_suffix(&path, ".lock"), &deadline)?;
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .mode(0o600)
                .open(&path)
                .doing("open", &path)?;
            write_lines(&mut file, text).doing("append to", &path)?;
            file
        };
        file.sync_data().doing("sync", &path)?;
        if is_new {
            sync_folder(&inbox.folder)?;
        }
        if is_still_there(&file, &path)? {
            return Ok(());
        }
    }
    Err(StoreError::Unsettled { path })
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
    let written = match file.write(&out) {
        Ok(written) if written == out.len() => return Ok(()),
        Ok(written) => written,
        Err(error) => return Err(error),
    };
    // The disk is full in the middle of our line. Take the torn part back, unless somebody appended behind it:
    // then it stays as a line that readers skip.
    if file.metadata()?.len() == before + written as u64 {
        file.set_len(before)?;
    }
    Err(io::Error::new(
        io::ErrorKind::StorageFull,
        "only a part of the line could be written; it was taken back",
    ))
}

/// Whether what we wrote can still be found: in the file itself, or in the one that it was rotated to.
fn is_still_there(file: &File, path: &Path) -> Result<bool, StoreError> {
    let ours = file.metadata().doing("look at", path)?;
    let same = |path: &Path| {
        fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()))
    };
    Ok(same(path) || siblings(path)?.iter().any(|rotated| same(rotated)))
}
