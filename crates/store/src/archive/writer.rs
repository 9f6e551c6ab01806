//! Putting messages down in the archive, durably.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use atm_wire::archive::{self, Archived, Form, Origin};
use atm_wire::{Message, Stamp};

use super::index;
use super::{Archive, Part};
use crate::disk;
use crate::error::{IoContext, StoreError};
use crate::files::{sync_folder, write_note};
use crate::interrupt;
use crate::lock::queue::Queue;
use crate::mailbox::Receipt;
use crate::paths::create_private_folders;
use crate::points;

/// Where the mail is from that is about to be archived.
#[derive(Debug, Clone)]
pub struct Whence {
    /// The shared tree.
    pub root: String,
    /// The team.
    pub team: String,
    /// Whose inbox.
    pub to: String,
    /// The time.
    pub at: Stamp,
}

/// Our turn at an archive, which ends on drop.
#[derive(Debug)]
pub struct Writer {
    pub(super) archive: Archive,
    pub(super) turn: Queue,
    whence: Whence,
    /// What the archive has of the times that were asked for.
    known: HashSet<Receipt>,
    asked: HashSet<i64>,
}

impl Archive {
    /// Waits for the turn to write. Another process that archives the same inbox waits meanwhile; nobody else does.
    pub fn writer(&self, whence: Whence) -> Result<Writer, StoreError> {
        create_private_folders(&self.folder)?;
        let turn = Queue::enter(&self.state.queue(&self.file()), &self.times.deadline())?;
        turn.clear();
        points::reached("archive_entered");
        let writer =
            Writer { archive: self.clone(), turn, whence, known: HashSet::new(), asked: HashSet::new() };
        writer.drop_what_was_packed()?;
        Ok(writer)
    }

    pub(super) fn growing(&self) -> Part {
        Part { path: self.file(), is_packed: false, label: None }
    }
}

impl Writer {
    /// Puts messages down that are not there yet; when this returns, they survive a power cut. Each comes with its entry
    /// as it stands in the inbox.
    pub(crate) fn put(&mut self, layout: Form, batch: &[(&Message, &str)]) -> Result<(), StoreError> {
        let at = self.whence.at;
        let batch: Vec<_> = batch.iter().map(|(message, entry)| (*message, *entry, layout, at)).collect();
        self.put_all(&batch).map(drop)
    }

    /// Puts down what was in another archive, with the time at which it came there. Gives how many were here.
    pub(crate) fn adopt(&mut self, archived: &[&Archived]) -> Result<usize, StoreError> {
        let batch: Vec<_> = archived
            .iter()
            .map(|archived| match &archived.origin {
                Some(origin) => (&archived.message, archived.entry.as_str(), origin.layout, origin.at),
                None => (&archived.message, archived.entry.as_str(), Form::Log, self.whence.at),
            })
            .collect();
        self.put_all(&batch)
    }

    fn put_all(&mut self, batch: &[(&Message, &str, Form, Stamp)]) -> Result<usize, StoreError> {
        if batch.is_empty() {
            return Ok(0);
        }
        self.ask(batch.iter().map(|(message, ..)| *message))?;
        let path = self.archive.file();
        let mut text = String::new();
        let mut known = 0;
        for (message, entry, layout, at) in batch {
            if self.known.contains(&Receipt::of(message)) {
                known += 1;
                continue;
            }
            let Whence { root, team, to, .. } = self.whence.clone();
            let id = message.has_number().then(|| message.id.clone());
            let origin = Origin { at: *at, root, team, to, layout: *layout, read: message.read, id };
            text +=
                &archive::line(entry, &origin).map_err(|error| StoreError::bad(&path, error.to_string()))?;
        }
        if !text.is_empty() {
            self.append(&text)?;
        }
        self.known.extend(batch.iter().map(|(message, ..)| Receipt::of(message)));
        Ok(known)
    }

