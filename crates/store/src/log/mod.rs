//! The log layout: `members/<name>/inbox`, JSON Lines that only grow, beside `inbox-high` and `inbox-low`.
//!
//! A line is a message once its newline is there. What is read is told by a cursor in `state.json`, a number of
//! lines, as shell recipes keep it; see [`cursor`] for what happens when the file was rotated under it.

mod append;
mod archive;
mod blank;
mod carry;
mod convert;
pub mod cursor;
mod lines;
mod migrate;
mod rewrite;
mod rotate;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atm_wire::message::Priority;
use atm_wire::{Draft, Message};

use crate::commit::SharedFile;
use crate::convert::mark::Carried;
use crate::equal::{Numbers, Past};
use crate::error::StoreError;
use crate::files::ensure_folder;
use crate::lock::queue::Queue;
use crate::lock::{Deadline, LockTimes};
use crate::mailbox::{Appended, Listing, Marked, Outbox, Receipt, Warning};
use crate::paths::State;
use crate::recall::{Recall, Recaller};
use cursor::Cursor;
use lines::{Line, QueueFiles};

/// The order in which the queues are read.
const QUEUES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

/// An inbox that is a folder of JSON Lines files.
#[derive(Debug)]
pub struct LogInbox {
    folder: PathBuf,
    state: State,
    times: LockTimes,
    /// Where the mail is, if there is such a file.
    unless: Option<PathBuf>,
    /// What does not count, since it is in the array.
    beyond: Vec<Carried>,
    past: Option<Arc<dyn Past>>,
}

impl LogInbox {
    /// The inbox in the member's `folder`.
    pub fn new(folder: PathBuf, state: &State, times: LockTimes) -> Self {
        Self { folder, state: state.clone(), times, unless: None, beyond: Vec::new(), past: None }
    }

    /// With somebody who remembers which of equal messages is which.
    pub(crate) fn with_past(self, past: Option<Arc<dyn Past>>) -> Self {
        Self { past, ..self }
    }

    /// The numbers of equal messages, for a pass over all lines in reading order.
    fn numbers(&self) -> Result<Numbers, StoreError> {
        Ok(Numbers::among(&self.list()?.messages, self.past.as_ref()))
    }

    /// The mail is here, unless this file of the other layout is there.
    pub(crate) fn unless(mut self, other: PathBuf) -> Self {
        self.unless = Some(other);
        self
    }

    /// Only what comes behind these bytes of the files.
    pub(crate) fn beyond(mut self, carried: Vec<Carried>) -> Self {
        self.beyond = carried;
        self
    }

    fn counts(&self, line: &Line) -> bool {
        !self.beyond.iter().any(|carried| carried.inode == line.inode && line.end as u64 <= carried.bytes)
    }

    /// Waits for our turn, and makes what is missing of the inbox.
    fn enter(&self, deadline: &Deadline) -> Result<Queue, StoreError> {
        self.ensure_folders()?;
        let turn = Queue::enter(&self.queue(), deadline)?;
        self.make_missing(deadline)?;
        Ok(turn)
    }

    fn queue(&self) -> PathBuf {
        self.state.queue(&self.file(Priority::Normal))
    }

    /// Tells the outbox that nothing is going to be written, if nobody is in our queue; says whether it was told.
    pub(crate) fn give_up(&self, outbox: &mut dyn Outbox, why: &StoreError) -> Result<bool, StoreError> {
        let turn = Queue::try_enter(&self.queue())?;
        Ok(turn.map(|_turn| self.fail(outbox, why)).is_some())
    }

    /// Tells the outbox that what waits was not written, but for what is there: somebody may have written it and died, or a
    /// write that ended in the middle could not be taken back. It has to be our turn.
    fn fail(&self, outbox: &mut dyn Outbox, why: &StoreError) {
        let drafts = outbox.waiting();
        for queue in QUEUES {
            let of_queue: Vec<_> = drafts.iter().filter(|draft| draft.ours.priority == queue).collect();
            if of_queue.is_empty() {
                continue;
            }
            // Where the file cannot be read, nobody knows: it stays accepted.
            let Ok((there, _)) = append::look(&self.file(queue), &of_queue) else { return };
            if !there.is_empty() {
                outbox.written(&there.into_iter().collect::<Vec<_>>(), None);
            }
        }
        outbox.failed(why);
    }

    /// Makes what is missing of the inbox. It has to be our turn.
    fn make_missing(&self, deadline: &Deadline) -> Result<(), StoreError> {
        if self.unless.as_deref().is_some_and(Path::is_file) {
            return Err(StoreError::Moved { path: self.file(Priority::Normal) });
        }
        append::create(self, Priority::Normal, deadline)?;
        cursor::create(&self.cursor_file())
    }

    /// The file for mail of that priority.
    pub fn file(&self, priority: Priority) -> PathBuf {
        self.folder.join(match priority {
            Priority::High => "inbox-high",
            Priority::Normal => "inbox",
            Priority::Low => "inbox-low",
        })
    }