    /// Finds out which messages of the batch's times the archive has: somebody died before they left the inbox, or put
    /// them there again.
    fn ask<'a>(&mut self, messages: impl Iterator<Item = &'a Message>) -> Result<(), StoreError> {
        let mut times: Vec<i64> = messages.map(time_of).collect();
        times.retain(|time| !self.asked.contains(time));
        self.known.extend(self.archive.at_times(&mut times)?.iter().map(|found| Receipt::of(&found.message)));
        self.asked.extend(times);
        Ok(())
    }

    /// What a process wrote that died before it was recorded anywhere else. It may still be in the inbox.
    pub fn unrecorded(&self) -> Vec<archive::Archived> {
        let read = || -> Option<Vec<u8>> {
            let start = disk::read_to_string(self.note()).ok()?.parse().ok()?;
            let file = disk::open_to_read(self.archive.file()).ok()?;
            let length = file.metadata().ok()?.len().checked_sub(start)?;
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            file.read_exact_at(&mut bytes, start).ok()?;
            Some(bytes)
        };
        let text = read().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        text.lines().filter_map(|line| archive::parse(line).ok()).collect()
    }

    /// Everything that was written is recorded now.
    pub fn recorded(&self) {
        let _ = disk::remove_file(self.note());
    }

    /// Where it is noted from which byte on nothing is on record. Without it only the record is less complete.
    fn note(&self) -> PathBuf {
        self.turn.file_beside(".unrecorded")
    }

    fn append(&self, text: &str) -> Result<(), StoreError> {
        let path = self.archive.file();
        let file = disk::open(OpenOptions::new().read(true).append(true).create(true).mode(0o600), &path);
        let file = file.doing("open", &path)?;
        let start = whole_lines(&file).doing("read", &path)?;
        // Told to stop, the process finishes this first: what is torn is only ever left by a death.
        let critical = interrupt::critical();
        disk::set_len(&file, start).doing("mend", &path)?;
        if !self.note().exists() {
            write_note(&self.note(), &start.to_string());
        }
        let written =
            disk::write_all(&file, text.as_bytes()).inspect(|()| points::reached("archive_appended"));
        if let Err(error) = written.and_then(|()| disk::sync_data(&file)) {
            let _ = disk::set_len(&file, start);
            return Err(error).doing("append to", &path);
        }
        drop(critical);
        if start == 0 {
            // Also where somebody who died has made the file: nobody else would do this.
            let archives = self.archive.state.archives();
            [&self.archive.folder, &archives, self.archive.state.path()]
                .into_iter()
                .try_for_each(sync_folder)?;
        }
        points::reached("archive_synced");
        index::extend(&self.archive.growing(), &file)?;
        points::reached("archive_indexed");
        Ok(())
    }
}

impl Archive {
    /// The archived messages of exactly these times, which are sorted on the way.
    pub fn at_times(&self, times: &mut Vec<i64>) -> Result<Vec<Archived>, StoreError> {
        times.sort_unstable();
        times.dedup();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(Vec::new()) };
        let view = self.view(*first..=*last)?;
        let mut found = Vec::new();
        for block in view.blocks() {
            let span = view.times(block);
            let next = times.partition_point(|time| time < span.start());
            if times.get(next).is_some_and(|time| span.contains(time)) {
                let messages = view.read(block, &mut Vec::new());
                let is_wanted = |m: &Archived| times.binary_search(&time_of(&m.message)).is_ok();
                found.extend(messages.into_iter().filter(is_wanted));
            }
        }
        Ok(found)
    }
}

/// When a message was sent, as the index has it.
fn time_of(message: &Message) -> i64 {
    message.sent_at.map_or(0, Stamp::as_millis)
}

/// Where the last whole line ends. What is behind it was being written by somebody who died: it never left its inbox.
pub(super) fn whole_lines(file: &File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut piece = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(piece.len() as u64);
        let length = usize::try_from(end - start).unwrap_or_default();
        file.read_exact_at(&mut piece[..length], start)?;
        if let Some(last) = memchr::memrchr(b'\n', &piece[..length]) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}