    /// The files that mail and cursor are in.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        QUEUES.map(|queue| self.file(queue)).into_iter().chain([self.cursor_path()]).collect()
    }

    /// Makes an empty inbox and its cursor, if there is none.
    pub fn create(&self) -> Result<(), StoreError> {
        if self.file(Priority::Normal).is_file() && self.cursor_path().is_file() {
            return Ok(());
        }
        self.enter(&self.times.deadline()).map(drop)
    }

    /// Adds what waits: one write a queue, however many lines there are.
    pub fn deliver(&self, outbox: &mut dyn Outbox) -> Result<Appended, StoreError> {
        let deadline = self.times.deadline();
        self.ensure_folders()?;
        let _turn = Queue::enter(&self.queue(), &deadline)?;
        let delivered = self.deliver_in_turn(outbox, &deadline);
        if let Err(error) = &delivered {
            self.fail(outbox, error);
        }
        delivered
    }

    fn deliver_in_turn(&self, outbox: &mut dyn Outbox, deadline: &Deadline) -> Result<Appended, StoreError> {
        self.make_missing(deadline)?;
        let drafts = outbox.waiting();
        let mut appended = Appended::default();
        for queue in QUEUES {
            let drafts: Vec<_> = drafts.iter().filter(|draft| draft.ours.priority == queue).collect();
            if drafts.is_empty() {
                continue;
            }
            let append::Addition { known, before, unsynced } =
                append::append(self, queue, &drafts, deadline)?;
            appended.warnings.extend(unsynced.map(|error| Warning::Unsynced { why: error.to_string() }));
            let ids = drafts.iter().map(|draft| draft.id.clone());
            let (there, new): (Vec<String>, Vec<String>) = ids.partition(|id| known.contains(id));
            for (ids, before) in [(there, None), (new, Some(&before))] {
                if !ids.is_empty() {
                    // Where this cannot be recorded, the next writer finds the ids in the file: nobody drains a log.
                    outbox.written(&ids, before);
                }
            }
            appended.known.extend(known);
        }
        Ok(appended)
    }

    /// Adds a message once more, though its id is there.
    pub fn offer(&self, draft: &Draft, is_wanted: &dyn Fn() -> bool) -> Result<bool, StoreError> {
        let deadline = self.times.deadline();
        let _turn = self.enter(&deadline)?;
        if !is_wanted() {
            return Ok(false);
        }
        append::append_again(self, draft.ours.priority, draft, &deadline)?;
        Ok(true)
    }

    /// Looks, without any lock, and changes nothing.
    pub fn list(&self) -> Result<Listing, StoreError> {
        let cursor = Cursor::load(&self.cursor_path())?;
        let mut listing = Listing::default();
        for queue in QUEUES {
            let files = QueueFiles::read(&self.file(queue))?;
            let place = files.place(cursor.of(queue).as_ref());
            let mut before = None;
            for line in files.lines().filter(|line| self.counts(line)) {
                match Message::from_line(line.text) {
                    Ok(mut message) => {
                        if message.timestamp.is_empty() {
                            message.sent_at = before.or(Some(line.changed));
                            let (path, position) = (line.path.to_owned(), line.number);
                            listing.warnings.push(Warning::NoTime { path, position });
                        }
                        before = message.sent_at.or(before);
                        message.read = line.at < place;
                        listing.messages.push(message);
                    }
                    Err(_) if line.text.trim().is_empty() => {}
                    Err(flaw) => {
                        let (path, position) = (line.path.to_owned(), line.number);
                        listing.warnings.push(Warning::SkippedEntry { path, position, flaw });
                    }
                }
            }
        }
        Ok(listing)
    }

    /// Moves the cursors over what was handed out, up to the first line that was not.
    pub fn mark_read(&self, receipts: &HashSet<Receipt>) -> Result<Marked, StoreError> {
        self.ensure_folders()?;
        let file = self.cursor_file();
        let queues = QUEUES.map(|queue| (queue, self.file(queue)));
        let marked = file.update(|look| {
            let mut numbers = self.numbers()?;
            cursor::advance(&file, look, &queues, receipts, &mut numbers, &|line| self.counts(line))
        })?;
        Ok(Marked { marked, warnings: Vec::new() })
    }

    /// Blanks the lines of messages, where they stand, after a copy of them is in the quarantine; says where.
    pub fn set_aside(&self, receipts: &HashSet<Receipt>, why: &str) -> Result<PathBuf, StoreError> {
        blank::set_aside(self, receipts, why)
    }

    /// Blanks the lines of messages, where they stand: their mail is elsewhere from now on.
    pub(crate) fn remove(&self, receipts: &HashSet<Receipt>) -> Result<(), StoreError> {
        blank::remove(self, receipts)
    }

    /// Blanks the lines of one message, if none of them was read.
    pub(crate) fn recall(
        &self,
        id: &str,
        keeps: bool,
        recaller: &mut dyn Recaller,
    ) -> Result<Recall, StoreError> {
        blank::recall(self, id, keeps, recaller)
    }

    fn cursor_path(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    fn cursor_file(&self) -> SharedFile {
        SharedFile::new(self.cursor_path(), &self.state, self.times)
    }

    fn ensure_folders(&self) -> Result<(), StoreError> {
        if let Some(members) = self.folder.parent() {
            ensure_folder(members)?;
        }
        ensure_folder(&self.folder)
    }
}
